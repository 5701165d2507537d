import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.components.chunking.headers import TokenBudget
from workbench.components.chunking.sentences import cut_long, partition, sentences
from workbench.llm.models.tokenizers import tokenise


def read(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_sentences_end_at_stops_but_not_at_abbreviations() -> None:
    assert read("Dr. Smith came.  He saw!\nWhy? ") == ["Dr. Smith came.", "He saw!", "Why?"]


def test_paragraphs_end_sentences() -> None:
    assert read("A heading\n\nthe text\r\n\r\nmore\n \t\nand more") == ["A heading", "the text", "more", "and more"]


def test_repeated_sentences_have_their_own_places() -> None:
    assert sentences("Yes. Yes. Yes.") == [(0, 4), (5, 9), (10, 14)]


def test_blank_text_has_no_sentences() -> None:
    assert sentences("") == sentences(" \n\n ") == []


@pytest.mark.parametrize(
    ("sentence", "times"),
    [("「今日は。」彼は言った。", 20_000), ("![", 60_000), ("1. a\n", 40_000)],
    ids=["Japanese", "pictures", "list"],
)
def test_a_paragraph_of_very_many_marks_has_the_sentences_that_it_has_when_it_is_short(sentence: str, times: int) -> None:
    few = read(sentence * 100)
    unit = few[50 : 50 + len(read(sentence * 51)) - len(read(sentence * 50))]
    many = read(sentence * times)
    assert len(many) - len(few) == (times - 100) * len(unit)
    assert set(many) == set(few)


def test_a_sentence_that_is_longer_than_a_window_stays_one() -> None:
    marks, long = "「今日は。」彼は言った。" * 20_000, "Then he wrote (" + "word, " * 3_000 + "end)."
    found = read(f"{marks} {long} {marks}")
    assert [part for part in found if "word" in part] == [long]


@given(st.text(alphabet="ab. !?\n\r\t\u00a0\u2028\u200b。é\u0301😀'\")", max_size=80))
@settings(max_examples=200)
def test_sentences_are_stripped_in_order_and_leave_out_only_blank(text: str) -> None:
    found = sentences(text)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in found)
    assert found == sorted(found)
    assert "".join("".join(read(text)).split()) == "".join(text.split())


def test_a_partition_ignores_repeated_edges_and_blank_slices() -> None:
    assert partition("ab  cd ", [0, 2, 4, 4]) == [(0, 2), (4, 6)]


def test_only_what_is_too_long_is_cut_between_words() -> None:
    text = "one two. three four five six. seven."
    tokens = tokenise([text], "all-MiniLM-L6-v2")[0]
    found = cut_long(text, tokens, sentences(text), TokenBudget(3))
    assert [text[a:b] for a, b in zip(found.starts, found.ends, strict=True)] == ["one two.", "three four five", "six.", "seven."]


@pytest.mark.parametrize("blank", [chr(code) for code in range(0x80, 0x3001) if chr(code).isspace()])
def test_blanks_of_other_scripts_may_stand_before_the_end_of_a_sentence(blank: str) -> None:
    assert read(f"A{blank}. Bob read it. So{blank}it was.")[-1] == f"So{blank}it was."
