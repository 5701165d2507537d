"""The measurement of judges: hand-worked figures, and a committed page that agrees with a part measured anew."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.judging.__main__ import RESULTS
from benchmarks.judging.judged import always_yes, figures, scorer_of, word_overlap
from benchmarks.judging.labels import SETS, LabelledSet
from benchmarks.judging.measures import Scored, auroc, balanced_accuracy, found_contradictions, with_interval
from benchmarks.judging.page import PAGE, page
from benchmarks.judging.parts import splitter
from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.overlap import OverlapJudge
from workbench.llm.session import CallResources

RECORDED = json.loads(RESULTS.read_text("utf-8"))


def scored(good: list[float], bad: list[float], contradicted: int = 0) -> Scored:
    """Items to approve, others of which the first are contradicted, each its own cluster."""
    number = len(good) + len(bad)
    labels = np.arange(number) < len(good)
    wrong = (np.arange(number) >= len(good)) & (np.arange(number) < len(good) + contradicted)
    return Scored(np.array([*good, *bad], dtype=np.float64), labels, wrong, [str(place) for place in range(number)])


def named(name: str) -> LabelledSet:
    return next(labelled for labelled in SETS if labelled.name == name)


def row_of(name: str, judge: str) -> dict[str, Any]:
    return next(row for row in RECORDED["rows"] if (row["set"], row["judge"]) == (name, judge))


def test_auroc_counts_pairs_and_ties_half() -> None:
    assert auroc(scored([0.9, 0.5], [0.5, 0.1])) == 0.875
    assert auroc(scored([0.2, 0.2], [0.2])) == 0.5
    assert np.isnan(auroc(scored([0.2], [])))


def test_balanced_accuracy_weighs_both_sides_equally() -> None:
    assert balanced_accuracy(scored([0.5, 0.4], [0.1, 0.2, 0.3, 0.9])) == 0.625


def test_contradictions_are_found_below_a_threshold_that_a_tenth_of_the_good_are_below() -> None:
    good = [0.1, *np.linspace(0.5, 0.9, 9).tolist()]
    assert found_contradictions(scored(good, [0.2, 0.4, 0.6], contradicted=3)) == pytest.approx(2 / 3)
    assert np.isnan(found_contradictions(scored(good, [0.2, 0.4])))


def test_an_interval_contains_its_value_and_resamples_clusters() -> None:
    random = np.random.default_rng(1)
    good, bad = random.normal(0.6, 0.1, 100), random.normal(0.5, 0.1, 100)
    single = scored(good.tolist(), bad.tolist())
    value, low, high = with_interval(auroc, single, 300) or []
    assert low < value < high
    # The same items five times in one cluster: as uncertain as once.
    fivefold = Scored(np.tile(single.scores, 5), np.tile(single.approve, 5), np.tile(single.contradicted, 5), [*single.clusters] * 5)
    again = with_interval(auroc, fivefold, 300) or []
    assert again == pytest.approx([value, low, high], abs=0.01)
    assert with_interval(auroc, scored([0.2], [])) is None


def test_a_sample_is_balanced_and_always_the_same() -> None:
    labelled = named("minimal edits")
    taken = labelled.sampled(20)
    assert [sum(item.approve is side for item in taken) for side in (True, False)] == [10, 10]
    assert taken == labelled.sampled(20)
    assert len(labelled.sampled(None)) == len(labelled.sampled(1000)) == 96


def test_the_page_is_made_from_the_recorded_figures() -> None:
    assert PAGE.read_text("utf-8") == page(RECORDED)


def test_every_set_has_a_row_for_each_baseline_and_overlap() -> None:
    found = {(row["set"], row["judge"]) for row in RECORDED["rows"]}
    assert found >= {(labelled.name, judge) for labelled in SETS for judge in ("always yes", "word overlap", "overlap")}


@pytest.mark.parametrize("name", ["minimal edits", "known passages"])
def test_overlap_on_the_known_answers_is_as_recorded(name: str) -> None:
    scorer = scorer_of(OverlapJudge(), AnswerResources(MemoryVectorCache(), CallResources()))
    again, recorded = figures(named(name), "overlap", scorer), row_of(name, "overlap")
    assert {key: again[key] for key in ("items", "approve", "clusters", "unscored")} == {
        key: recorded[key] for key in ("items", "approve", "clusters", "unscored")
    }
    # Vectors of another backend differ in the third decimal.
    assert again["auroc"] == pytest.approx(recorded["auroc"], abs=0.01)
    assert again["balanced_accuracy"] == pytest.approx(recorded["balanced_accuracy"], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["WiCE", "MTRAG", "handbook", "correct answers"])
def test_the_baselines_are_as_recorded(name: str, big_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    labelled = named(name)
    if labelled.needs:
        monkeypatch.setenv("WORKBENCH_DATA", str(big_data(labelled.needs).parent))
    assert figures(labelled, "word overlap", word_overlap) == row_of(name, "word overlap")
    assert figures(labelled, "always yes", always_yes)["auroc"] == [0.5, 0.5, 0.5]


def test_the_splitter_is_as_recorded() -> None:
    assert splitter() == RECORDED["splitter"]


def test_a_set_without_data_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert [labelled.name for labelled in SETS if labelled.missing] == ["WiCE", "MTRAG", "MTRAG answers"]
