"""The text of a PDF comes in the order in which a person reads it, whatever the order in which a program wrote it."""

from fpdf import FPDF

from workbench.conversion.registry import BY_SUFFIX, convert

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
    assert BY_SUFFIX[".pdf"].version == 2
