"""Ranked chunks to one metric's value for each query."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.metrics.case import Case
from workbench.metrics.evaluate import document_depths, score
from workbench.metrics.inputs import Retrieved
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Node, Stage
from workbench.retrieval.rank import Floats
from workbench.storage.result_store import Draft, Entry


class ScoresStage(Stage):
    """A result for each metric: table `scores` (query, metric, value, state, reason, attainable) by the search that was asked for.

    Values `change`: what Chroma's answer changes in the metric's mean, None where both ways to search are not there.
    """

    name = "scores"
    version = 3
    inputs = ("labels", "chunks", "hits")

    def parts(self, run: RunContext) -> Sequence[str]:
        """The metrics by name."""
        return tuple(str(metric) for metric in run.metrics)

    def demands(self, node: Node, run: RunContext) -> Any:
        """The metric's version, and the definition of span metrics."""
        return {"version": Metric.parse(node.part).kind.version, "spans": run.spans}

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Score the ranking, and both where an approximate one stands beside the exact one."""
        metric, hits = Metric.parse(inputs.node.part), inputs.entry("hits")
        wanted, names = inputs.configuration.retrieval.evaluated, hits.values("searches")["names"]
        tables = {search: score(_case(inputs, search), metric) for search in dict.fromkeys([wanted, *names])}
        draft.table("scores", tables[wanted])
        both = {"exact", "ann"} <= tables.keys()
        draft.values("change", _change(tables["exact"], tables["ann"]) if both else None)


def retrieved(chunks: Entry, hits: Entry, search: str) -> Retrieved:
    """What metrics read, by the search named; a query's spread is that of all its scores, which an exact search sees."""
    names = hits.values("searches")["names"]
    spread: Floats = hits.table(f"{'exact' if 'exact' in names else search}_about")["spread"].to_numpy(np.float64)
    return Retrieved(chunks.table("chunks"), hits.table(f"{search}_hits"), hits.table(f"{search}_ranking"), spread)


def _case(inputs: Inputs, search: str) -> Case:
    """The results beside the labels: the metrics of one configuration share it, so that what they have in common is computed once."""
    return _shared_case(_CaseKey(inputs.entry("chunks"), inputs.entry("hits"), search, inputs.run))


class _CaseKey:
    """Equal for the same results and labels, whatever holds them."""

    def __init__(self, chunks: Entry, hits: Entry, search: str, run: RunContext) -> None:
        self.chunks, self.hits, self.search, self.run = chunks, hits, search, run
        self._identity = (hits.folder, search, run.fingerprints["labels"], run.spans, run.metrics)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CaseKey) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@lru_cache(maxsize=2)
def _shared_case(key: _CaseKey) -> Case:
    return Case(key.run.labels, retrieved(key.chunks, key.hits, key.search), key.run.spans, document_depths(key.run.metrics))


def _change(exactly: pd.DataFrame, nearly: pd.DataFrame) -> float | None:
    means = [scores.loc[scores["state"] == "scored", "value"].mean() for scores in (exactly, nearly)]
    return None if np.isnan(means).any() else float(means[1] - means[0])
