"""Every metric of the registry, those of other packages included, keeps the laws of `workbench.testing`; recall keeps two more."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS
from workbench.testing import METRIC_LAWS
from workbench.testing.small_results import SmallWorld, small_world


@pytest.mark.parametrize("name", METRICS)
def test_it_keeps_the_laws(name: str) -> None:
    for law in METRIC_LAWS:
        law(METRICS[name])


def values(world: SmallWorld, names: list[str], spans: str = "exact") -> pd.DataFrame:
    table = evaluate(world.labels, world.retrieved, [Metric.parse(name) for name in names], spans)
    return table.pivot(index="query", columns="metric", values="value")[names].astype(float).dropna()


@pytest.mark.parametrize("spans", ["exact", "chroma"])
def test_delivering_a_text_twice_raises_no_recall(spans: str) -> None:
    # The same text in another slice fills a place and is paid for, but adds nothing.
    world, recalls = small_world(), ["span_recall@3", "need_recall@3", "hit_recall@3", "span_recall@20t"]
    longer = tuple((doc, start, end + 1) for doc, start, end in world.chunks)
    twice = tuple(tuple(c for row in q for c in (row, row + len(longer))) for q in world.hits)
    repeated = replace(world, chunks=world.chunks + longer, hits=twice)
    assert (values(repeated, recalls, spans) <= values(replace(world, chunks=longer), recalls, spans) + 1e-12).all(axis=None)


def test_more_documents_never_lower_them() -> None:
    for name in ("recall", "success", "mrr", "map", "hit_recall", "irrelevant"):
        assert (np.diff(values(small_world(), [f"{name}@{k}" for k in (1, 2, 3, 4)])) >= 0).all(), name
