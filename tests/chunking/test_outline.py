from workbench.chunking.text.outline import Heading, outline


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
