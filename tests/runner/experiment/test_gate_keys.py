"""The key `gate` of an experiment."""

from pathlib import Path

import pytest
import yaml

from workbench.core.errors import ExperimentError, InputError
from workbench.gate.rules import Floor, GateSettings, RetrievalTest, Subject, Tolerance
from workbench.runner.experiment.gate_keys import gate_of, share_in
from workbench.runner.experiment.read import experiment_of

WHOLE = """
configuration: fixed-256-0
rules:
  - recall@5 >= 0.7
  - "recall@5[type=multi-hop] >= 0.6"
  - irrelevant@3 <= 0.05
  - {rule: faithfulness >= 0.85, kind: inference}
compare: [span_recall@2000t, "recall@5[type=table]"]
baseline: baselines/quickstart.json
release: baselines/release.json
tolerance: 0.03
floors: specification
max_unscored: 1%
retrieval_tests: [{k: 5}, {k: 5, slice: type=factoid}, {query: q7, document: travel, k: 3}, {query: q9, document: old, k: 5, absent: true}]
stale: experiments/handbook/earlier
"""


def read(text: str) -> GateSettings:
    return gate_of({"gate": yaml.safe_load(text)}, "here")


def test_every_key_is_read():
    assert read(WHOLE) == GateSettings(
        configuration="fixed-256-0",
        floors=(
            Floor(Subject("recall@5"), ">=", 0.7),
            Floor(Subject("recall@5", "type=multi-hop"), ">=", 0.6),
            Floor(Subject("irrelevant@3"), "<=", 0.05),
            Floor(Subject("faithfulness"), ">=", 0.85, "inference"),
        ),
        floor_kind="specification",
        compare=(Subject("span_recall@2000t"), Subject("recall@5", "type=table")),
        baseline=Path("baselines/quickstart.json"),
        release=Path("baselines/release.json"),
        tolerance=Tolerance(0.03, relative=False),
        max_unscored=0.01,
        retrieval_tests=(
            RetrievalTest(5),
            RetrievalTest(5, slice="type=factoid"),
            RetrievalTest(3, "q7", "travel"),
            RetrievalTest(5, "q9", "old", absent=True),
        ),
        stale=Path("experiments/handbook/earlier"),
    )


def test_without_the_key_nothing_is_checked():
    assert gate_of({}, "here") == GateSettings()
    assert read("{}") == GateSettings()


def test_a_fault_is_a_line_that_names_its_key(wording):
    wording(
        read,
        [
            "recall@5 >= 0.7",
            "{rule: [recall@5 >= 0.7]}",
            "{rules: recall@5 >= 0.7}",
            "{rules: [5]}",
            "{rules: [recall@5 > 0.7]}",
            "{rules: [{rule: recall@5 >= 0.7, kind: guess}]}",
            "{rules: [{kind: inference}]}",
            "{compare: [accuracy]}",
            "{tolerance: 500%}",
            "{tolerance: [5]}",
            "{max_unscored: 1}",
            "{floors: guess}",
            "{retrieval_tests: [{query: q7}]}",
            "{retrieval_tests: [{k: 0}]}",
            "{baseline: ''}",
        ],
    )


def test_all_faults_are_reported_at_once():
    with pytest.raises(InputError) as error:
        read("{rules: [recall@5 > 0.7, recal@5 >= 0.7], tolerance: 0}")
    assert str(error.value).count("gate: ") == 3


def test_a_share_is_below_one():
    assert share_in("2%") == share_in("0.02") == 0.02
    assert share_in("0") == 0


def test_the_faults_of_an_experiment_include_those_of_its_gate(made):
    with pytest.raises(ExperimentError, match="gate: there is no metric 'recal@5'"):
        experiment_of(made.experiment(1) | {"gate": {"rules": ["recal@5 >= 0.7"]}}, "here")


def test_the_key_changes_no_result(made):
    plain, gated = made.ran(1), made.ran(1, gate={"rules": ["recall@3 >= 0.5"], "baseline": "nowhere.json"})
    keys = [{part: entry.folder for part, entry in outcome.results[0].entries["scores"].items()} for outcome in (plain, gated)]
    assert keys[0] == keys[1]
    assert not any(entry.computed for entry in gated.results[0].entries["scores"].values())
