"""Strict reading of replies."""

import pytest

from workbench.components.judging.replies import UnreadableReplyError, entries, rating, truth, whole_number, word_reply


def test_a_word_stands_alone() -> None:
    assert [word_reply(text) for text in ("TRUE.", "**Yes**", "`no`", "UNTRUE", "true false", "true, because", "")] == [
        "true", "yes", "no", "untrue", "", "", "",
    ]  # fmt: skip


def test_truth_values() -> None:
    values = {
        "Yes.": True,
        '{"correct": "TRUE."}': True,
        "false": False,
        '{"correct": false}': False,
        "```\ntrue\n```": True,
        "~~~text\nNo.\n~~~": False,
    }
    assert {text: truth(text, "correct") for text in values} == values


def test_no_truth_value(wording) -> None:
    wording(
        lambda text: truth(text, "correct"),
        ["UNTRUE", "not true", '{"correct": 1}', '{"right": true}', '{"correct": "It is true"}', '{"correct": null}'],
        UnreadableReplyError,
    )


def test_a_rating_is_a_whole_number_of_ten_in_any_form() -> None:
    values = {
        "7": 0.7, "10.": 1.0, "8/10": 0.8, "**8 / 10**": 0.8, "1.0/10": 0.1, '{"rating": 7.0}': 0.7, '{"rating": 0}': 0.0, '{"rating": 0.0}': 0.0,
        '{"rating": 1}': 0.1, '{"rating": "7"}': 0.7, '{"rating": "7/10"}': 0.7, '{"rating": " 7 / 10. "}': 0.7, '{"rating": 1e1}': 1.0,
        '```JSON\n{"rating": 10}\n```': 1.0, "```\n7\n```": 0.7, "```text\n8/10\n```": 0.8, "**7.**": 0.7,
    }  # fmt: skip
    assert {text: rating(text, "rating") for text in values} == values


def test_no_rating(wording) -> None:
    numbers = [
        "0.8",
        "1.0",
        "8.5",
        "11",
        "-1",
        "NaN",
        "1e9",
        "true",
        "null",
        "[8]",
        '"0.8"',
        '"4/5"',
        '"80%"',
        '"8/100"',
        '"8 or 9"',
        '"high"',
    ]
    bare = [
        ".10",
        ".05",
        "**.5**",
        '{"rating": ".7"}',
        '{"rating": ".10"}',
        "11",
        "-1",
        "0.8",
        "1.0",
        "7 or 8",
        "8/5",
        "8/",
        "seven",
        "7.5",
        '{"score": 3}',
        '{"rating": 3, "rating": 4}',
    ]
    wording(lambda text: rating(text, "rating"), [*bare, *(f'{{"rating": {number}}}' for number in numbers)], UnreadableReplyError)


def test_whole_numbers_in_any_form() -> None:
    assert [whole_number(value) for value in (2, 2.0, "2", " 2. ", "2.5", ".2", 2.5, True, None, "two", [2], -1, "", "X2")] == [
        2, 2, 2, 2, None, None, None, None, None, None, None, -1, None, None,
    ]  # fmt: skip


def test_entries_have_their_keys() -> None:
    assert entries('{"verdicts": []}', "verdicts", ("verdict",)) == []
    assert entries('{"verdict": "absent"}', "verdicts", ("verdict",)) == [{"verdict": "absent"}]
    with pytest.raises(UnreadableReplyError, match="no 'verdicts' with 'verdict' in each"):
        entries('{"verdicts": [{"claim": 1}]}', "verdicts", ("verdict",))
