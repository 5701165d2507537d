"""Bounds of a question's difference, against all ways to label its unjudged documents."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from workbench.measures.metrics.difference_bounds import JudgedPair, difference_bounds
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS

K, DOCUMENTS, WORLDS = 4, 9, 25
BOUNDED = {name: metric.largest_difference for name, metric in METRICS.builtin.items() if metric.largest_difference}


def worlds() -> Iterator[tuple[list[int], list[int], dict[int, int]]]:
    """Two rankings of documents and the judgements of some, from none to all."""
    random = np.random.default_rng(0)
    for world in range(WORLDS):
        first = random.permutation(DOCUMENTS)[: random.integers(0, 7)]
        # Often nearly the same ranking, as that of a neighbouring configuration is.
        second = random.permutation(first) if world % 3 == 0 else random.permutation(DOCUMENTS)[: random.integers(1, 7)]
        judged = random.permutation(DOCUMENTS)[: random.integers(0, DOCUMENTS + 1)]
        grades = {int(doc): int(random.integers(-1, 3)) for doc in judged}
        yield first.tolist(), second.tolist(), grades


def differences(make_labels, make_retrieved, metric: Metric, first: list[int], second: list[int], grades: dict[int, int]) -> np.ndarray:
    """The difference under each labelling of the unjudged documents of both, NaN without a relevant document."""
    unjudged = sorted({*first[:K], *second[:K]} - grades.keys())
    labellings = [grades | dict(zip(unjudged, given, strict=True)) for given in itertools.product((0, 1), repeat=len(unjudged))]
    labels: Labels = make_labels(["aaaa"] * DOCUMENTS, *({"qrels": each} for each in labellings))
    runs: list[Retrieved] = [
        make_retrieved([(doc, 0, 4) for doc in range(DOCUMENTS)], *[ranked] * len(labellings)) for ranked in (first, second)
    ]
    a, b = (evaluate(labels, run, [metric])["value"].to_numpy(np.float64) for run in runs)
    return a - b


def bounds(metric: Metric, first: list[int], second: list[int], grades: dict[int, int]) -> tuple[float, float]:
    pair = JudgedPair.of(K, [str(doc) for doc in first], [str(doc) for doc in second], {str(doc): grade for doc, grade in grades.items()})
    return difference_bounds(BOUNDED[metric.name], pair)


@pytest.mark.parametrize("name", sorted(set(BOUNDED) - {"map"}))
def test_bounds_are_the_least_and_the_largest_of_all_labellings(name: str, make_labels: Callable, make_retrieved: Callable) -> None:
    metric = Metric.parse(f"{name}@{K}")
    widths = []
    for first, second, grades in worlds():
        found = differences(make_labels, make_retrieved, metric, first, second, grades)
        exact = (0, 0) if np.isnan(found).all() else (np.nanmin(found), np.nanmax(found))
        assert bounds(metric, first, second, grades) == pytest.approx(exact, abs=1e-12)
        widths.append(exact[1] - exact[0])
    assert 0 < np.count_nonzero(widths) < WORLDS


def test_average_precision_is_inside_its_bounds_which_close_with_the_labels(make_labels: Callable, make_retrieved: Callable) -> None:
    metric = Metric.parse(f"map@{K}")
    exact, wide = [], []
    for first, second, grades in worlds():
        found = differences(make_labels, make_retrieved, metric, first, second, grades)
        low, high = bounds(metric, first, second, grades)
        if not np.isnan(found).all():
            assert low - 1e-12 <= np.nanmin(found) <= np.nanmax(found) <= high + 1e-12
            exact.append(np.nanmax(found) - np.nanmin(found))
            wide.append(high - low)
            if len(found) == 1:
                assert high - low == pytest.approx(0, abs=1e-12)
    # Not much wider than they must be.
    assert sum(wide) < 1.3 * sum(exact)


def test_the_same_documents_in_the_same_order_cannot_differ() -> None:
    for name in BOUNDED:
        assert bounds(Metric.parse(f"{name}@{K}"), [1, 2, 3, 4], [1, 2, 3, 4], {}) == (0, 0)


def test_a_document_that_only_one_found_changes_recall_both_ways() -> None:
    """One document is relevant and both found it. With one more for each, recall is 2/2 against 1/2, or 1/2 against 2/2."""
    assert bounds(Metric.parse(f"recall@{K}"), [0, 1], [0, 2], {0: 1}) == (-0.5, 0.5)
