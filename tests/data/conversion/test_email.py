"""An email becomes its text once, below its subject, and a note names the attachments."""

from email.message import EmailMessage

import pytest

from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import ConvertedText, UnreadableFileError

HEAD = "# Bike shed\n\nFrom: Ada <ada@example.org>\nTo: Bo <bo@example.org>\n\n"


def message(subject: str = "Bike shed") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = subject, "Ada <ada@example.org>", "Bo <bo@example.org>"
    return made


def converted(made: EmailMessage) -> ConvertedText:
    return convert(".eml", made.as_bytes())


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
@pytest.mark.parametrize("transfer", ["quoted-printable", "base64", "8bit"])
def test_a_plain_text_is_read_in_every_encoding(encoding: str, transfer: str):
    made = message()
    made.set_content("Die Gebühr beträgt 9 Euro.\n", charset=encoding, cte=transfer)
    assert converted(made) == ConvertedText(f"{HEAD}Die Gebühr beträgt 9 Euro.\n")


def test_of_two_forms_the_plain_one_is_read_unless_it_is_a_stub():
    page = "<table><tr><td>Person</td><td>Fee</td></tr><tr><td>Adults</td><td>9 euros</td></tr></table>"
    for plain, text in (
        ("Adults pay 9 euros, children pay 4 euros.", "Adults pay 9 euros, children pay 4 euros."),
        ("Use HTML.", "| Person | Fee |\n| --- | --- |\n| Adults | 9 euros |"),
    ):
        made = message()
        made.set_content(plain)
        made.add_alternative(f"<html><body>{page}<div style='display:none'>Preview</div></body></html>", subtype="html")
        notes = () if plain.startswith("Adults") else ("has 1 hidden part that is not read",)
        assert converted(made) == ConvertedText(f"{HEAD}{text}\n", notes)


def test_attachments_messages_and_images_are_named():
    made = message()
    made.set_content("See the files.")
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Gebühren.pdf")
    made.add_attachment("a,b\n", subtype="csv", filename="fees.csv")
    made.add_attachment(message("An older one"))
    assert converted(made) == ConvertedText(
        f"{HEAD}See the files.\n", ("has the attachments Gebühren.pdf, fees.csv and message/rfc822, which are not read",)
    )
    for plain in ("", "Look: (a picture)"):
        made = message()
        made.set_content(plain or "<p>Look: <img src='cid:1'></p>", subtype="plain" if plain else "html")
        if plain:
            made.add_alternative("<p>Look: <img src='cid:1'></p>", subtype="html")
            made.get_payload()[1].add_related(b"GIF8", "image", "gif", cid="1")
        else:
            made.add_related(b"GIF8", "image", "gif", cid="1")
        assert converted(made) == ConvertedText(f"{HEAD}{plain or 'Look:'}\n", ("has 1 image that is not read",))


def test_lines_that_a_program_has_broken_are_joined():
    made = message()
    made.set_content("The shed \nis open.\nBring a key.\n> quoted \n> text\n", params={"format": "flowed"})
    assert converted(made).text == f"{HEAD}The shed is open.\nBring a key.\n> quoted\n> text\n"


def test_blanks_that_a_program_has_added_are_removed():
    made = message()
    made.set_content("The para \ngraph on keys  \nand locks.\n", params={"format": "Flowed", "delsp": "Yes"})
    assert converted(made).text == f"{HEAD}The paragraph on keys and locks.\n"


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/alternative; boundary=----=_Part_7",
        "multipart/alternative; boundary=----=_Part_7; charset=utf-8",
        "multipart/mixed;\r\n boundary = ----=_Part_7",
        'multipart/related; type="text/plain; format=flowed"; boundary=----=_Part_7',
    ],
)
def test_values_without_quotes_are_read(kind: str):
    part = "------=_Part_7\r\nContent-Type: text/plain; charset=us-ascii (plain)\r\n\r\nThe key costs 9 euros.\r\n"
    file = "------=_Part_7\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=fees [2026].pdf\r\n\r\nx\r\n"
    head = f"Subject: Bike shed\r\nMIME-Version: 1.0\r\nContent-Type: {kind}\r\n\r\n"
    made = convert(".eml", f"{head}{part}{file}------=_Part_7--\r\n".encode())
    assert made == ConvertedText("# Bike shed\n\nThe key costs 9 euros.\n", ("has the attachment fees [2026].pdf, which is not read",))


@pytest.mark.parametrize("kind", ["delivery-status", "disposition-notification", "feedback-report"])
def test_the_fields_of_a_report_are_text(kind: str):
    fields = (
        "Reporting-MTA: dns; mail.example.org\n\nFinal-Recipient: rfc822; bo@example.org\nDiagnostic-Code: smtp; 452 4.2.2\n Mailbox full\n"
    )
    raw = (
        f"Subject: Bike shed\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type={kind}; boundary=B\n\n"
        f"--B\nContent-Type: text/plain\n\nNot delivered.\n--B\nContent-Type: message/{kind}\n\n{fields}\n"
        "--B\nContent-Type: message/rfc822\n\nSubject: Keys\n\nWho has the keys?\n--B--\n"
    )
    made = convert(".eml", raw.encode())
    for text in ("Not delivered.", "Final-Recipient: rfc822; bo@example.org", "Diagnostic-Code: smtp; 452 4.2.2 Mailbox full"):
        assert text in " ".join(made.text.split())
    assert made.notes == ("has the attachment message/rfc822, which is not read",)


def test_a_wrong_encoding_is_noted():
    made = message()
    made.set_content("Gebühr\n")
    raw = made.as_bytes().replace(b"utf-8", b"made-up-1")
    assert convert(".eml", raw).text.startswith(f"{HEAD}Geb")
    assert "Gebühr" in convert(".eml", raw).text


def test_a_saved_page_is_read_with_its_subject_as_title():
    made = EmailMessage()
    made["Subject"], made["From"] = "Opening hours", "<Saved by a browser>"
    made.set_content("<html><body><h2>Summer</h2><p>From 9 to 18.</p></body></html>", subtype="html")
    assert "## Summer\n\nFrom 9 to 18." in convert(".mhtml", made.as_bytes()).text


def test_a_file_that_is_no_email_is_refused():
    with pytest.raises(UnreadableFileError, match="is no email, as it has no sender"):
        convert(".eml", b"Just a text\nof two lines.\n")
    made = message()
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    with pytest.raises(UnreadableFileError, match=r"has no text and has the attachment a\.pdf, which is not read"):
        converted(made)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            "Content-Type: text/html\n\n<meta http-equiv=refresh content='0; url=http://a.example'><p>x",
            "text/html) that is not read: it only redirects",
        ),
        (
            "Content-Type: text/x-data\nContent-Transfer-Encoding: base64\n\ngAABAgMEBQYHCAkKCwwNDg8Q",
            "text/x-data) that is not read: it is binary",
        ),
    ],
)
def test_a_part_that_cannot_be_read_is_named_and_the_others_are_read(other: str, reason: str):
    raw = f"From: ann@a.example\nContent-Type: multipart/mixed; boundary=X\n\n--X\n\nThe fee is 80 euros.\n--X\n{other}\n--X--\n"
    made = convert(".eml", raw.encode())
    assert made.text == "From: ann@a.example\n\nThe fee is 80 euros.\n"
    assert f"has a part ({reason}" in made.notes[0]


@pytest.mark.parametrize("value", ["=?utf-8?q??=", "(" * 5_000])
def test_a_field_that_python_cannot_parse_is_read_as_it_is(value: str):
    assert convert(".eml", f"From: ann@a.example\nTo: {value}\n\nText".encode()).text == f"From: ann@a.example\nTo: {value}\n\nText\n"


@pytest.mark.parametrize("kind", ["multipart/mixed; boundary=X", "multipart/mixed", "multipart/alternative"])
def test_a_message_without_its_parts_is_text(kind: str):
    assert convert(".eml", f"From: ann@a.example\nContent-Type: {kind}\n\nThe fee.".encode()).text == "From: ann@a.example\n\nThe fee.\n"


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\r\n\r\n"])
def test_a_mark_or_blank_lines_before_a_message_are_ignored(before: bytes):
    assert convert(".eml", before + b"From: ann@a.example\n\nThe fee.").text == "From: ann@a.example\n\nThe fee.\n"


def test_parts_in_the_format_of_a_program_are_named_and_not_read():
    calendar = "BEGIN:VCALENDAR\n" + "BEGIN:VTIMEZONE\nEND:VTIMEZONE\n" * 50 + "SUMMARY:Bikes\nEND:VCALENDAR\n"
    made = message()
    made.set_content("We meet at the bike shed on Monday.")
    made.add_alternative(calendar, subtype="calendar")
    assert converted(made) == ConvertedText(
        f"{HEAD}We meet at the bike shed on Monday.\n", ("has the attachment text/calendar, which is not read",)
    )
    page = (
        "From: ann@a.example\nContent-Type: multipart/related; boundary=X\n\n--X\nContent-Type: text/html\n\n<p>The fee is 80 euros.</p>\n"
    )
    saved = "".join(f"--X\nContent-Type: text/{kind}\n\np {{ color: red }}\n" for kind in ("css", "javascript", "rtf"))
    assert convert(".mht", f"{page}{saved}--X--\n".encode()).text == "From: ann@a.example\n\nThe fee is 80 euros.\n"
