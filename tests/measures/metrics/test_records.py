"""The record of a metric in the manifest of a run, also of an earlier version, or of a package that is not installed."""

from dataclasses import fields

import pytest
from pydantic import ValidationError

from workbench.core.errors import RunError
from workbench.measures.metrics.case import NO_CUT, Case
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS
from workbench.report.results.run_manifest import _MetricForm
from workbench.testing.small_results import small_world

ADDED = {"reads", "compares", "labels_read"}
# What no reader of a run needs.
COMPUTED = {"compute", "cut", "requires", "formula", "version", "reads_index", "usual", "aliases", "tasks", "thresholds"}


def metric(name: str) -> Metric:
    return Metric(name, k=None if METRICS[name].cut == "none" else 3)


def without_added(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if key not in ADDED}


@pytest.mark.parametrize("name", METRICS.builtin)
def test_a_record_is_read_back_also_without_what_earlier_versions_did_not_record(name: str) -> None:
    recorded = metric(name).record
    _MetricForm.model_validate(recorded)
    for record in (recorded, without_added(recorded)):
        read = Metric.of_record(record)
        assert (read, str(read), read.record) == (metric(name), str(metric(name)), recorded)
        for field in {field.name for field in fields(METRICS[name])} - COMPUTED:
            assert getattr(read.definition, field) == getattr(METRICS[name], field), field


@pytest.mark.parametrize(("family", "of_answers"), [("documents", False), ("answers", True)])
def test_a_record_of_a_package_that_is_not_installed_is_read_by_its_family(family: str, of_answers: bool) -> None:
    record = without_added(metric("recall").record) | {"name": "theirs", "family": family, "definition": "as it was"}
    read = Metric.of_record(record)
    assert (str(read), read.of_answers, read.judged, read.compares, read.definition.definition) == (
        "theirs@3",
        of_answers,
        False,
        "",
        "as it was",
    )
    world = small_world()
    with pytest.raises(RunError, match="its package is not installed"):
        read.definition.compute(Case(world.labels, world.retrieved), NO_CUT)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": "3"}, {"reads": ["pages"]}, {"of": 1}, {"name": 3}])
def test_a_record_with_another_value_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _MetricForm.model_validate(metric("recall").record | wrong)
