"""Decode text files, and clean the text of a converted file."""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.core.environment import missing_package
from workbench.core.files import decoded
from workbench.core.text.formatting import listed, plural

# Control characters except tab and newline, soft hyphens, which are not seen inside of a line, and halves of surrogate pairs, which UTF-8 cannot encode.
_REMOVED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\xad\ud800-\udfff\ufeff]")
_NEWLINES = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")

_SEVERAL = {"drawing in ink": "drawings in ink", "part of an unknown kind": "parts of an unknown kind"}

# Bytes that no text in a one-byte encoding contains.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# More of them than this number and this share make a file binary. Logs have a few.
_FEW_BINARY, _MOST_BINARY = 8, 0.002
# Encodings that files are still saved in. A recogniser that may choose any encoding reads "Straße" as Chinese.
_ENCODINGS = ["cp1252", "cp1250", "cp1251", "cp1253", "koi8_r", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"]
_WESTERN = "cp1252"
# Enough for a recogniser.
_SAMPLE = 200_000
# Bytes that are not UTF-8, in a file whose other letters are: a file that was cut, or a line from elsewhere.
_BAD = "\ufffd"
_MOST_BAD = 0.05
# Encodings by Python's names, and what browsers read instead, since programs declare the first and write the second (WHATWG Encoding Standard).
_AS_BROWSERS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Python's names for other things than encodings of files.
_NO_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")


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


def decode_declared(raw: bytes, declared: str) -> tuple[str, str]:
    """Return the text of a page or message that declares its encoding, as `decode_text` does. UTF-8 is recognised whatever is declared."""
    try:
        if not raw.isascii():
            return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    try:
        name = codecs.lookup(declared).name
        # A text in UTF-16 has zeros, and cannot say what it is in letters of one byte.
        if name not in _NO_ENCODINGS and (b"\0" in raw or not name.startswith(("utf-16", "utf-32"))):
            return raw.decode(_AS_BROWSERS.get(name, name)), ""
    except (LookupError, ValueError):
        pass
    return decode_text(raw)


def decode_text(raw: bytes) -> tuple[str, str]:
    """Return the text of a file, and a note if it is not UTF-8. Raises UnreadableFileError for binary files and unknown encodings."""
    text, fault = decoded(raw)
    if not fault:
        if _is_binary(raw):
            raise UnreadableFileError("is binary, not text")
        return text, ""
    if not text:
        raise UnreadableFileError(fault.strip())
    # UTF-16 without a replaced character. Binary files of many zeros look like it.
    if "\ufffd" not in text and "\0" not in text:
        return text, "was read as UTF-16"
    if _is_binary(raw) and not raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableFileError("is binary, not text")
    text = raw.decode("utf-8-sig", "replace")
    if (bad := text.count(_BAD)) <= _MOST_BAD * sum(not letter.isascii() for letter in text):
        return text, f"has {plural(bad, 'character')} that {'is' if bad == 1 else 'are'} not UTF-8, shown as {_BAD}"
    if absent := missing_package("charset_normalizer"):
        raise UnreadableFileError(f"is not UTF-8, and its encoding is recognised with {absent[0]}: {absent[1]}")
    from charset_normalizer import from_bytes

    # Lines in English say nothing.
    sample = b"\n".join(line for line in raw.split(b"\n") if not line.isascii())[:_SAMPLE]
    found = [name for match in from_bytes(sample, cp_isolation=_ENCODINGS) for name in match.could_be_from_charset]
    if not found:
        raise UnreadableFileError("has an encoding that is not recognised; save it as UTF-8")
    # Central European and Western texts look alike to a recogniser, and most are Western.
    encoding = _WESTERN if _WESTERN in found else found[0]
    return raw.decode(encoding, "replace"), f"is not UTF-8 and was read as {encoding}; check its accents"


def _is_binary(raw: bytes) -> bool:
    return b"\0" in raw or len(_BINARY.findall(raw)) > max(_FEW_BINARY, _MOST_BINARY * len(raw))


def convert_text(raw: bytes) -> ConvertedText:
    """Decode a file."""
    text, note = decode_text(raw)
    return ConvertedText(text, (note,) if note else ())
