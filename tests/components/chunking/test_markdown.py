import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.components.chunking import headers
from workbench.components.chunking.headers import outline
from workbench.components.chunking.markdown import Block, MarkdownChunker, blocks, parts_of
from workbench.core.records import Document

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
CODE = "```py\nx = 1\n\ny = 2\n```"
ITEM = "- an item\n\n  with two paragraphs"
TEXT = """Some intro text
over two lines.

# Heading

- one

  still one
- two
    1. nested

| a | b |
|---|---|
| 1 | 2 |

[link]: http://example.org

```py
x = 1

y = 2
```

> quoted
"""


def read(text: str, size: int, **settings: object) -> list[str]:
    chunker = MarkdownChunker.model_validate({"size": size, "tokens": "characters", **settings})
    return [text[chunk.start : chunk.end] for chunk in chunker.split(Document("d", text))]


def test_a_heading_starts_a_chunk_and_stays_with_what_follows() -> None:
    assert read("Intro.\n\n# One\n\nText.\n\n# Two\n\n## Three\n\nMore.", 100) == ["Intro.", "# One\n\nText.", "# Two\n\n## Three\n\nMore."]


def test_paragraphs_are_packed_and_long_ones_cut_at_sentences() -> None:
    assert read("Para one.\n\nPara two.\n\nPara three.", 22) == ["Para one.\n\nPara two.", "Para three."]
    assert read("Sentence one. Sentence two. Sentence three.", 30) == ["Sentence one. Sentence two.", "Sentence three."]


def test_a_heading_stays_with_the_first_sentence_of_a_long_paragraph() -> None:
    assert read("# Heading\n\nSentence one. Sentence two. Sentence three.", 30) == [
        "# Heading\n\nSentence one.",
        "Sentence two. Sentence three.",
    ]


def test_a_heading_that_does_not_fit_with_a_table_leaves_it_whole() -> None:
    assert read(f"# Heading\n\n{TABLE}", len(TABLE)) == ["# Heading", TABLE]


def test_what_is_longer_than_a_chunk_is_cut_at_lines_then_between_words() -> None:
    assert read(TABLE, 20) == ["| a | b |\n|---|---|", "| 1 | 2 |\n| 3 | 4 |"]
    assert read("```\nlong line of words\n```", 12, tokens="model") == ["```\nlong line of words\n```"]
    assert all(len(chunk) <= 12 for chunk in read(f"{CODE}\n\n{'x' * 50}", 12))


def test_plain_text_is_cut_too() -> None:
    assert read("One. Two.\n\nThree.", 10) == ["One. Two.", "Three."]


def test_an_enriched_chunk_knows_its_section() -> None:
    text = "# Guide\n\n## Setup\n\nSentence one. Sentence two.\n\n## Use\n\nText."
    chunks = MarkdownChunker(size=32, tokens="characters", enrich=True).split(Document("d", text, "Book"))
    assert [chunk.header for chunk in chunks] == ["Book", "Book > Guide > Setup", "Book > Guide"]


@given(
    st.lists(st.sampled_from([TABLE, CODE, ITEM, "# Heading", "## Part", "A paragraph. Of two sentences.", "word " * 30]), max_size=12),
    st.integers(len(TABLE), 120),
    st.booleans(),
)
@settings(max_examples=150)
def test_a_table_a_code_block_and_a_list_item_that_fit_are_never_cut(parts: list[str], size: int, enrich: bool) -> None:
    text = "\n\n".join(parts)
    chunks = read(text, size, enrich=enrich)
    for whole in (TABLE, CODE, ITEM):
        assert sum(chunk.count(whole) for chunk in chunks) == text.count(whole)


def test_its_name_has_one_size() -> None:
    assert (MarkdownChunker(size=256).name, MarkdownChunker(size=256).sizes) == ("markdown-256", (256, 0))


def test_blocks_are_what_a_reader_sees_as_one() -> None:
    assert [(block.kind, TEXT[block.start : block.end]) for block in blocks(TEXT)] == [
        ("text", "Some intro text\nover two lines."),
        ("heading", "# Heading"),
        ("lines", "- one\n\n  still one"),
        ("lines", "- two\n    1. nested"),
        ("lines", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("text", "[link]: http://example.org"),
        ("lines", "```py\nx = 1\n\ny = 2\n```"),
        ("lines", "> quoted"),
    ]


def test_blocks_hold_in_every_newline() -> None:
    for newline in ("\r\n", "\r"):
        text = TEXT.replace("\n", newline)
        assert [text[b.start : b.end].replace(newline, "\n") for b in blocks(text)] == [TEXT[b.start : b.end] for b in blocks(TEXT)]


def test_an_open_code_block_reaches_to_the_end() -> None:
    assert blocks("```\na\n\nb") == [Block(0, 8, "lines")]


def test_text_parts_are_sentences_and_the_others_are_lines() -> None:
    text = "  One. Two.\nThree"
    assert parts_of(text, Block(2, len(text), "text")) == [(2, 6), (7, 11), (12, 17)]
    assert parts_of(text, Block(2, len(text), "lines")) == [(2, 11), (12, 17)]


@given(
    lines=st.lists(
        st.sampled_from(
            [
                *(
                    "# a",
                    "## b",
                    "text",
                    "- item",
                    "  - nested",
                    "  more",
                    "1. x",
                    "> q",
                    "> - y",
                    "```",
                    "~~~",
                    "    code",
                    "a : b",
                    "===",
                ),
                *(
                    "---",
                    "<div>",
                    "</div>",
                    "<!-- c",
                    "-->",
                    "[a]: /u",
                    "'t'",
                    "***",
                    "<pre>",
                    "",
                    "| a | b |",
                    "|---|---|",
                    "",
                    "",
                    "\t- tab",
                ),
                *("a|b", "-|-", "+++"),
            ]
        ),
        max_size=25,
    ),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    size=st.integers(1, 60),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_long_text_that_is_parsed_in_parts_has_the_same_blocks(
    monkeypatch: pytest.MonkeyPatch, lines: list[str], newline: str, size: int
) -> None:
    text = newline.join(lines)
    whole = blocks(text), outline(text)
    with monkeypatch.context() as patch:
        patch.setattr(headers, "_PART", size)
        assert (blocks(text), outline(text)) == whole


def test_a_blank_text_has_no_blocks() -> None:
    assert blocks("") == blocks(" \n \n") == []


def test_front_matter_is_a_block_that_is_no_heading() -> None:
    text = "---\ntitle: Leave\n---\nYou have thirty days."
    assert [(text[block.start : block.end], block.kind) for block in blocks(text)] == [
        ("---\ntitle: Leave\n---", "text"),
        ("You have thirty days.", "text"),
    ]
