"""The text of a PDF comes in the order in which a person reads it, whatever the order in which a program wrote it."""

import io
from pathlib import Path

import matplotlib
import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import FreeText
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NullObject,
    NumberObject,
    TextStringObject,
)

from tests.mixed_documents import saved
from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import UnreadableFileError

LONG = "These words fill the whole line of a page from its left edge to the right one, again and again."
# Behind all other text, as browsers write boxes with a background: the place, and the lines.
Box = tuple[float, float, list[str]]


def printed(texts: list[tuple[float, float, str]], boxes: list[Box] = [], size: int = 11) -> FPDF:  # noqa: B006  never changed
    """A page with texts at places in millimetres, and boxes of code that are written after all of them."""
    made = FPDF()
    made.set_auto_page_break(False)
    made.add_page()
    made.set_font("Helvetica", size=size)
    for x, y, text in texts:
        made.text(x, y, text)
    made.set_font("Courier", size=size - 1)
    for x, y, lines in boxes:
        for number, line in enumerate(lines):
            made.text(x + 1.9 * (len(line) - len(line.lstrip())), y + 5 * number, line.lstrip())
    return made


def text_of(made: FPDF) -> str:
    return convert(".pdf", bytes(made.output())).text


def test_code_that_was_written_last_is_where_it_is_on_the_page_with_its_lines_and_indentation():
    texts = [
        *((20, 20 + 5 * line, LONG) for line in range(3)),
        (20, 35, "Say that you depend on another package:"),
        (20, 75, f"This package has one dependency. {LONG}"),
        *((20, 80 + 5 * line, LONG) for line in range(3)),
        (20, 95, "The file looks like this:"),
        (20, 115, f"More follows. {LONG}"),
    ]
    boxes: list[Box] = [(25, 43, ["[package]", "  name = 'a'", "", "[dependencies]", "regex = '1'"]), (25, 103, ["cargo build"])]
    text = text_of(printed(texts, boxes))
    assert "another package:\n\n```\n[package]\n  name = 'a'\n\n[dependencies]\nregex = '1'\n```\n\nThis package has one" in text
    assert "looks like this:\n\n```\ncargo build\n```\n\nMore follows." in text


def test_a_command_below_an_item_of_a_list_is_not_a_part_of_the_item():
    made = printed(
        [(20, 20, LONG), (20, 30, "1. Copy all packages into a folder"), (20, 45, f"2. Then build. {LONG}")], [(25, 36, ["cargo vendor"])]
    )
    assert "1. Copy all packages into a folder\n\n```\ncargo vendor\n```\n\n2. Then build." in text_of(made)


def columns(shift: float = 0.0, right_lines: int = 16) -> list[tuple[float, float, str]]:
    left = [(20.0, 40 + 5.0 * line, f"The left column has this as its line {line}") for line in range(12)]
    right = [(110.0, 40 + shift + 5.0 * line, f"The right column has this as its line {line}") for line in range(right_lines)]
    return [(20, 25, f"A title above both columns. {LONG}"), *left, *right, (20, 125, f"A remark below both columns. {LONG}")]


def test_columns_are_read_one_after_the_other_with_the_code_at_their_ends():
    for shift, lines in ((0.0, 16), (-2.0, 16), (2.0, 16), (0.0, 9)):
        text = text_of(printed(columns(shift, lines), [(22, 102, ["left = 1", "print(left)"])]))
        places = [text.index(part) for part in ("A title", "left column has this as its line 0", "line 11", "print(left)", "right column")]
        assert places == sorted(places)
        assert text.index(f"right column has this as its line {lines - 1}") < text.index("A remark below")


def test_cells_of_several_lines_stay_whole():
    texts = [
        (20, 20, LONG),
        (20, 35, "alpha"),
        (60, 32, "The first cell is long"),
        (60, 37, "and has a second line."),
        (160, 35, "one"),
        (20, 50, "beta"),
        (60, 47, "The next cell is long"),
        (60, 52, "and has another line."),
        (160, 50, "two"),
    ]
    text = text_of(printed(texts))
    assert "The first cell is long and has a second line." in text
    assert "The next cell is long and has another line." in text


def test_a_text_that_is_all_of_one_width_has_paragraphs_and_no_code():
    made = printed([], [(20, 20, ["All of this text was written with", "a typewriter, and goes on."])])
    assert text_of(made) == "All of this text was written with a typewriter, and goes on.\n"


def test_pages_whose_order_is_doubtful_are_noted():
    made = printed([(20, 20 + 5 * line, LONG) for line in range(5)])
    with made.rotation(90, 10, 200):
        made.text(10, 200, "A stamp along the edge")
    made.add_page()
    for line in range(9):
        made.text(20, 20 + 5 * line, "One column was written together" + " " * 9 + "with the other, line by line here")
    made.add_page()
    made.text(20, 20, LONG)
    converted = convert(".pdf", bytes(made.output()))
    assert converted.notes == (
        "has turned text on page 1; check the order of its text",
        "may have columns that were read across on page 2; check the order of its text",
    )
    assert "A stamp along the edge" in converted.text


FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def without_map(pages: list[tuple[str, str]]) -> bytes:
    """A PDF with pages of a text in a usual font and one in a font whose Unicode map is missing."""
    made = FPDF()
    made.add_font("Sans", fname=FONT)
    for usual, other in pages:
        made.add_page()
        for font, text in (("Helvetica", usual), ("Sans", other)):
            made.set_font(font, size=11)
            made.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")
    writer = PdfWriter(PdfReader(io.BytesIO(bytes(made.output()))))
    for each in writer.pages:
        for font in each["/Resources"]["/Font"].values():
            font.get_object().pop("/ToUnicode", None)
    return saved(writer.write)


def test_a_text_that_is_mostly_without_a_unicode_map_is_refused():
    with pytest.raises(UnreadableFileError) as error:
        convert(".pdf", without_map([("House rules", "The door is locked at ten in the evening, and the key is in the box beside it.")]))
    # 78 characters with their blanks, beside the ten letters of the title.
    assert str(error.value) == (
        "has no text for 78 of its 88 characters (88.6 %), as their fonts have no Unicode map; recognise the text first (OCR)"
    )


def test_a_part_without_a_unicode_map_is_named_with_its_pages():
    converted = convert(".pdf", without_map([(LONG, "Ring the bell!"), (LONG, ""), (LONG, "Twice.")]))
    assert converted.text.count("These words fill") == 3
    assert converted.notes[0].endswith(
        "without a text on the pages 1 and 3, in fonts without a Unicode map; recognise the text first (OCR)"
    )
    assert converted.notes[0].startswith("has 20 characters (")
    rare = convert(".pdf", without_map([(LONG * 20, "✓")]))
    assert rare.notes == ("has 1 character (<0.1 %) without a text on page 1, in fonts without a Unicode map",)


def test_scans_images_and_empty_pages_are_named():
    from PIL import Image

    made = FPDF()
    made.set_font("Helvetica", size=11)
    picture = Image.new("RGB", (40, 40), "red")
    for width, text in ((0, LONG), (30, LONG), (210, "Page 3"), (0, ""), (210, LONG * 3)):
        made.add_page()
        if width:
            made.image(picture, x=0, y=0, w=width, h=width * 1.4)
        made.multi_cell(0, 6, text)
    assert convert(".pdf", bytes(made.output())).notes == (
        "has no text on page 4",
        "has a scanned image and little text on page 3; recognise the text first (OCR)",
        "has images on page 2 that are not read",
    )


def test_fields_annotations_and_attached_files_are_named():
    made = printed([(20, 20, LONG)])
    writer = PdfWriter(PdfReader(io.BytesIO(bytes(made.output()))))
    writer.add_annotation(0, FreeText(text="A remark", rect=(50, 50, 150, 80)))
    writer.add_attachment("fees.csv", b"a,b")
    field = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject("name"),
            NameObject("/V"): TextStringObject("Ada"),
            NameObject("/Rect"): ArrayObject([FloatObject(place) for place in (50, 200, 150, 220)]),
        }
    )
    writer.pages[0][NameObject("/Annots")].append(writer._add_object(field))
    assert convert(".pdf", saved(writer.write)).notes == ("has 1 form field, 1 annotation and 1 attached file that are not read",)


def test_tables_of_contents_lose_their_dots_and_keep_their_lines():
    made = printed(
        [
            (20, 20, "Opening hours ................................ 3"),
            (20, 26, "Fees and what they are for, with a title"),
            (20, 32, "of two lines . . . . . . . . . . . . . . . . 12"),
            (20, 38, "Preface ................................. xiv"),
            (20, 44, "Index ......................................"),
            (180, 44, "31"),
            (20, 60, f"{LONG} And so on..."),
        ]
    )
    assert text_of(made).split("\n\n") == [
        "Opening hours 3",
        "Fees and what they are for, with a title of two lines 12",
        "Preface xiv",
        "Index 31",
        f"{LONG} And so on...\n",
    ]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("Bring a mask because of SARS-CoV-", "2 and wash your hands.", "SARS-CoV-2 and"),
        ("The plan is for the school year 2024-", "2025 and for no other.", "year 2024-2025 and"),
        ("The plan is for the school year 2024–", "2025 and for no other.", "year 2024–2025 and"),
        ("The order has the number QX-", "7710-B and is late.", "QX-7710-B and"),
        ("You need a residence per-", "mit for the shed.", "residence permit for"),
        ("All of it is in https://example.org/bike-", "shed/rules.html for you.", "example.org/bike-shed/rules.html for"),
        ("It is a rule for pre-", "and post-war houses.", "pre- and post-war"),
        ("We speak of user-", "Centred work here.", "user-Centred work"),
        ("The cellar must never be colder than -", "5 degrees in any winter.", "than -5 degrees"),
        ("Members can come in the evening from 3 -", "5 days in each week.", "from 3 - 5 days"),
    ],
)
def test_hyphens_at_line_ends_stay_where_they_are_a_part_of_the_word(first: str, second: str, whole: str):
    made = printed([])
    made.add_font("Sans", fname=FONT)
    made.set_font("Sans", size=11)
    made.text(20, 20, first)
    made.text(20, 25, second)
    assert whole in text_of(made)


def written(parts: list[tuple[str, str]], size: int = 12) -> FPDF:
    """A page with parts of a text that are raised (SUP), lowered (SUB) or neither (LINE)."""
    made = FPDF()
    made.add_page()
    made.set_font("Helvetica", size=size)
    for place, text in parts:
        made.char_vpos = place
        made.write(6, text)
    return made


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([("LINE", "There are 2"), ("SUP", "10"), ("LINE", " of them")], "There are 2¹⁰ of them"),
        ([("LINE", "It is 10"), ("SUP", "-3"), ("LINE", " of it")], "It is 10⁻³ of it"),
        ([("LINE", "The fee is 80 euros."), ("SUP", "1")], "The fee is 80 euros.¹"),
        ([("LINE", "See the note"), ("SUP", "12,13"), ("LINE", " for more")], "See the note¹²,¹³ for more"),
        ([("LINE", "10"), ("SUP", "6")], "10⁶"),
        # Word and web pages have no other characters for these either.
        ([("LINE", "The H"), ("SUB", "2"), ("LINE", "O and the 1"), ("SUP", "st"), ("LINE", " of May")], "The H2O and the 1st of May"),
    ],
)
def test_raised_numbers_are_written_as_such(parts: list[tuple[str, str]], whole: str):
    assert text_of(written(parts)) == f"{whole}\n"


def test_small_print_of_the_same_baseline_and_turned_numbers_are_no_raised_numbers():
    made = FPDF()
    made.add_page()
    for size, text in ((12, "The fee is 80"), (7, "95"), (12, " euros, for 10"), (9, "-3 of them, "), (20, "T"), (8, "12 and more")):
        made.set_font("Helvetica", size=size)
        made.text(made.get_x(), 20, text)
        made.set_x(made.get_x() + made.get_string_width(text))
    assert text_of(made) == "The fee is 8095 euros, for 10-3 of them, T12 and more\n"
    made = printed([(20, 20, LONG)])
    with made.rotation(90, 10, 200):
        made.text(10, 200, "W1-W23")
    assert "W1-W23" in text_of(made)


def test_a_damaged_page_is_named_and_the_others_are_read():
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(bytes(printed([(20, 20, "The first page.")]).output()))))
    writer.root_object["/Pages"]["/Kids"].append(NullObject())
    writer.root_object["/Pages"][NameObject("/Count")] = NumberObject(2)
    file = io.BytesIO()
    writer.write(file)
    made = convert(".pdf", file.getvalue())
    assert (made.text, made.notes) == ("The first page.\n", ("is damaged: page 2 cannot be read",))


def test_a_form_whose_pages_another_program_makes_is_refused():
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(bytes(printed([(20, 20, "Please wait...")]).output()))))
    xfa = DecodedStreamObject()
    xfa.set_data(b"<xdp/>")
    form = DictionaryObject({NameObject("/Fields"): ArrayObject(), NameObject("/XFA"): writer._add_object(xfa)})
    writer.root_object.update({NameObject("/AcroForm"): form, NameObject("/NeedsRendering"): BooleanObject(True)})
    file = io.BytesIO()
    writer.write(file)
    with pytest.raises(UnreadableFileError, match=r"only Adobe Reader makes \(XFA\); print it"):
        convert(".pdf", file.getvalue())
