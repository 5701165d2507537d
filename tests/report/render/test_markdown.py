import html
import string

from markdown_it import MarkdownIt

from workbench.report.model import Cell, Column, Lines, Prose, Row, Section, Table, Term, Terms
from workbench.report.render.plain import escaped, markdown, markdown_table

TABLE = Table(
    "what it is", [Column("name", "word"), Column("value", note="95 %")], [Row([Cell("a|b"), Cell("0.5", note="[0.1]")])], "a note"
)


def test_a_table_has_pipes_and_numbers_to_the_right():
    assert markdown_table(TABLE) == "| name | value (95 %) |\n| --- | --: |\n| a\\|b | 0.5 (\\[0.1\\]) |"


def test_an_escaped_text_is_shown_as_it_is():
    text = f"A name of a document: {string.punctuation} ~~old~~ &lt;b&gt; &#96;a&#96; $x$ `a ``b`` **c** [d](e) <f>"
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(escaped(text))
    assert html.unescape(shown) == f"<p>{text}</p>\n"
    assert shown.count("<") == 2


def test_every_block_of_words_is_paragraphs():
    blocks = [Prose("one\n*two*"), Lines(["a", "b"]), Terms([Term("name", "<b>")]), TABLE]
    assert markdown(Section("Title", "t", blocks)) == [
        "#### Title",
        "one \\*two\\*",
        "- a\n- b",
        "- **name**: \\<b\\>",
        markdown_table(TABLE),
        "what it is",
        "a note",
    ]
