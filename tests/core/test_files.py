from pathlib import Path, PurePosixPath, PureWindowsPath

from workbench.core.files import decoded, in_order, write_text


def test_bytes_are_decoded_as_utf_8_or_named() -> None:
    cases = [
        ("é".encode(), "é", ""),
        ("é".encode("utf-8-sig"), "é", ""),
        (b"", "", ""),
        ("é".encode("utf-16"), "é", " is UTF-16; save the file as UTF-8"),
        ("Text".encode("utf-16-be"), "Text", " looks like UTF-16; save the file as UTF-8"),
        (b"a\nb\xe9", "a\nb\ufffd", ":2 is not UTF-8 (byte 0xe9); save the file as UTF-8"),
        (b"%PDF-1.7", "", " is a PDF, not a text file; export it as text (UTF-8)"),
        (b"\x1f\x8b\x08", "", " is compressed by gzip, not a text file; export it as text (UTF-8)"),
    ]
    assert [(raw, *decoded(raw)) for raw, _, _ in cases] == cases


def test_paths_are_sorted_alike_on_every_system() -> None:
    names = ["b/a", "B/c", "a-b/x", "a/z", "A"]
    orders = [[path.as_posix() for path in in_order(map(kind, names))] for kind in (PurePosixPath, PureWindowsPath)]
    # Windows alone would put b before B/c.
    assert orders[0] == orders[1] == ["A", "B/c", "a/z", "a-b/x", "b/a"]
    assert [path.as_posix() for path in sorted(map(PureWindowsPath, names))] != orders[0]


def test_a_text_file_is_written_with_the_line_ends_of_its_text(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "ä\nb\r\nc")
    assert (tmp_path / "file").read_bytes() == "ä\nb\r\nc".encode()
