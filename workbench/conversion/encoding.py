"""Decode text files whose encoding is not known."""

import codecs
import re

from workbench.conversion.converted import UnreadableFileError
from workbench.datasets.lines import decoded

# Bytes that no text in a one-byte encoding contains.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# More of them than this number and this share make a file binary. Logs have a few.
_FEW_BINARY, _MOST_BINARY = 8, 0.002
# Encodings that files are still saved in. A recogniser that may choose any encoding reads "Straße" as Chinese.
_ENCODINGS = ["cp1252", "cp1250", "cp1251", "cp1253", "koi8_r", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"]
_WESTERN = "cp1252"
# A recogniser needs no more than this.
_SAMPLE = 200_000


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
    encoding = _recognised(raw)
    return raw.decode(encoding, "replace"), f"is not UTF-8 and was read as {encoding}; check its accents"


def _is_binary(raw: bytes) -> bool:
    return b"\0" in raw or len(_BINARY.findall(raw)) > max(_FEW_BINARY, _MOST_BINARY * len(raw))


def _recognised(raw: bytes) -> str:
    from charset_normalizer import from_bytes

    found = [name for match in from_bytes(raw[:_SAMPLE], cp_isolation=_ENCODINGS) for name in match.could_be_from_charset]
    if not found:
        raise UnreadableFileError("has an encoding that is not recognised; save it as UTF-8")
    # Central European and Western texts look alike to a recogniser, and most are Western.
    return _WESTERN if _WESTERN in found else found[0]
