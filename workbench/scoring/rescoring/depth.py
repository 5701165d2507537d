"""Depth of the stored rankings of a configuration, so that no value is computed from a truncated one."""

from dataclasses import dataclass

import numpy as np

from workbench.core.formatting import count, plural
from workbench.metrics.case import Case
from workbench.metrics.coverage import Bools, Ints
from workbench.metrics.delivery import ordered, slices
from workbench.metrics.names import Metric
from workbench.pipeline.stages.hits import metric_depth
from workbench.results.run_tables import RunTables

# The documents that these retrievers list for every question, if they find as many (`pipeline.stages.hits`).
_LISTED, _LIST_ALL = 100, ("dense", "bm25")
# A fused ranking ends with the pools that were fused, whichever metrics are computed.
_FUSED = ("hybrid",)


@dataclass(frozen=True)
class StoredDepth:
    """The depth that the run searched to: distinct `slices`, `tokens` and `documents` for every question. A shorter ranking is a whole one.

    `fused` rankings are always whole. `corpus` is the number of documents that could be found.
    """

    slices: int
    tokens: int
    documents: int
    corpus: int
    fused: bool = False

    @classmethod
    def of(cls, run: RunTables, configuration: str) -> "StoredDepth":
        """Read the depth of a configuration's rankings from its settings and the metrics of the run."""
        facts, read = run.facts[configuration], metric_depth(list(run.measures.values()))
        lists_all = facts["search"] == "exact" and facts["retrieval"] in _LIST_ALL
        return cls(
            slices=max(int(facts["k"]), int(facts["pool"] or 0), read.slices),
            tokens=max(int(facts["token_budget"] or 0), read.tokens),
            documents=max(_LISTED if lists_all else 1, read.documents),
            corpus=int(run.dataset["documents"]),
            fused=facts["retrieval"] in _FUSED,
        )

    def shortfall(self, case: Case, metric: Metric) -> str:
        """Return why the stored rankings are too short for a metric, or an empty text."""
        if self.fused or metric.definition.cut == "none":
            return ""
        if metric.family == "documents":
            return self._few_documents(case, metric.k or 0)
        if metric.tokens is not None:
            return self._few_tokens(case, metric.tokens)
        return self._few_slices(case, metric.k or 0)

    def _few_documents(self, case: Case, k: int) -> str:
        ranks = case.retrieved.ranking
        found = np.bincount(ranks["query"].to_numpy(np.int64), minlength=case.labels.queries)
        return _told(found, k, (found < self.documents) | (found >= self.corpus), "document") if k > self.documents else ""

    def _few_slices(self, case: Case, k: int) -> str:
        found = _distinct(case)
        return _told(found, k, found < self.slices, "chunk") if k > self.slices else ""

    def _few_tokens(self, case: Case, budget: int) -> str:
        if budget <= self.tokens:
            return ""
        hits, table = case.shared(ordered), case.shared(slices)
        cost = case.labels.tokens_in(table.starts, table.ends)[hits.piece]
        found = np.bincount(hits.query, cost, case.labels.queries).astype(np.int64)
        return _told(found, budget, (_distinct(case) < self.slices) | (found < self.tokens), "token")


def _distinct(case: Case) -> Ints:
    return np.bincount(case.shared(ordered).query, minlength=case.labels.queries).astype(np.int64)


def _told(found: Ints, wanted: int, whole: Bools, unit: str) -> str:
    """Return how many questions have fewer stored items than a metric reads, and the fewest of these."""
    short = found[(found < wanted) & ~whole]
    if not len(short):
        return ""
    questions = plural(len(short), "question")
    return f"the stored rankings of {questions} end before {plural(wanted, unit)} (the shortest has {count(int(short.min()))})"
