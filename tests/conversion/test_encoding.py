"""Texts in other encodings are read, and the reader is told."""

import random

import pytest

from workbench.conversion.converted import UnreadableFileError
from workbench.conversion.encoding import decode_text

GERMAN = "Größere Beträge überweisen wir erst nach Prüfung. Die Prüfung dauert höchstens fünf Tage.\n"


def test_utf_8_is_read_without_a_note():
    assert decode_text(GERMAN.encode()) == (GERMAN, "")
    assert decode_text(GERMAN.encode("utf-8-sig")) == (GERMAN, "")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_western_text_is_read_as_windows_1252(encoding):
    assert decode_text(GERMAN.encode(encoding)) == (GERMAN, "is not UTF-8 and was read as cp1252; check its accents")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_with_and_without_its_mark(encoding):
    assert decode_text("The canteen is open from 11:30.".encode(encoding)) == ("The canteen is open from 11:30.", "was read as UTF-16")


def test_russian_text_is_recognised():
    text = "Велосипед можно взять на три дня. Залог возвращается после возврата велосипеда. " * 5
    assert decode_text(text.encode("cp1251"))[0] == text


@pytest.mark.parametrize("raw", [random.Random(3).randbytes(4_000), bytes(range(256)) * 4, b"text" + bytes(200)])
def test_binary_files_are_no_text(raw):
    with pytest.raises(UnreadableFileError, match="is binary, not text"):
        decode_text(raw)
