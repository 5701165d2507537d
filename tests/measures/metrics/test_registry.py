"""Every metric of the package is registered, defined in words, and named by a test."""

import importlib
import pkgutil
from pathlib import Path

import pytest

from workbench.measures import metrics
from workbench.measures.metrics.definition import MetricDefinition
from workbench.measures.metrics.registry import METRICS


def test_every_definition_in_a_module_of_metrics_is_registered() -> None:
    modules = [importlib.import_module(f"{metrics.__name__}.{module.name}") for module in pkgutil.iter_modules(metrics.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, MetricDefinition)]
    assert len({part.name for part in parts}) >= len(METRICS.builtin)
    forgotten = {part.name for part in parts if part.name not in METRICS}
    assert not forgotten, f"add to workbench/measures/metrics/registry.py: {', '.join(sorted(forgotten))}"


@pytest.mark.parametrize("name", METRICS.builtin)
def test_a_metric_has_a_definition_and_a_test(name: str) -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[2].rglob("test_*.py"))
    assert METRICS[name].definition != MetricDefinition.definition, f"give {name} a definition"
    assert name in tests, f"no test names {name}: write one in tests/measures/metrics/"
