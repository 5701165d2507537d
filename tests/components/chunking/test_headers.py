import pytest

from workbench.components.chunking.headers import Headers, Heading, TokenBudget, outline
from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.chunking.plain import FixedChunker
from workbench.core.records import Document
from workbench.llm.models.files import MINILM

TEXT = "Intro.\n\n# Guide\n\nHello.\n\n## Setup\n\nInstall it.\n\n### Linux\n\nUse make.\n\n## Use\n\nRun it.\n"


def test_the_title_heads_the_start_alone() -> None:
    headers = Headers(Document("d", TEXT, "Handbook"), enrich=False)
    assert [headers.at(0), headers.at(1), headers.at(len(TEXT) - 1)] == ["Handbook", "", ""]


def test_enriched_headers_are_title_and_heading_path() -> None:
    headers = Headers(Document("d", TEXT, "Handbook"), enrich=True)
    places = ["Intro", "Hello", "Install", "Use make", "Run it"]
    assert [headers.at(TEXT.index(place)) for place in places] == [
        "Handbook",
        "Handbook > Guide",
        "Handbook > Guide > Setup",
        "Handbook > Guide > Setup > Linux",
        "Handbook > Guide > Use",
    ]


def test_headings_that_a_chunk_starts_with_are_not_repeated() -> None:
    headers = Headers(Document("d", TEXT), enrich=True)
    assert headers.at(TEXT.index("# Guide")) == ""
    assert headers.at(TEXT.index("## Setup")) == "Guide"
    assert headers.at(TEXT.index("\n\n### Linux")) == "Guide > Setup"
    assert headers.at(TEXT.index("Setup")) == "Guide > Setup"


def test_a_title_that_is_the_first_heading_is_said_once() -> None:
    headers = Headers(Document("d", TEXT, "Guide"), enrich=True)
    assert headers.at(TEXT.index("Install")) == "Guide > Setup"


def test_a_blank_title_is_none() -> None:
    assert Headers(Document("d", TEXT, " \n"), enrich=False).at(0) == ""


def test_the_room_is_what_special_tokens_and_header_leave() -> None:
    room = TokenBudget(64, Headers(Document("d", TEXT, "two words"), enrich=False), MINILM)
    assert [room.at(0), room.at(1)] == [64 - 2 - 2, 64 - 2]


def test_a_monstrous_header_leaves_a_quarter() -> None:
    room = TokenBudget(64, Headers(Document("d", TEXT, "word " * 500), enrich=False), MINILM)
    assert [room.at(0), room.at(1)] == [16, 62]


def test_without_headers_the_content_has_it_all() -> None:
    assert TokenBudget(64).at(0) == 64


def test_headings_have_their_place_level_and_text() -> None:
    text = "Intro\n\n# One  #\r\n\ntext\n\n  ## Two *bold*\n\nThree\n-----\n"
    assert outline(text) == [Heading(7, 1, "One"), Heading(26, 2, "Two *bold*"), Heading(41, 2, "Three")]
    assert [text[heading.start :][:3] for heading in outline(text)] == ["# O", "## ", "Thr"]


def test_places_count_code_points_and_every_kind_of_newline() -> None:
    text = "😀\r\re\u0301\r\n\r\n# Café\n"
    assert outline(text) == [Heading(text.index("#"), 1, "Café")]


def test_what_only_looks_like_a_heading_is_none() -> None:
    assert outline("```\n# code\n```\n\n> # quoted\n\n- # item\n\n#hashtag\n\n#\n\n    # indented\n") == []


def test_a_paragraph_above_a_rule_of_dashes_is_no_heading() -> None:
    assert outline("A paragraph of plain text\nover two lines\n---\nmore\n") == []


def test_a_text_without_headings_has_no_outline() -> None:
    assert outline("") == outline("plain text. More of it.\n\nAnd more.") == []


def test_front_matter_comments_and_ids_are_no_part_of_headings() -> None:
    settings = [
        "---\ntitle: Leave\n---\n",
        "---\r\n# set by hand\r\ntags:\r\n- a\r\n...\r\n",
        "+++\ntitle = 'Leave'\n# a comment\n+++\n",
        "---\ntitle: A\ndate: 2026\n---\n",
    ]
    for before in settings:
        text = f"{before}# Leave {{#leave .wide}}\n\n## Sick <!-- omit in toc -->\n\n<!--\n# Draft\n-->\n"
        assert [(heading.start, heading.title) for heading in outline(text)] == [(len(before), "Leave"), (text.index("## Sick"), "Sick")]
    assert [heading.title for heading in outline("# <!-- nothing else -->\n\nText.\n")] == []


@pytest.mark.parametrize(
    "text", ["---\n\nA rule: above.\n\n---\n# Leave\n", "---\ntitle: never closed\n# Leave\n", "Text.\n\n---\na: b\n\n# Leave\n"]
)
def test_a_rule_that_begins_no_front_matter_hides_no_heading(text: str) -> None:
    assert [heading.title for heading in outline(text)] == ["Leave"]


def test_the_version_of_headings_is_in_the_key_of_chunks_that_have_them() -> None:
    assert [FixedChunker(size=64, enrich=enrich).identity().get("headings") for enrich in (False, True)] == [None, 2]
    assert MarkdownChunker(size=64).identity()["version"] == 5
