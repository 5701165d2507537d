"""Strict reading of replies."""

import pytest

from workbench.judging.prompting.replies import UnreadableReplyError, entries, json_reply, rating, truth, word_reply


@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```', '<think>{"a": 2}</think>\n{"a": 1}']
)
def test_one_object_is_read(text: str) -> None:
    assert json_reply(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "[1]", 'Sure: {"a": 1}', '{"a": 1} {"a": 2}', '{"a": 1, "a": 2}', '{"a": 1', "1", "[" * 100_000])
def test_anything_else_is_not(text: str) -> None:
    assert json_reply(text) is None


def test_a_word_stands_alone() -> None:
    assert [word_reply(text) for text in ("TRUE.", "**Yes**", "`no`", "UNTRUE", "true false", "true, because", "")] == [
        "true", "yes", "no", "untrue", "", "", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"), [("Yes.", True), ('{"correct": "TRUE."}', True), ("false", False), ('{"correct": false}', False)]
)
def test_truth_values(text: str, value: bool) -> None:
    assert truth(text, "correct") is value


@pytest.mark.parametrize(
    "text", ["UNTRUE", "not true", '{"correct": 1}', '{"right": true}', '{"correct": "It is true"}', '{"correct": null}']
)
def test_no_truth_value(text: str) -> None:
    with pytest.raises(UnreadableReplyError, match="neither JSON with 'correct' nor true or false"):
        truth(text, "correct")


@pytest.mark.parametrize(("text", "value"), [("7", 0.7), ("10.", 1.0), ("8/10", 0.8), ('{"rating": 7.5}', 0.75), ('{"rating": 0}', 0.0)])
def test_ratings(text: str, value: float) -> None:
    assert rating(text, "rating") == value


@pytest.mark.parametrize(
    "text", ["11", "-1", "7 or 8", "8/5", '{"rating": "7"}', '{"rating": NaN}', '{"rating": 1e9}', '{"score": 3}', "seven"]
)
def test_no_rating(text: str) -> None:
    with pytest.raises(UnreadableReplyError, match="from 0 to 10"):
        rating(text, "rating")


def test_entries_have_their_keys() -> None:
    assert entries('{"verdicts": []}', "verdicts", ("verdict",)) == []
    assert entries('{"verdict": "absent"}', "verdicts", ("verdict",)) == [{"verdict": "absent"}]
    with pytest.raises(UnreadableReplyError, match="no 'verdicts' with 'verdict' in each"):
        entries('{"verdicts": [{"claim": 1}]}', "verdicts", ("verdict",))
