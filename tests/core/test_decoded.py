from workbench.core.files import decoded


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
