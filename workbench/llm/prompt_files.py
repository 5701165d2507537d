"""Read prompts: text files whose headings, such as [system] and [user], begin messages with placeholders."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.core.errors import InputError
from workbench.core.files import FileState, decoded, file_state
from workbench.core.text.formatting import meant

_SECTION = re.compile(r"^\[(\w[\w ]*)\][^\S\n]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class PromptLayout:
    """The headings that a prompt may have, each with the placeholders that it must have once, and those that it may have once.

    Every prompt needs the heading [user]; a file without headings is that message.
    """

    required: tuple[tuple[str, tuple[str, ...]], ...]
    optional: tuple[str, ...] = ()

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.required)


def read_prompt(name: str, folder: Path, layout: PromptLayout, offered: Sequence[str]) -> Mapping[str, str]:
    """Return the messages of a prompt by their headings: of one in `folder` by its name, or of a file by its path.

    Raises InputError for a bad one. `offered` are the names in the folder that fit the layout.
    """
    path = folder / f"{name}.txt" if name in offered else Path(name)
    try:
        return _read(path, layout, file_state(path))
    except OSError as error:
        what = f"the prompt {name!r} is neither a file ({error.strerror}) nor one of the package{meant(name, offered)}"
        raise InputError(what, f"write the path of a file or one of {', '.join(offered)}") from None


def names_in(folder: Path) -> tuple[str, ...]:
    """Return the names of the prompts in a folder, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.txt")))


def filled(template: str, **values: str) -> str:
    """Fill in all placeholders at once, so that one in a question or passage is not replaced."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


@functools.lru_cache(maxsize=64)
def _read(path: Path, layout: PromptLayout, _state: FileState) -> Mapping[str, str]:
    """Read a prompt again whenever its file changes."""
    text, fault = decoded(path.read_bytes())
    if fault:
        raise InputError(f"the prompt {path}{fault}")
    sections = _sections(text.replace("\r\n", "\n"), path, layout)
    for name, content in sections.items():
        if problem := _fault(name, content, layout):
            raise InputError(f"the prompt {path}: {problem}")
    return sections


def _sections(text: str, path: Path, layout: PromptLayout) -> dict[str, str]:
    """Return the sections of a file by their names. A file without a heading is the user's message."""
    known = layout.headings
    headings = ", ".join(f"[{name}]" for name in known)
    start, *rest = _SECTION.split(text)
    if not rest:
        return {"user": text.strip()}
    if start.strip():
        raise InputError(f"the prompt {path} has text before its first heading", "put it below [system] or [user]")
    names = rest[::2]
    if unknown := next((name for name in names if name not in known), None):
        raise InputError(f"the prompt {path} has the heading [{unknown}]{meant(unknown, known)}", f"headings are {headings}")
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the prompt {path} has the heading [{repeated}] more than once", "write each heading once")
    if "user" not in names:
        raise InputError(f"the prompt {path} has no heading [user]", f"headings are {headings}")
    return dict(zip(names, map(str.strip, rest[1::2]), strict=True))


def _fault(name: str, content: str, layout: PromptLayout) -> str:
    """Return the fault of a section with its placeholders, and the fix, or an empty text."""
    required, found = dict(layout.required)[name], _PLACEHOLDER.findall(content)
    known = required + (layout.optional if name == "user" else ())
    if unknown := next((word for word in found if word not in known), None):
        may = f"has only {' and '.join(f'{{{word}}}' for word in known)}" if known else "has no placeholders"
        return f"[{name}] contains {{{unknown}}}{meant(unknown, known)}; this part {may}"
    if wrong := next((word for word in known if found.count(word) != 1 and (word in required or word in found)), None):
        return f"[{name}] contains {{{wrong}}} {found.count(wrong)} times; write it once"
    return ""
