"""The agreement of two people, against an independent implementation and by hand."""

import re

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.records import Span
from workbench.people.labelling.agreement import agreement_of, compared_spans
from workbench.people.labelling.checking import GradeScale
from workbench.people.labelling.label_file import AnnotatorLabels, LabelAction

SCALE = GradeScale(2, False)


def person(name: str, grades: np.ndarray) -> AnnotatorLabels:
    """The judgements of a person: a row for each question, a column for each document."""
    actions = [
        LabelAction(kind="relevance", by=name, query_id=f"q{query}", doc_id=f"d{doc}", value=int(grade))
        for query, row in enumerate(grades)
        for doc, grade in enumerate(row)
    ]
    return AnnotatorLabels(name, {action.key: action for action in actions})


def two_people(questions: int, seed: int = 1, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, (questions, 6))
    return first, np.where(rng.random(first.shape) < noise, rng.integers(0, 3, first.shape), first)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kappa_agrees_with_statsmodels_and_its_interval_contains_it(seed: int) -> None:
    first, second = two_people(40, seed)
    table = np.zeros((3, 3))
    np.add.at(table, (first.ravel(), second.ravel()), 1)
    found = agreement_of(person("ann", first), person("bob", second), SCALE)
    assert found.kappa.value == pytest.approx(cohens_kappa(table, wt="quadratic", return_results=False), abs=1e-12)
    assert found.same.value == pytest.approx(np.trace(table) / table.sum())
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert (found.kappa.n, len(found.disagreements)) == (240, int((first != second).sum()))
    kappa, low, high, same = (round(value, 2) for value in (found.kappa.value, found.kappa.low, found.kappa.high, found.same.value))
    assert f"ann and bob both judged 240 documents; kappa {kappa:.2f} [{low:.2f}, {high:.2f}], the same grade for {same:.0%}".replace(
        "%", " %; "
    ) in repr(found)


def test_the_interval_covers_the_kappa_of_the_population() -> None:
    whole = agreement_of(*(person(name, grades) for name, grades in zip("ab", two_people(1500, seed=9), strict=True)), SCALE).kappa.value
    covered = 0
    for seed in range(40):
        found = agreement_of(*(person(name, grades) for name, grades in zip("ab", two_people(30, seed + 100), strict=True)), SCALE).kappa
        covered += found.low <= whole <= found.high
    assert covered >= 34


def test_people_who_agree_on_everything_have_kappa_1_and_opposites_less_than_0() -> None:
    grades = two_people(10)[0]
    assert agreement_of(person("ann", grades), person("bob", grades), SCALE).kappa.value == pytest.approx(1)
    assert agreement_of(person("ann", grades), person("bob", 2 - grades), SCALE).kappa.value < 0


def test_a_few_questions_have_no_interval_and_the_display_says_so() -> None:
    found = agreement_of(*(person(name, grades) for name, grades in zip(("ann", "bob"), two_people(2), strict=True)), SCALE)
    assert np.isnan(found.kappa.low)
    assert "[no interval]" in repr(found)
    assert re.findall(r"<th[^>]*>([^<]*)</th>", found._repr_html_()) == ["query_id", "about", "ann", "bob"]


def test_spans_that_share_half_of_the_shorter_one_agree() -> None:
    first, second = [Span("d", 0, 10), Span("d", 20, 30)], [Span("d", 5, 40), Span("e", 0, 10)]
    only_first, only_second, agreed = compared_spans(first, second)
    assert (only_first, only_second, agreed) == ([], [Span("e", 0, 10)], 2)
    assert compared_spans([Span("d", 0, 10)], [Span("d", 6, 30)]) == ([Span("d", 0, 10)], [Span("d", 6, 30)], 0)


def test_agreement_counts_evidence_and_lists_every_disagreement(session, dataset, tmp_path) -> None:
    for name, grade, span, answer in (("ann", 2, Span("bread", 0, 13), "14 hours"), ("bob", 1, Span("bread", 14, 38), "all night")):
        one = session(name)
        one.go_to("q2")
        one.judge("bread", grade)
        one.judge("bees", 0)
        one.mark(span)
        one.mark(Span("bread", 8, 14))
        one.answer(answer)
    found = wb.label_agreement(dataset, tmp_path / "labels.jsonl")
    assert (found.same.value, found.kappa.n) == (0.5, 2)
    assert (found.spans_both, found.spans_first, found.spans_second) == (2, 0, 1)
    assert found.disagreements.values.tolist() == [
        ["q2", "answer", "14 hours", "all night"],
        ["q2", "document bread", "relevant", "partly relevant"],
        ["q2", "evidence bread:14-38", "not marked", "evidence"],
    ]
    assert repr(found).endswith("; 3 disagreements (1 about expected answers, 1 about documents, 1 about evidence)")
    turned = wb.label_agreement(dataset, tmp_path / "labels.jsonl", "bob", "ann")
    assert (turned.spans_both, turned.spans_first, turned.spans_second) == (1, 1, 0)
    assert turned.disagreements.values.tolist()[2] == ["q2", "evidence bread:14-38", "evidence", "not marked"]


def test_disagreements_about_questions_are_said_without_a_document_that_both_judged(session, dataset, tmp_path) -> None:
    for name, accepted, text in (("ann", True, "Which honey harms bees?"), ("bob", False, "What honey is bad?")):
        one = session(name)
        one.go_to("q3")
        one.rewrite(text)
        one.accept(accepted)
        one.set_answerable(True)
    assert repr(wb.label_agreement(dataset, tmp_path / "labels.jsonl")) == (
        "ann and bob both judged no document; evidence: 0 marked by both, 0 only by ann, 0 only by bob; "
        "2 disagreements (1 about accepting a draft, 1 about the words of a question)"
    )


def test_two_people_are_named_and_have_something_in_common(session, dataset, tmp_path) -> None:
    ann, bob = session("ann"), session("bob")
    ann.judge("bread", 2)
    path = tmp_path / "labels.jsonl"
    with pytest.raises(InputError, match=r"the labels are of 1 person \(ann\); name two of them"):
        wb.label_agreement(dataset, path)
    with pytest.raises(InputError, match=r"'bob' has labelled nothing; the labels are of ann"):
        wb.label_agreement(dataset, path, "ann", "bob")
    bob.judge("bees", 2)
    with pytest.raises(InputError, match="ann and bob have labelled nothing in common; let both label the same questions"):
        wb.label_agreement(dataset, path)
