"""Prompts: text files with a message for the system, one for the user, and one that asks without passages."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.core.formatting import meant
from workbench.datasets.lines import decoded
from workbench.errors import InputError
from workbench.llm.base import Message
from workbench.records import Passage

PROMPTS = Path(__file__).with_name("prompts")
_SECTION = re.compile(r"^\[(\w[\w ]*)\][^\S\n]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SECTIONS = ("system", "user", "closed book")
# The placeholders that each section must have, and the only ones that it may have.
_PLACEHOLDERS = {"system": (), "user": ("passages", "question"), "closed book": ("question",)}
# In place of passages where retrieval found none.
_NO_PASSAGES = "(no passages)"
_BACKTICKS = re.compile(r"`{3,}")


@dataclass(frozen=True)
class Prompt:
    """A message for the system, which may be empty, one for the user, and one for questions that are asked without passages."""

    system: str
    user: str
    closed_book: str = "{question}"

    def messages(self, question: str, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Return the messages for a question with its passages, of which there may be none."""
        fenced = "\n\n".join(fence(number, passage.text) for number, passage in enumerate(passages, 1))
        user = Message("user", _filled(self.user, question=question, passages=fenced or _NO_PASSAGES))
        return (Message("system", self.system), user) if self.system else (user,)

    def closed_book_messages(self, question: str) -> tuple[Message, ...]:
        """Return the messages that ask for what the model knows by itself."""
        return (Message("user", _filled(self.closed_book, question=question)),)


def fence(number: int, text: str) -> str:
    """Return a passage with its number, between fences that its text does not contain."""
    marks = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(text))])
    return f"[{number}]\n{marks}\n{text}\n{marks}"


def prompt_of(name: str) -> Prompt:
    """Return a prompt of the package by its name, such as `cited-1`, or that of a file by its path. Raises InputError for a bad one."""
    names = prompt_names()
    path = PROMPTS / f"{name}.txt" if name in names else Path(name)
    try:
        state = path.stat()
        return _read(path, (state.st_mtime_ns, state.st_size))
    except OSError as error:
        what = f"the prompt {name!r} is neither a file ({error.strerror}) nor one of the package{meant(name, names)}"
        raise InputError(what, f"write the path of a file or one of {', '.join(names)}") from None


def prompt_names() -> tuple[str, ...]:
    """Return the names of the prompts in the package, sorted."""
    return tuple(sorted(path.stem for path in PROMPTS.glob("*.txt")))


@functools.lru_cache(maxsize=64)
def _read(path: Path, _state: tuple[int, int]) -> Prompt:
    """Read a prompt again whenever its time or size changes."""
    text, fault = decoded(path.read_bytes())
    if fault:
        raise InputError(f"the prompt {path}{fault}")
    sections = _sections(text.replace("\r\n", "\n"), path)
    for name, content in sections.items():
        if problem := _fault(name, content):
            raise InputError(f"the prompt {path}: {problem}")
    return Prompt(sections.get("system", ""), sections["user"], sections.get("closed book", Prompt.closed_book))


def _sections(text: str, path: Path) -> dict[str, str]:
    """Return the sections of a file by their names. A file without a heading is the user's message."""
    start, *rest = _SECTION.split(text)
    if not rest:
        return {"user": text.strip()}
    if start.strip():
        raise InputError(f"the prompt {path} has text before its first heading", "put it below [system] or [user]")
    names = rest[::2]
    if unknown := next((name for name in names if name not in _SECTIONS), None):
        raise InputError(f"the prompt {path} has the heading [{unknown}]{meant(unknown, _SECTIONS)}", f"headings are {_HEADINGS}")
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the prompt {path} has the heading [{repeated}] more than once", "write each heading once")
    if "user" not in names:
        raise InputError(f"the prompt {path} has no heading [user]", f"headings are {_HEADINGS}")
    return dict(zip(names, map(str.strip, rest[1::2]), strict=True))


_HEADINGS = ", ".join(f"[{name}]" for name in _SECTIONS)


def _fault(name: str, content: str) -> str:
    """Return what is wrong with the placeholders of a section, and the fix, or an empty text."""
    known, found = _PLACEHOLDERS[name], _PLACEHOLDER.findall(content)
    if unknown := next((word for word in found if word not in known), None):
        may = f"has only {' and '.join(f'{{{word}}}' for word in known)}" if known else "has no placeholders"
        return f"[{name}] contains {{{unknown}}}{meant(unknown, known)}; this part {may}"
    if wrong := next((word for word in known if found.count(word) != 1), None):
        return f"[{name}] contains {{{wrong}}} {found.count(wrong)} times; write it once"
    return ""


def _filled(template: str, **values: str) -> str:
    """Fill in all placeholders at once, so that one in a question or passage stays as it is."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
