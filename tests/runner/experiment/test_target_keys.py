"""The key `targets` of an experiment: systems under test beside the configurations of a pipeline, or alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.systems.index_target import IndexTarget
from workbench.components.registry import JUDGES
from workbench.core.errors import ExperimentError
from workbench.data.sources import SOURCES
from workbench.runner.experiment.expand import STAGES
from workbench.runner.experiment.read import ExperimentSpec, experiment_of
from workbench.systems import registry
from workbench.systems.registry import TARGETS

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


def test_no_field_of_a_component_leaves_its_pattern_to_pydantic() -> None:
    kinds = [kind for table in (*STAGES.values(), TARGETS, SOURCES, JUDGES) for kind in table.values()]
    texts = {f"{kind.__name__}.{name}": str(field) for kind in kinds for name, field in kind.model_fields.items()}
    assert len(texts) > 100
    assert [name for name, text in texts.items() if "pattern=" in text] == []


def test_a_fault_of_a_target_is_named_with_its_place(read, wording):
    wording(
        lambda settings: read(**settings),
        [
            {"targets": "mine"},
            {"targets": [{"kind": "htpp", "name": "mine"}]},
            {"targets": [{"kind": "index", "index": "main"}]},
            {"targets": [{**ONE, "name": "My Service"}]},
            {"targets": [{**ONE, "name": "x" * 83}]},
            {"targets": [{"kind": "callable", "name": "mine", "function": "my module"}]},
            {"targets": [{"kind": "mcp", "name": "mine", "search": {"tool": ""}, "env": ["MY KEY"]}]},
            {"targets": [{**ONE, "kk": 5}]},
            {"targets": [ONE, ONE]},
            {"targets": [{**ONE, "name": "fixed-256-0"}], "pipeline": {}},
            {"targets": [ONE], "metrics": ["recall@20"]},
            {"targets": [ONE], "metrics": ["faithfulness"]},
        ],
        ExperimentError,
    )
