import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import mean

import pytest
from sklearn.metrics import roc_auc_score

from workbench.components.judging.self_test import (
    CaseResult,
    FaithfulnessCase,
    KnownCase,
    SelfTest,
    faithfulness_cases,
    relevance_cases,
    self_test,
)
from workbench.core.errors import InputError, RunError

BOTH = [relevance_cases(), faithfulness_cases()]
FAITHFUL = {"verbatim", "paraphrase", "partial", "conversion"}
EDITS = {"number", "negation", "entity", "direction", "unit", "quantifier"}
FITTING = {"direct", "paraphrase", "table", "buried"}
COMMON = set(
    re.findall(
        r"\w+",
        """a about above after all am an and any are as at be been before by can did do does for from has have he her his how i if in into is it
        its me more most much must my no not of off on only or our should some than that the their them then there these they this to under
        up was were what when where which who why will with you your""",
    )
)
TWINS = {case.case_id: case for case in faithfulness_cases()}
PAIRS = [(TWINS[case.pair], case) for case in faithfulness_cases() if case.pair]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def content(text: str) -> set[str]:
    """The words that carry meaning, without the commonest endings."""
    return {re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in words(text)} - COMMON


def overlap(case: FaithfulnessCase) -> float:
    return len(content(case.answer) & content(case.context)) / len(content(case.answer))


def every_word(case: FaithfulnessCase) -> float:
    return mean(word in words(case.context) for word in words(case.answer))


def approved(case: KnownCase) -> bool:
    return case.min_score is not None


def oracle(case: KnownCase) -> float:
    return 1.0 if approved(case) else 0.0


def states(test: SelfTest) -> tuple[int, int, int]:
    return test.passed, test.failed, test.unscored


def lengths(cases: Iterable[FaithfulnessCase]) -> float:
    return mean(len(words(case.answer)) for case in cases)


# The data's own laws.
def test_there_are_enough_cases_and_half_of_each_file_should_pass() -> None:
    assert [len(cases) for cases in BOTH] == [64, 96]
    assert [sum(approved(case) for case in cases) for cases in BOTH] == [32, 48]


@pytest.mark.parametrize(("cases", "low", "high"), [(BOTH[0], 0.8, 0.2), (BOTH[1], 0.9, 0.3)], ids=["relevance", "faithfulness"])
def test_every_case_has_one_bound_and_its_own_id(cases: tuple[KnownCase, ...], low: float, high: float) -> None:
    assert {(case.min_score, case.max_score) for case in cases} == {(low, None), (None, high)}
    assert [case.case_id for case in cases] == [f"{cases[0].case_id[:3]}-{number:03}" for number in range(1, len(cases) + 1)]


def test_every_kind_has_some_cases_and_one_class() -> None:
    for cases, good, others in [
        (BOTH[0], FITTING, {"unrelated", "shared_words", "sibling"}),
        (BOTH[1], FAITHFUL, {*EDITS, "unsupported", "off_topic"}),
    ]:
        kinds = Counter((case.kind, approved(case)) for case in cases)
        assert set(kinds) == {(kind, True) for kind in good} | {(kind, False) for kind in others}
        assert min(kinds.values()) >= 5


def test_no_case_is_there_twice() -> None:
    assert len({(case.query, case.context) for case in relevance_cases()}) == len(relevance_cases())
    assert len({(case.answer, case.context) for case in faithfulness_cases()}) == len(faithfulness_cases())


def test_contexts_are_as_long_as_what_is_retrieved() -> None:
    contexts = {case.case_id: case.context for cases in BOTH for case in cases}
    assert {name: context for name, context in contexts.items() if not 30 <= len(words(context)) <= 150} == {}
    assert {name: context for name, context in contexts.items() if context != context.strip() or "merrowby" in context.lower()} == {}


def test_every_query_has_a_fitting_and_an_off_topic_passage() -> None:
    assert set(Counter((case.query, approved(case)) for case in relevance_cases()).values()) == {1}
    assert len({case.query for case in relevance_cases()}) == 32


def test_the_words_shared_with_the_query_tell_little() -> None:
    shared = {case.case_id: len(content(case.query) & content(case.context)) / len(content(case.query)) for case in relevance_cases()}
    by_kind = {
        kind: [shared[case.case_id] for case in relevance_cases() if case.kind == kind]
        for kind in ("paraphrase", "shared_words", "unrelated")
    }
    assert max(by_kind["paraphrase"]) == 0
    assert min(by_kind["shared_words"]) >= 0.5
    assert max(by_kind["unrelated"]) <= 0.25


def test_the_length_of_a_passage_tells_nothing() -> None:
    test = self_test(lambda case: len(case.context) / 2000, relevance_cases())
    assert test.auroc == pytest.approx(0.5, abs=0.1)


def test_a_verbatim_answer_stands_in_its_context() -> None:
    for case in faithfulness_cases():
        stands = case.answer.removesuffix(".").lower() in case.context.lower()
        assert stands == (case.kind == "verbatim"), case.case_id


def test_minimal_edits_are_one_to_three_words_from_a_faithful_twin() -> None:
    assert {case.case_id for _, case in PAIRS} == {case.case_id for case in faithfulness_cases() if case.kind in EDITS}
    assert len({twin.case_id for twin, _ in PAIRS}) == len(PAIRS) == 36
    for twin, case in PAIRS:
        assert approved(twin)
        assert twin.context == case.context
        ours, theirs = twin.answer.rstrip(".").split(), case.answer.rstrip(".").split()
        parts = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
        assert 1 <= sum(max(b - a, d - c) for tag, a, b, c, d in parts if tag != "equal") <= 3, case.case_id


def test_a_not_tells_nothing() -> None:
    edits = [("not" in words(twin.answer), "not" in words(case.answer)) for twin, case in PAIRS if case.kind == "negation"]
    assert Counter(edits) == {(True, False): 3, (False, True): 3}


def test_the_length_of_an_answer_tells_nothing() -> None:
    good, bad = ([case for case in faithfulness_cases() if approved(case) is side] for side in (True, False))
    assert lengths(good) == pytest.approx(lengths(bad), abs=0.5)
    assert all(4 <= len(words(case.answer)) <= 18 for case in faithfulness_cases())
    assert self_test(lambda case: len(case.answer) / 200, faithfulness_cases()).auroc == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("measure", [overlap, every_word])
def test_minimal_edits_share_as_many_words_with_the_context_as_their_twins(measure) -> None:
    assert mean(measure(case) for _, case in PAIRS) == pytest.approx(mean(measure(twin) for twin, _ in PAIRS), abs=0.05)


# What the self-test makes of scorers.
@pytest.mark.parametrize("cases", BOTH, ids=["relevance", "faithfulness"])
def test_a_perfect_judge_is_a_judge(cases: tuple[KnownCase, ...]) -> None:
    test = self_test(oracle, cases)
    assert states(test) == (len(cases), 0, 0)
    assert (test.auroc, test.always_yes, test.verdict) == (1, 0.5, "judge")
    assert [(row.case_id, row.kind) for row in test.rows] == [(case.case_id, case.kind) for case in cases]


@pytest.mark.parametrize("cases", BOTH, ids=["relevance", "faithfulness"])
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_a_constant_scorer_is_not_a_judge_and_the_verdict_says_why(cases: tuple[KnownCase, ...], constant: float) -> None:
    test = self_test(lambda _: constant, cases)
    assert states(test) == (len(cases) // 2, len(cases) // 2, 0)
    assert (test.auroc, test.always_yes) == (0.5, 1)
    assert test.verdict.startswith("not a judge: AUROC 0.50 is below 0.65; 100% of its answers are the same")


@pytest.mark.parametrize("measure", [overlap, every_word])
def test_a_scorer_of_word_overlap_is_near_chance_on_minimal_edits_and_not_a_judge(measure) -> None:
    assert self_test(measure, [case for pair in PAIRS for case in pair]).auroc == pytest.approx(0.5, abs=0.1)
    assert self_test(measure, faithfulness_cases()).verdict.startswith("not a judge: ")


def test_the_kinds_that_a_judge_is_blind_to_are_named() -> None:
    test = self_test(lambda case: 1.0 if case.kind == "negation" else oracle(case), faithfulness_cases())
    assert test.auroc > 0.9
    assert (test.verdict, test.weak_kinds) == ("judge", ("negation",))


def test_some_slips_are_counted_and_forgiven() -> None:
    test = self_test(lambda case: 1.0 if case.case_id in {"fai-002", "fai-004"} else oracle(case), faithfulness_cases())
    assert (states(test), test.verdict) == ((94, 2, 0), "judge")
    assert [row.case_id for row in test.rows if row.state == "failed"] == ["fai-002", "fai-004"]


def test_the_bounds_are_those_of_the_requirement() -> None:
    cases = {case.case_id: case for cases in BOTH for case in cases}
    bounds = [
        *[("rel-001", 0.8, "passed"), ("rel-001", 0.79, "failed"), ("rel-002", 0.2, "passed"), ("rel-002", 0.21, "failed")],
        *[("fai-001", 0.9, "passed"), ("fai-001", 0.89, "failed"), ("fai-002", 0.29, "passed"), ("fai-002", 0.3, "failed")],
    ]
    rows = [row for case_id, score, _ in bounds for row in self_test(lambda _, score=score: score, [cases[case_id]]).rows]
    assert [(row.case_id, row.score, row.state) for row in rows] == bounds


def test_what_cannot_be_scored_is_counted_and_left_out() -> None:
    def patchy(case: KnownCase) -> float | None:
        if case.case_id == "fai-001":
            raise RunError("the server is gone", "start it")
        return None if case.case_id == "fai-002" else oracle(case)

    test = self_test(patchy, faithfulness_cases())
    assert states(test) == (94, 0, 2)
    assert [(row.score, row.state, row.why) for row in test.rows[:2]] == [
        (None, "unscored", "the server is gone; start it"),
        (None, "unscored", "the judge gave no score"),
    ]
    assert (test.auroc, test.always_yes, test.verdict) == (1, 0.5, "judge")


def test_other_errors_are_not_caught() -> None:
    with pytest.raises(ZeroDivisionError):
        self_test(lambda _: 1 / 0, faithfulness_cases())


def test_a_score_outside_its_range_is_an_error_of_one_line(wording) -> None:
    wording(lambda score: self_test(lambda _: score, relevance_cases()), [math.nan, math.inf, -0.01, 1.01, 5])


def row(score: float | None, approves: bool, kind: str = "") -> CaseResult:
    """A case scored, bound at 0.8 and 0.2."""
    met = score is not None and (score >= 0.8 if approves else score <= 0.2)
    return CaseResult(
        "some-001", kind or ("good" if approves else "bad"), approves, score, "unscored" if score is None else "passed" if met else "failed"
    )


def told(good: Sequence[float | None], bad: Sequence[float | None]) -> SelfTest:
    return SelfTest((*[row(score, True) for score in good], *[row(score, False) for score in bad]))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ([0.9, 0.4, 0.4], [0.4, 0.1]),
        ([0.2, 0.3], [0.9, 0.8]),
        ([0.5], [0.5]),
        ([0.25, 0.75, 0.5, 1.0], [0.5, 0.25, 0.0, 0.75, 0.75]),
    ],
)
def test_auroc_is_that_of_sklearn(good: list[float], bad: list[float]) -> None:
    labels = [True] * len(good) + [False] * len(bad)
    assert told(good, bad).auroc == pytest.approx(roc_auc_score(labels, good + bad), abs=1e-12)
    assert told([*good, None], [None, *bad]).auroc == told(good, bad).auroc


def test_auroc_needs_both_classes(wording) -> None:
    wording(lambda scores: told(*scores).auroc, [([1.0], [None]), ([None], [0.0]), ([1.0], []), ([], [])])


def test_always_yes_is_the_share_of_the_commoner_answer() -> None:
    assert told([1.0, 0.5, 0.7], [0.49]).always_yes == 0.75
    assert told([0.1, 0.2, None], [0.3]).always_yes == 1
    with pytest.raises(InputError, match="no case was scored"):
        _ = told([None], [None]).always_yes


def test_kinds_are_reported_separately() -> None:
    test = SelfTest((row(0.9, True, "first"), row(0.7, True, "first"), row(None, False, "second"), row(0.1, False, "third")))
    assert (test.passed, test.failed, test.unscored) == (2, 1, 1)
    assert list(test.by_kind.columns) == ["kind", "approves", "passed", "failed", "unscored", "mean"]
    first, second, third = test.by_kind.to_numpy().tolist()
    assert first == ["first", True, 1, 1, 0, pytest.approx(0.8)]
    assert second[:5] == ["second", False, 0, 0, 1]
    assert math.isnan(second[5])
    assert third == ["third", False, 1, 0, 0, 0.1]


def test_the_name_of_judge_is_earned() -> None:
    cases = [
        ([1.0] * 10, [0.0] * 10, "judge"),
        ([1.0] * 9 + [None], [0.0] * 9 + [None], "judge"),
        ([1.0] * 9 + [None], [0.0] * 8 + [None] * 2, "not a judge: only 17 of 20 cases were scored"),
        ([1.0] * 10, [None] * 10, "not a judge: only 10 of 20 cases were scored"),
        ([None], [None], "not a judge: only 0 of 2 cases were scored"),
        ([], [], "not a judge: only 0 of 0 cases were scored"),
        ([1.0] * 10, [0.0] * 5 + [1.0] * 5, "judge"),
        ([1.0] * 10, [0.0] * 4 + [1.0] * 6, "judge"),
        ([1.0] * 10, [0.0], "not a judge: 91% of its answers are the same"),
        ([0.0] * 4 + [1.0] * 4, [0.0] * 4 + [1.0] * 4, "not a judge: AUROC 0.50 is below 0.65"),
    ]
    assert [(good, bad, told(good, bad).verdict) for good, bad, _ in cases] == cases
