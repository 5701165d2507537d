"""Running headers and page numbers leave the text of a PDF. Content at the edges of its pages stays, whatever it looks like."""

from collections.abc import Callable, Sequence

import pytest
from fpdf import FPDF

from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import ConvertedText

# The place of a line in millimetres from the upper edge of an A4 page, its text, and its size in points if it is not the body's.
Line = tuple[float, str] | tuple[float, str, int]
BODY = "The members of the club meet here and talk about the work of the month"


def printed(pages: Sequence[Sequence[Line]], left: float = 20) -> ConvertedText:
    made = FPDF()
    made.set_auto_page_break(False)
    for lines in pages:
        made.add_page()
        for y, text, *size in lines:
            made.set_font("Helvetica", size=size[0] if size else 11)
            made.text(left, y, text)
    return convert(".pdf", bytes(made.output()))


def body(page: int, first: float = 35, lines: int = 20) -> list[Line]:
    """Lines in the usual distance, each of which is there once in a document."""
    return [(first + 6 * number, f"{BODY}, {page}{number:02}.") for number in range(lines)]


def lines_of(converted: ConvertedText) -> list[str]:
    return [paragraph for paragraph in converted.text.strip().split("\n\n") if BODY not in paragraph]


@pytest.mark.parametrize(
    "number",
    [
        lambda page: str(page + 1),
        lambda page: f"- {page + 7} -",
        lambda page: f"Page {page + 1} of 5",
        lambda page: f"Seite {page + 1}",
        lambda page: f"p. {page + 98}",
        lambda page: f"{page + 1} / 5",
        lambda page: f"[{page + 1}]",
        lambda page: ("ii", "iii", "iv", "v", "vi")[page],
        lambda page: f"A-{page + 1}",
        lambda page: f"{page + 1} | Page",
    ],
)
def test_page_numbers_leave_no_trace(number: Callable[[int], str]):
    for place in (15, 285):
        converted = printed([[*body(page), (place, number(page))] for page in range(5)])
        assert lines_of(converted) == []
        assert converted.notes == ()


def test_a_header_and_a_footer_are_kept_once_and_named_and_interrupt_no_sentence():
    margins: list[Line] = [(15, "Rules of the club", 9), (285, "Draft of May")]
    pages = [
        [(29, "which goes on"), *body(page), (29 + 6 * 21, "and here goes on a sentence"), *(margins if page else ())] for page in range(5)
    ]
    converted = printed(pages)
    assert lines_of(converted) == ["Rules of the club", "Draft of May"]
    assert converted.text.count("\n\n") == 2
    assert converted.text.count("goes on a sentence which goes on") == 4
    assert converted.notes == (
        "repeats 2 lines in the margins of its pages, kept once: 'Rules of the club' on 4 pages and 'Draft of May' on 4 pages",
    )


@pytest.mark.parametrize(
    "header",
    [
        "Club rules | {}",
        "{} - Club rules",
        "Club rules, page {}",
        "Club rules               {}",
        "{}               Club rules",
        "Page {} of 9 Rules",
    ],
)
def test_a_header_with_a_page_number_is_one_line(header: str):
    converted = printed([[(15, header.format(page + 3)), *body(page)] for page in range(4)])
    (line,) = lines_of(converted)
    assert line == " ".join(header.format(3).split())
    assert converted.notes == (f"repeats 1 line in the margins of its pages, kept once: {line!r} on 4 pages",)


def test_headers_of_left_and_right_pages_are_found_each():
    pages = [[(15, f"{page} | Rules" if page % 2 else f"Fees | {page}"), *body(page)] for page in range(6)]
    assert lines_of(printed(pages)) == ["Fees | 0", "1 | Rules"]


@pytest.mark.parametrize(
    "text",
    [
        "Invoice number 10{}",
        "Results 202{}",
        "202{}",
        "Step {}",
        "Question {}",
        "Section {}",
        "The fee is {}0 euros.",
        "Set the torque to 2{} Nm.",
        "Answer: {}",
        "{} See Smith 2001, p. {}.",
        "1 See Smith 2001, p. {}",
        "Total due: 12{}.50 EUR",
        "{}5 %",
        "{} %",
        "$ {}",
        "Chapter {}. What members do",
        "{}. Members pay fees",
    ],
)
def test_a_line_with_another_number_on_each_page_is_content(text: str):
    for place, size in ((15, 11), (15, 16), (285, 11)):
        converted = printed([[*body(page), (place, text.replace("{}", str(page)), size)] for page in range(1, 5)])
        assert [converted.text.count(text.replace("{}", str(page))) for page in range(1, 5)] == [1, 1, 1, 1]
        assert converted.notes == ()


def test_lines_without_a_gap_to_the_body_are_content():
    pages = [
        [(20, "City Bike Library"), (26, "Dear member,"), *body(page, first=32, lines=42), (284, "each started hour, and 80 euros.")]
        for page in range(4)
    ]
    assert [printed(pages).text.count(text) for text in ("City Bike", "Dear member", "each started")] == [4, 4, 4]
    # Slides, and the rows of a table that goes on.
    slides = [
        [(20, f"Plan {name}", 20), (40, f"Price: {5 * number} euros"), (60, "Support by email"), (80, "Users: 10")]
        for number, name in enumerate("ABCD", 1)
    ]
    assert [printed(slides).text.count(text) for text in ("Plan ", "Price: ", "Support", "Users: 10")] == [4, 4, 4, 4]
    table = [[(20, "Year  Value"), *((26 + 6 * row, f"{2000 + 10 * page + row}  {row}") for row in range(10))] for page in range(3)]
    assert printed(table).text.count("Year  Value".replace("  ", " ")) == 3


def test_the_same_line_at_other_heights_inside_of_the_page_or_in_larger_type_is_content():
    assert printed([[(12 + 5 * page, "Please note"), *body(page, first=60)] for page in range(5)]).text.count("Please note") == 5
    assert printed([[(60, "Please note"), *body(page, first=80)] for page in range(5)]).text.count("Please note") == 5
    assert printed([[(20, "Invoice", 18), *body(page)] for page in range(5)]).text.count("# Invoice") == 5


def test_two_pages_have_no_running_texts_and_pages_of_one_line_no_margins():
    pages = [[(15, "To all members"), *body(page), (285, f"Page {page + 1}")] for page in range(2)]
    assert lines_of(printed(pages)) == ["To all members", "To all members"]
    assert printed([[(20, "Thank you")] for _ in range(4)]).text.count("Thank you") == 4


def test_the_line_above_a_page_number_runs_too():
    pages = [[*body(page), (270, "Rules of the club"), (285, f"{page + 1}")] for page in range(4)]
    assert lines_of(printed(pages)) == ["Rules of the club"]
    fees = [[*body(page), (270, f"The fee is {page}0 euros."), (285, f"{page + 1}")] for page in range(1, 5)]
    assert lines_of(printed(fees)) == [f"The fee is {page}0 euros." for page in range(1, 5)]
