"""The record of a metric in a manifest, also that of an earlier version."""

import pytest
from pydantic import ValidationError

from workbench.metrics.measure import Measure
from workbench.metrics.names import Metric
from workbench.metrics.registry import METRICS

ADDED = {"reads", "compares", "labels_read"}


def metric(name: str) -> Metric:
    return Metric(name, k=None if METRICS[name].cut == "none" else 3)


@pytest.mark.parametrize("name", METRICS.builtin)
def test_a_record_is_read_back_also_without_what_earlier_versions_did_not_record(name: str) -> None:
    measure = Measure.of(metric(name))
    recorded = measure.model_dump(mode="json")
    assert str(measure) == str(metric(name))
    assert Measure.model_validate(recorded) == measure
    assert Measure.model_validate({key: value for key, value in recorded.items() if key not in ADDED}) == measure
    assert (measure.of_answers, measure.judged) == (METRICS[name].of_answers, METRICS[name].judged)


@pytest.mark.parametrize(("family", "of_answers"), [("documents", False), ("answers", True)])
def test_a_record_of_a_package_that_is_not_installed_is_read_by_its_family(family: str, of_answers: bool) -> None:
    recorded = Measure.of(metric("recall")).model_dump(mode="json") | {"name": "theirs", "family": family}
    measure = Measure.model_validate({key: value for key, value in recorded.items() if key not in ADDED})
    assert (measure.of_answers, measure.judged, measure.compares, measure.labels_read) == (of_answers, False, "", "")


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": "3"}, {"reads": ["pages"]}, {"of": 1}, {"name": 3}])
def test_a_record_with_another_value_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Measure.model_validate(Measure.of(metric("recall")).model_dump(mode="json") | wrong)
