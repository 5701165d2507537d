"""Strict reading of replies."""

import pytest

from workbench.judging.prompting.replies import UnreadableReplyError, entries, json_reply, rating, truth, word_reply


def test_one_object_is_read() -> None:
    texts = ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```', '<think>{"a": 2}</think>\n{"a": 1}']
    assert [json_reply(text) for text in texts] == [{"a": 1}] * len(texts)


def test_anything_else_is_not() -> None:
    texts = ["", "[1]", 'Sure: {"a": 1}', '{"a": 1} {"a": 2}', '{"a": 1, "a": 2}', '{"a": 1', "1", "[" * 100_000]
    assert [text for text in texts if json_reply(text) is not None] == []


def test_a_word_stands_alone() -> None:
    assert [word_reply(text) for text in ("TRUE.", "**Yes**", "`no`", "UNTRUE", "true false", "true, because", "")] == [
        "true", "yes", "no", "untrue", "", "", "",
    ]  # fmt: skip


def test_truth_values() -> None:
    values = {"Yes.": True, '{"correct": "TRUE."}': True, "false": False, '{"correct": false}': False}
    assert {text: truth(text, "correct") for text in values} == values


def test_no_truth_value(wording) -> None:
    wording(
        lambda text: truth(text, "correct"),
        ["UNTRUE", "not true", '{"correct": 1}', '{"right": true}', '{"correct": "It is true"}', '{"correct": null}'],
        UnreadableReplyError,
    )


def test_ratings() -> None:
    values = {"7": 0.7, "10.": 1.0, "8/10": 0.8, '{"rating": 7.5}': 0.75, '{"rating": 0}': 0.0}
    assert {text: rating(text, "rating") for text in values} == values


def test_no_rating(wording) -> None:
    wording(
        lambda text: rating(text, "rating"),
        ["11", "-1", "7 or 8", "8/5", '{"rating": "7"}', '{"rating": NaN}', '{"rating": 1e9}', '{"score": 3}', "seven"],
        UnreadableReplyError,
    )


def test_entries_have_their_keys() -> None:
    assert entries('{"verdicts": []}', "verdicts", ("verdict",)) == []
    assert entries('{"verdict": "absent"}', "verdicts", ("verdict",)) == [{"verdict": "absent"}]
    with pytest.raises(UnreadableReplyError, match="no 'verdicts' with 'verdict' in each"):
        entries('{"verdicts": [{"claim": 1}]}', "verdicts", ("verdict",))
