import numpy as np
import pandas as pd
import pytest

from workbench.monitor.alerts.signals import lost_results
from workbench.monitor.sampling import normalised, signature

# Texts that begin alike have near vectors.
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0]}


def encode(texts):
    return np.array([VECTORS.get(text[0], [1.0, 1.0]) for text in texts], dtype=np.float32)


def lost(history, later, vectors=None):
    """The values of the later rows, which are texts, 1 if they are without results, and the documents of their hits if these are known."""
    rows = [(*row, None)[:3] for row in (*history, *later)]
    table = pd.DataFrame(rows, columns=["query", "empty", "documents"]).astype({"empty": float})
    found = lost_results(table, len(history), vectors)[0]
    assert np.isnan(found[: len(history)]).all()
    return [None if np.isnan(value) else int(value) for value in found[len(history) :]]


def test_a_question_that_had_results_has_lost_them_at_every_later_time_without_any() -> None:
    history = [("What is it?", 1), ("What is it?", 0), ("other", None), ("none", 1)]
    later = [
        (" what IS it", 1),
        ("what is it", None),
        ("What is it!", 0),
        ("other", 1),
        ("none", 1),
        ("new", 0),
        ("new", 1),
        ("What is it", 1),
    ]
    assert lost(history, later) == [1, None, 0, None, None, None, 1, 1]


def test_a_question_has_lost_its_first_document_when_no_hit_is_of_it() -> None:
    history = [("fee", 0, ("a", "b")), ("Fee?", 0, ("c",)), ("tax", 0, None), ("cab", 0, ("a",))]
    later = [("fee", 0, ("b", "a")), ("fee", 0, ("d", "c")), ("fee", 0, ("b", "d")), ("fee", 0, None), ("fee", 1, ()), ("tax", 0, ("b",))]
    assert lost(history, later) == [0, 1, 1, 0, 1, 0]


def test_a_near_duplicate_counts_if_numbers_and_negations_are_equal() -> None:
    later = [("a fence of 14 metres", 1), ("a fence, 12 metres high", 1), ("a fence not of 12 metres", 1), ("b 12", 1)]
    assert lost([("a fence of 12 metres", 0)], later, encode) == [None, 1, None, None]
    assert lost([("a fence of 12 metres", 0)], later) == [None] * 4


def test_what_a_longer_log_adds_changes_no_earlier_value() -> None:
    later = [("a pear", 1), ("a plum", 0), ("b fig", 1), ("a plum", 1)]
    for end in range(1, 5):
        assert lost([("a plum", 0)], later[:end], encode) == [1, 0, None, 1][:end]


def test_without_an_encoder_questions_that_are_not_compared_are_counted() -> None:
    values, uncompared = lost_results(pd.DataFrame({"query": ["a", "b", "c"], "empty": [0.0, 1.0, 1.0], "documents": None}), 1)
    assert np.isnan(values).all()
    assert uncompared == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("am I allowed", "am I not allowed"),
        ("darf ich das", "darf ich das nicht"),
        ("can I go", "can't I go"),
        ("puis-je entrer", "puis-je entrer sans clé"),
        ("можно войти", "не могу войти"),
        ("可以进入", "不可以进入"),
        ("in june 2025", "in june 2026"),
        ("for two people", "for three people"),
    ],
)
def test_questions_that_differ_in_a_number_or_a_negation_are_told_apart(one, other) -> None:
    assert signature(one) != signature(other)


def test_equal_questions_have_equal_texts() -> None:
    assert normalised("  What is\tthe FEE ?! ") == normalised("what is the fee")
    assert normalised("c++") != normalised("c")
    assert signature("12 metres for two") == signature("two, of 12 metres")
