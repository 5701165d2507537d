"""Texts in other encodings are read, and the reader is told."""

import random

import pytest

from workbench.data.conversion.text import UnreadableFileError, decode_declared, decode_text

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


@pytest.mark.parametrize(
    "raw", [GERMAN.encode() * 9 + b"\xff", (GERMAN * 9).encode() + "ä".encode()[:1], (GERMAN * 9).encode() + b"caf\xe9"]
)
def test_a_bad_byte_in_utf_8_changes_no_other_letter(raw):
    text, note = decode_text(raw)
    assert (text.count("\ufffd"), text.count(GERMAN), note) == (1, 9, "has 1 character that is not UTF-8, shown as \ufffd")


def test_a_text_behind_many_lines_in_english_is_recognised():
    text = "a line of a log\n" * 20_000 + "Велосипед можно взять на три дня. Залог возвращается после возврата велосипеда. " * 5
    assert decode_text(text.encode("cp1251"))[0] == text


@pytest.mark.parametrize(
    ("declared", "written", "text"),
    [
        ("iso-8859-1", "cp1252", "It’s 5 € … “quoted” – end"),
        ("us-ascii", "cp1252", "It’s 5 € … “quoted” – end"),
        ("iso-8859-9", "cp1254", "İstanbul’da 5 €"),
        ("gb2312", "gbk", "朱镕基 讲话"),
        ("shift_jis", "cp932", "①丸 株式会社㈱ 髙橋"),
        ("euc-kr", "cp949", "똠방각하 펲시콜라"),
        ("iso-2022-jp", "iso2022_jp", "自転車の貸し出し"),
        ("iso-8859-1", "utf-8", "It’s 5 € … “quoted” – end"),
        ("iso-8859-1", "utf-8-sig", "Größe 5 €"),
        ("utf-16", "utf-8", "Größe 5 €"),
        ("utf-16", "utf-16", "Größe 5 €"),
    ],
)
def test_a_declared_encoding_is_read_as_browsers_read_it(declared, written, text):
    assert decode_declared(text.encode(written), declared) == (text, "")


@pytest.mark.parametrize(
    "declared", ["utf-16", "unicode_escape", "raw_unicode_escape", "undefined", "idna", "rot13", "", "\0", "x" * 5_000]
)
def test_what_is_no_encoding_of_a_text_is_recognised_instead(declared):
    assert decode_declared(GERMAN.encode("cp1252"), declared) == (GERMAN, "is not UTF-8 and was read as cp1252; check its accents")
