from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.chunking.markdown import MarkdownChunker
from workbench.records import Document

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
CODE = "```py\nx = 1\n\ny = 2\n```"
ITEM = "- an item\n\n  with two paragraphs"


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
