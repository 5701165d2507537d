"""The key `targets` of an experiment: systems under test beside the configurations of a pipeline, or alone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.targets.index_target import IndexTarget
from workbench.errors import ExperimentError
from workbench.experiment.read import ExperimentSpec, experiment_of
from workbench.targets import registry

ONE = {"kind": "index", "name": "mine", "index": "main"}


@pytest.fixture
def read(handbook_part: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ExperimentSpec]:
    monkeypatch.setitem(registry._BUILTIN, "index", IndexTarget)

    def make(**settings: object) -> ExperimentSpec:
        return experiment_of({"name": "x", "dataset": {"kind": "golden", "path": str(handbook_part)}, **settings}, "x.yaml")

    return make


def test_an_experiment_of_targets_alone_has_no_other_configuration(read):
    assert [each.name for each in read(targets=[ONE]).configurations] == ["mine"]
    assert [each.name for each in read(targets=[ONE], pipeline={}).configurations] == ["fixed-256-0", "mine"]
    assert [each.name for each in read(targets=[]).configurations] == ["fixed-256-0"]


def test_a_target_that_answers_is_judged_by_the_default_judges(read):
    spec = read(targets=[{**ONE, "answering": True}])
    assert spec.judging is not None
    assert "support_overlap" in map(str, spec.metrics)
    assert read(targets=[ONE]).judging is None


def test_the_baseline_can_be_a_target(read):
    assert read(targets=[ONE], pipeline={}, baseline="mine").baseline == "mine"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"targets": "mine"}, "targets is 'mine', not a list of targets; write for example targets: [{kind: http, name: my-service, …}]"),
        ({"targets": [{"kind": "htpp", "name": "mine"}]}, "targets.0 has no kind 'htpp' (did you mean 'http'?); kinds are"),
        ({"targets": [{"kind": "index", "index": "main"}]}, "targets.0 'index' needs 'name'"),
        ({"targets": [{**ONE, "name": "My Service"}]}, "targets.0 'index' name is 'My Service'"),
        ({"targets": [{**ONE, "kk": 5}]}, "targets.0 'index' has no parameter 'kk' (did you mean 'k'?)"),
        ({"targets": [ONE, ONE]}, "the name 'mine' is that of two configurations; give the target another name"),
        ({"targets": [{**ONE, "name": "fixed-256-0"}], "pipeline": {}}, "the name 'fixed-256-0' is that of two configurations"),
        ({"targets": [ONE], "metrics": ["recall@20"]}, "metric recall@20 reads 20 hits, and the target mine is asked for 10; raise its k"),
        ({"targets": [ONE], "metrics": ["faithfulness"]}, "metric faithfulness is of answers, and nothing is answered; add answering"),
    ],
)
def test_a_fault_of_a_target_is_named_with_its_place(read, settings, fault):
    with pytest.raises(ExperimentError, match=re.escape(fault)):
        read(**settings)
