"""The text of a converted file, and the reason why a file has none."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.core.formatting import listed, plural

# Control characters except tab and newline, soft hyphens, which are not seen inside of a line, and halves of surrogate pairs, which UTF-8 cannot encode.
_REMOVED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\xad\ud800-\udfff\ufeff]")
_NEWLINES = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")

_SEVERAL = {"drawing in ink": "drawings in ink", "part of an unknown kind": "parts of an unknown kind"}


class UnreadableFileError(ValueError):
    """A file that cannot be converted. The message says what it is or has, and the fix: `is encrypted; remove its password`."""


@dataclass(frozen=True)
class ConvertedText:
    """The text of a file, with `notes` on what a reader should check: parts that are not read, pages without text, an encoding."""

    text: str
    notes: tuple[str, ...] = ()


def plain(text: str) -> str:
    """Return a text with line feeds as its only line ends, without control characters, byte order marks, soft hyphens and blank ends.

    A text in which nothing can be seen is empty.
    """
    lines = _REMOVED.sub("", _NEWLINES.sub("\n", text)).split("\n")
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"{text}\n" if any(letter.isprintable() and letter != " " for letter in text) else ""


def unread_note(parts: Mapping[str, int]) -> Iterator[str]:
    """Yield a note on the numbers of parts of a file that are not read: `has 2 images and 1 chart that are not read`."""
    found = [plural(times, noun, _SEVERAL.get(noun, "")) for noun, times in parts.items() if times]
    if found:
        one = sum(parts.values()) == 1
        yield f"has {listed(found, len(found))} that {'is' if one else 'are'} not read"
