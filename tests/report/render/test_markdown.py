import html
import string

from markdown_it import MarkdownIt

from workbench.report.model import Cell, Column, Lines, Prose, Row, Section, Table, Term, Terms
from workbench.report.render.plain import escaped, markdown, markdown_table, summary_markdown
from workbench.runner.execution.collect import collect

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


def test_a_summary_gives_the_winner_the_ranking_and_the_failures(made, shown):
    run = collect(made.ran(2))
    text = summary_markdown(run)
    assert text.startswith("### made-2-12: No winner: ") or " wins by " in text.splitlines()[0]
    assert "| fixed-16-0 | " in text
    assert text.count("**By how much?**") == 1
    failing = summary_markdown(shown.run)
    assert "#### Failed" in failing
    assert "#### Beyond the embedder's window" in failing
    assert "is not a model's settings" in failing


def test_names_are_never_markup(hostile):
    assert "<i>" not in summary_markdown(hostile.run).replace("\\<i\\>", "")
