"""The attribution of reports against what was planted."""

import pytest

from workbench.attribution.causes import CAUSE_NAMES, EVIDENCE_CAUSES
from workbench.faultbench.attribution import evidence_cause
from workbench.faultbench.cases import NONE
from workbench.faultbench.confusion import confusion

BEFORE_THE_ANSWER = [cause.name for cause in EVIDENCE_CAUSES]


@pytest.fixture(scope="module")
def table(cases):
    return confusion([case for case in cases if len(case.broken) < 2], evidence_cause)


@pytest.mark.parametrize("cause", BEFORE_THE_ANSWER)
def test_a_planted_fault_is_attributed_to_its_cause(table, cause):
    assert table.loc[cause, cause] >= 0.95 * table.loc[cause].sum() > 0


def test_where_all_evidence_is_in_the_context_no_cause_of_missing_it_is_named(table):
    after = [name for name in (*CAUSE_NAMES, NONE) if name not in BEFORE_THE_ANSWER]
    assert (table.loc[after, NONE] == table.loc[after].sum(axis=1)).all()


def test_of_two_faults_the_earlier_layer_is_named(cases):
    doubles = [case for case in cases if len(case.broken) == 2 and case.cause in BEFORE_THE_ANSWER]
    right = sum(evidence_cause(case.observation) == case.cause for case in doubles)
    assert right >= 0.95 * len(doubles) > 0
