"""The text of a converted file, and the reason why a file has none."""

import re
from dataclasses import dataclass

# Control characters except tab and newline, and halves of surrogate pairs, which UTF-8 cannot encode.
_REMOVED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufeff]")
_NEWLINES = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")


class UnreadableFileError(ValueError):
    """A file that cannot be converted. The message says what it is or has, and the fix: `is encrypted; remove its password`."""


@dataclass(frozen=True)
class ConvertedText:
    """The text of a file, with `notes` on what a reader should check: an encoding that was recognised, pages without text."""

    text: str
    notes: tuple[str, ...] = ()


def plain(text: str) -> str:
    """Return a text with line feeds as its only line ends, without control characters, byte order marks and blank ends."""
    lines = _REMOVED.sub("", _NEWLINES.sub("\n", text)).split("\n")
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"{text}\n" if text.strip() else ""
