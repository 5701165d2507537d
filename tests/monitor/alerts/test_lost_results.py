import numpy as np
import pandas as pd
import pytest

from workbench.monitor.alerts.lost_results import lost_results
from workbench.monitor.question_texts import normalised, signature

# Texts that begin alike have near vectors.
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0]}


def encode(texts):
    return np.array([VECTORS.get(text[0], [1.0, 1.0]) for text in texts], dtype=np.float32)


def lost(asked, vectors=None):
    found = lost_results(
        pd.Series([text for text, _ in asked]), np.array([float(empty) if empty is not None else np.nan for _, empty in asked]), vectors
    )
    return list(zip(found.rows.tolist(), found.before.tolist(), strict=True))


def test_a_question_that_had_results_before_and_has_none_is_found_at_every_later_time() -> None:
    asked = [("What is it?", 1), ("What is it?", 0), ("other", 0), (" what IS it", 1), ("what is it", None), ("What is it!", 1)]
    assert lost(asked) == [(3, 1), (5, 1)]


def test_a_near_duplicate_counts_if_numbers_and_negations_are_equal() -> None:
    asked = [
        ("a fence of 12 metres", 0),
        ("a fence of 14 metres", 1),
        ("a fence, 12 metres high", 1),
        ("a fence not of 12 metres", 1),
        ("b 12", 1),
    ]
    assert lost(asked, encode) == [(2, 0)]
    assert lost(asked) == []


def test_a_question_that_had_no_results_before_its_near_duplicate_has_lost_none() -> None:
    assert lost([("a plum", 1), ("a pear", 0), ("a plum", 1)], encode) == []
    # Another question without results comes later, and the order of the first two still counts.
    assert lost([("a plum", 1), ("a pear", 0), ("b fig", 1), ("a plum", 1)], encode) == []
    assert lost([("a pear", 0), ("a plum", 1)], encode) == [(1, 0)]


def test_without_an_encoder_questions_that_are_not_compared_are_counted() -> None:
    found = lost_results(pd.Series(["a", "b", "c"]), np.array([0.0, 1.0, 1.0]))
    assert (len(found.rows), found.uncompared) == (0, 2)


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
