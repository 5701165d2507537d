"""Configurations are equivalent if the simultaneous interval of their difference is inside plus and minus the smallest difference that matters."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks.verdict.equivalence import cases, rates
from benchmarks.verdict.targets import Target
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.verdict import Reason, Verdict, verdict, with_unscored

QUESTIONS = 200
CLUSTERS = np.arange(QUESTIONS) // 2
judge = partial(verdict, "m", clusters=CLUSTERS, smallest_difference=0.1)


def scores(*gains: float, noise: float = 0.1, seed: int = 3) -> dict[str, np.ndarray]:
    """Values of the configurations a, b, … with these gains, of which each loses and wins all on some questions."""
    random = np.random.default_rng(seed)
    level = 0.2 + 0.5 * random.random(QUESTIONS)
    rows = [level + gain + noise * random.standard_normal(QUESTIONS) for gain in gains]
    for place, row in enumerate(rows):
        row[place * 5 : place * 5 + 5] = 0.0
    return dict(zip("abcd", rows, strict=False))


def test_two_configurations_whose_interval_is_inside_the_smallest_difference_are_equivalent() -> None:
    found = judge(scores(0, 0))
    (pair,) = found.comparisons
    assert found.reason is Reason.EQUIVALENT
    assert (found.winner, found.equivalent) == (None, found.best)
    assert -0.1 < pair.low_adjusted < 0 < pair.high_adjusted < 0.1
    assert max(-pair.low_adjusted, pair.high_adjusted) <= pair.equivalence_margin < 0.1
    assert str(found) == f"no winner by m: {', '.join(found.best)} are equivalent within ±0.100"
    assert "equivalent within ±0.100" in found._repr_html_()


def test_the_margin_is_the_experiments_and_the_interval_must_be_inside_it() -> None:
    found = judge(scores(0, 0))
    margin = found.comparisons[0].equivalence_margin
    for smallest, reason in ((margin, Reason.TIED), (margin * 1.001, Reason.EQUIVALENT)):
        assert judge(scores(0, 0), smallest_difference=smallest).reason is reason


@pytest.mark.parametrize(
    ("questions", "clusters", "reason"),
    [
        (29, Clusters.of(np.arange(29)), Reason.FEW),
        (QUESTIONS, Clusters.of(np.arange(QUESTIONS) % 9), Reason.FEW_DOCUMENTS),
        (QUESTIONS, replace(Clusters.of(CLUSTERS), tested=False), Reason.DRAFTS),
    ],
)
def test_few_questions_few_documents_and_drafts_show_no_equivalence(questions: int, clusters: Clusters, reason: Reason) -> None:
    values = {name: row[:questions] for name, row in scores(0, 0, noise=0.001).items()}
    found = verdict("m", values, clusters, smallest_difference=0.9)
    assert (found.reason, found.equivalent) == (reason, ())
    assert not any(map(found.shown_equivalent, found.pairs))


def test_all_pairs_of_the_tie_set_must_be_equivalent() -> None:
    values = scores(0, 0, 0)
    values["c"] = values["a"] + np.where(np.arange(QUESTIONS) % 4 < 2, 0.9, -0.9)
    found = judge(values)
    assert (found.reason, found.equivalent, set(found.best)) == (Reason.TIED, (), {"a", "b", "c"})
    assert [found.shown_equivalent(found.between(*pair)) for pair in ("ab", "ba", "ac", "cb")] == [True, True, False, False]


def test_a_difference_can_be_significant_and_too_small_to_matter() -> None:
    found = judge(scores(0, 0.05, noise=0.02))
    (pair,) = found.comparisons
    assert (found.winner, found.reason, found.equivalent) == ("b", None, ())
    assert pair.p_adjusted <= 0.05
    assert found.shown_equivalent(pair)


def test_losses_that_were_not_seen_can_undo_an_equivalence() -> None:
    # Equal apart from little noise: nothing shows how often a question or a document is lost altogether.
    level, noise = np.linspace(0.2, 1, 40), 0.001 * np.random.default_rng(1).standard_normal(40)
    close = verdict("m", {"a": level, "b": level + noise}, np.arange(40), smallest_difference=0.05)
    (pair,) = close.comparisons
    assert max(-pair.low_adjusted, pair.high_adjusted) < 0.001
    # 1 - .025 ** (1 / 40) = .0881 of all questions may be lost without one in the sample.
    assert pair.equivalence_margin == pytest.approx(0.0881, abs=1e-3)
    assert (close.reason, close.equivalent) == (Reason.TIED, ())


def test_identical_values_are_equivalent_to_each_other_beside_a_third_only_as_far_as_unseen_losses_allow() -> None:
    values = scores(0, 0)
    copies = judge(values | {"c": values["a"]})
    assert copies.between("a", "c").identical
    # 1 - .025 ** (1 / 100 documents) = .036, times the level of about .45.
    assert 0 < copies.between("a", "c").equivalence_margin < 0.036
    assert copies.reason is Reason.EQUIVALENT
    assert judge({"a": values["a"], "c": values["a"]}).reason is Reason.IDENTICAL


def test_a_constant_difference_has_no_interval_and_is_not_equivalent() -> None:
    values = scores(0)["a"]
    (pair,) = judge({"a": values, "b": values + 0.01}).comparisons
    assert np.isnan(pair.equivalence_margin)


def test_with_a_baseline_each_pair_is_tested_in_its_own_family() -> None:
    values = scores(0, 0, 0, 0)
    every, based = judge(values), judge(values, baseline="a")
    assert [row for row in based.pairs if "a" in (row.a, row.b)] == list(based.comparisons)
    assert [row for row in based.pairs if "a" not in (row.a, row.b)] == [row for row in every.pairs if "a" not in (row.a, row.b)]
    assert [row.tests for row in based.pairs] == [3, 3, 3, 6, 6, 6]
    assert based.reason is Reason.EQUIVALENT
    assert based.between("b", "a") == based.between("a", "b").reversed()


def unscored(values: dict[str, np.ndarray], name: str, count: int, clusters: Clusters | None = None) -> Verdict:
    """The verdict if the last questions of a configuration have no value."""
    missing = {each: np.zeros(QUESTIONS, dtype=np.bool_) for each in values}
    missing[name][-count:] = True
    known = {each: np.where(missing[each], np.nan, row) for each, row in values.items()}
    groups = clusters or Clusters.of(CLUSTERS)
    own = partial(judge, clusters=groups)
    return with_unscored(own(known), known, missing, groups, own, (0.0, 1.0))


def test_unscored_questions_count_as_lost_on_one_side() -> None:
    values = scores(0, 0)
    plain = judge({name: row[:-4] for name, row in values.items()}, clusters=CLUSTERS[:-4]).comparisons[0].equivalence_margin
    few, many = unscored(values, "a", 4), unscored(values, "a", 18)
    assert 0.1 > few.comparisons[0].equivalence_margin >= (196 * plain + 4) / QUESTIONS
    assert (few.reason, few.equivalent) == (Reason.EQUIVALENT, few.best)
    assert many.comparisons[0].equivalence_margin > 0.1
    assert (many.reason, many.equivalent) == (Reason.TIED, ())


def test_an_unscored_question_that_is_all_of_a_document_counts_as_one_of_the_documents() -> None:
    # 39 documents of 5 questions, and 5 of one, of which the last four have no value.
    equal = replace(Clusters.of(np.minimum(np.arange(QUESTIONS) // 5, 38) + np.maximum(np.arange(QUESTIONS) - 194, 0)), equal=True)
    values = scores(0, 0)
    known = values | {"a": np.where(np.arange(QUESTIONS) < 196, values["a"], np.nan)}
    plain = judge(known, clusters=equal).comparisons[0]
    assert plain.difference.clusters == 40
    margin = unscored(values, "a", 4, equal).comparisons[0].equivalence_margin
    assert margin >= (40 * plain.equivalence_margin + 4) / 44 > (196 * plain.equivalence_margin + 4) / QUESTIONS


def test_questions_that_are_unscored_because_they_are_lost_rarely_hide_a_difference_that_matters() -> None:
    # A fifth of the documents of one question is lost, which are half of the documents, so that the means differ by .1 on average.
    groups = replace(Clusters.of(np.repeat(np.arange(60), [1] * 30 + [9] * 30)), equal=True)
    random, claims, shape = np.random.default_rng(3), 0, len(groups)
    own = partial(verdict, "m", clusters=groups, smallest_difference=0.1, flips=499)
    for _ in range(30):
        level = random.uniform(0.3, 0.9, shape)
        lost = (np.arange(shape) < 30) & (random.random(shape) < 0.2)
        known = {"a": np.where(lost, 1.0, level), "b": np.where(lost, np.nan, level + random.normal(0, 0.03, shape))}
        missing = {"a": np.zeros(shape, dtype=np.bool_), "b": lost}
        claims += with_unscored(own(known), known, missing, groups, own, (0.0, 1.0)).reason is Reason.EQUIVALENT
    assert claims <= 4


@pytest.mark.parametrize("name", ["losses on 10% of 50 questions", "losses on whole documents, 12 documents"])
def test_equivalence_is_rarely_claimed_of_a_difference_that_matters_although_the_interval_alone_would(name: str) -> None:
    alone, claimed, _ = rates(cases()[name], 200)
    target = Target("false claim", 0.05)
    assert not target.missed(claimed, 200)
    assert alone > 0.08 > claimed


def test_equal_configurations_are_found_to_be_equivalent() -> None:
    _, claimed, found = rates(cases()["5 configurations, quiet"], 50)
    assert claimed <= 0.05
    assert found > 0.8
