from collections.abc import Callable

import pytest

from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric


@pytest.fixture(scope="session")
def values() -> Callable[..., list[float]]:
    """A metric's values, a query each; NaN where it has none."""

    def of(labels: Labels, retrieved: Retrieved, metric: str, spans: str = "exact", column: str = "value") -> list:
        return evaluate(labels, retrieved, [Metric.parse(metric)], spans)[column].tolist()

    return of
