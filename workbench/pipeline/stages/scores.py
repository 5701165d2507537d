"""Score ranked chunks by one metric for each query."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from workbench.metrics.case import Case
from workbench.metrics.evaluate import document_depths, score
from workbench.metrics.inputs import Retrieved
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.pipeline.stages.reranked import final_hits
from workbench.pipeline.target_tables import without_unscored
from workbench.retrieval.rank import Floats
from workbench.storage.result_store import ResultWriter, StoredResult


class ScoresStage(Stage):
    """A result for each metric: table `scores` (query, metric, value, state, reason, attainable) of the evaluated search.

    Value `change`: the approximate search's mean minus the exact one's, or None unless both ran.
    """

    name = "scores"
    version = 4
    inputs = ("labels", "chunks", "hits", "reranked", "neighbours", "responses")

    def parts(self, run: RunContext) -> Sequence[str]:
        """Return the names of the metrics."""
        return tuple(str(metric) for metric in run.metrics)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the metric's version and the definition of span metrics."""
        return Identity(run={"version": Metric.parse(node.part).kind.version, "spans": run.spans})

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Score the ranking of every search."""
        metric, chunks, hits = Metric.parse(inputs.node.part), inputs.entry("chunks"), final_hits(inputs.entries)
        searches = hits.values("searches")["names"]
        tables = {search: score(_case(inputs.run, inputs.configuration, chunks, hits, search), metric) for search in searches}
        writer.table("scores", _scored(tables[inputs.configuration.evaluated], metric, inputs))
        writer.values("change", _change(tables["exact"], tables["ann"]) if {"exact", "ann"} <= tables.keys() else None)


def _scored(scores: pd.DataFrame, metric: Metric, inputs: Inputs) -> pd.DataFrame:
    """Return the scores of a configuration, for a target without those of questions of which it did not return enough to score."""
    return without_unscored(scores, metric.family, inputs.entry("responses")) if "responses" in inputs.entries else scores


def retrieved(configuration: Configuration, chunks: StoredResult, hits: StoredResult, search: str = "") -> Retrieved:
    """Return the results of a search, by default the evaluated one, as metrics read them.

    The spread is taken over all scores, which only an exact search sees.
    """
    search = search or configuration.evaluated
    names = hits.values("searches")["names"]
    spread: Floats = hits.table(f"{'exact' if 'exact' in names else search}_about")["spread"].to_numpy(np.float64)
    tables = chunks.table("chunks"), hits.table(f"{search}_hits"), hits.table(f"{search}_ranking")
    return Retrieved(*tables, spread, whole_index="chunks" not in configuration.provided)


@lru_cache(maxsize=2)
def _case(run: RunContext, configuration: Configuration, chunks: StoredResult, hits: StoredResult, search: str) -> Case:
    """Return results and labels as metrics read them, cached so that intermediate tables are computed once for all metrics."""
    return Case(run.labels, retrieved(configuration, chunks, hits, search), run.spans, document_depths(run.metrics))


def _change(exact: pd.DataFrame, approximate: pd.DataFrame) -> float | None:
    means = [scores.loc[scores["state"] == "scored", "value"].mean() for scores in (exact, approximate)]
    return None if np.isnan(means).any() else float(means[1] - means[0])
