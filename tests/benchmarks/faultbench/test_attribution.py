"""The attribution of reports against what was planted, and the confusion matrix of any."""

from collections import Counter

import pytest

from benchmarks.faultbench.attribution import confusion, evidence_cause
from benchmarks.faultbench.cases import NONE
from workbench.core.errors import RunError
from workbench.measures.attribution.causes import EVIDENCE_CAUSES, OWN_CAUSES
from workbench.measures.attribution.causes import OWN_CAUSES as CAUSES

pytestmark = pytest.mark.slow

BEFORE_THE_ANSWER = [cause.name for cause in EVIDENCE_CAUSES if cause.name in OWN_CAUSES]


@pytest.fixture(scope="module")
def table(cases):
    return confusion([case for case in cases if len(case.broken) < 2], evidence_cause)


@pytest.mark.parametrize("cause", BEFORE_THE_ANSWER)
def test_a_planted_fault_is_attributed_to_its_cause(table, cause):
    assert table.loc[cause, cause] >= 0.95 * table.loc[cause].sum() > 0


def test_where_all_evidence_or_the_expected_answer_is_in_the_context_no_cause_of_missing_it_is_named(table):
    after = [name for name in (*OWN_CAUSES, NONE) if name not in BEFORE_THE_ANSWER]
    # The bench finds one expected answer of an article and a word, "the chair", which shows nothing to the attribution.
    assert (table.loc[after].sum(axis=1) - table.loc[after, NONE]).sum() <= 1


def test_of_two_faults_the_earlier_layer_is_named(cases):
    doubles = [case for case in cases if len(case.broken) == 2 and case.cause in BEFORE_THE_ANSWER]
    right = sum(evidence_cause(case.observation) == case.cause for case in doubles)
    assert right >= 0.95 * len(doubles) > 0


def test_rows_sum_to_the_cases_of_each_cause(cases):
    table = confusion(cases, lambda seen: CAUSES[len(seen.answer) % len(CAUSES)])
    assert table.sum(axis="columns").to_dict() == {**dict.fromkeys((*CAUSES, NONE), 0), **Counter(case.cause for case in cases)}


def test_a_right_attribution_fills_the_diagonal(cases, attribution):
    table = confusion(cases, attribution)
    assert all(table.loc[cause, cause] == table.loc[cause].sum() for cause in table.index)


def test_all_causes_are_listed_in_order_even_without_cases():
    table = confusion((), lambda _: "rank")
    assert list(table.index) == [*CAUSES, NONE]
    assert list(table.columns) == [*CAUSES, NONE, "failed"]
    assert table.to_numpy().sum() == 0


def test_errors_and_unknown_names_are_counted_not_dropped(cases):
    def attribute(seen):
        if seen.refused:
            raise RunError("no idea")
        return "gremlins"

    table = confusion(cases, attribute)
    assert table["failed"].sum() == len(cases) == table.to_numpy().sum()


def test_a_bug_of_an_attribution_comes_through(cases):
    with pytest.raises(ZeroDivisionError):
        confusion(cases, lambda _: 1 // 0)
