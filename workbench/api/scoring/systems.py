"""Ask a retrieval system every question of a dataset, and score its rankings as a sweep scores those of a target."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from workbench.components.retrieval.base import SearchDepth
from workbench.core.errors import InputError, RunError
from workbench.core.records import Dataset, TargetHit
from workbench.core.text.formatting import listed, meant, plural
from workbench.llm.session import CallResources
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.search import metric_depth
from workbench.runner.pipeline.stages.responses import Responses, gives_text, responses_of, without_unscored
from workbench.systems.asking import TargetRequest, replies_of
from workbench.systems.base import Target, TargetResources
from workbench.systems.callable.threads import left_running
from workbench.systems.matching import HitMatcher

# Enough for the token cut of most metrics with chunks of ordinary size.
FIRST_K = 10


@dataclass(frozen=True)
class EnoughHits:
    """A test of whether hits of a question are as deep as metrics read rankings of a dataset."""

    depth: SearchDepth
    dataset: Dataset = field(repr=False)

    @classmethod
    def for_metrics(cls, metrics: Sequence[Metric], dataset: Dataset) -> Self:
        return cls(metric_depth(metrics), dataset)

    @property
    def first(self) -> int:
        """Return how many hits to ask for at first."""
        return max(self.depth.documents, self.depth.slices, FIRST_K)

    def reached(self, hits: Sequence[TargetHit]) -> bool:
        """Return True if no metric reads hits beyond these."""
        places = [(self._matcher.place(hit), hit) for hit in hits]
        distinct = {(place.doc, place.start, place.end, hit.doc_id if place.doc < 0 else "") for place, hit in places}
        if len({(doc, name) for doc, _, _, name in distinct}) < self.depth.documents or len(distinct) < self.depth.slices:
            return False
        known = sorted({(place.doc, max(place.start, 0), place.end) for place, _ in places if place.doc >= 0})
        return not self.depth.tokens or self._tokens(known) >= self.depth.tokens

    def _tokens(self, slices: Sequence[tuple[int, int, int]]) -> int:
        table = pd.DataFrame(list(slices), columns=["doc", "start", "end"], dtype=np.int64)
        lengths = np.diff(self._labels.offsets) - 1
        table["end"] = np.where(table["end"] < 0, lengths[table["doc"].to_numpy()], table["end"])
        return int(self._labels.tokens_in(*self._labels.positions(table, "start", "end")).sum())

    @cached_property
    def _labels(self) -> Labels:
        return Labels.of(self.dataset)

    @cached_property
    def _matcher(self) -> HitMatcher:
        return HitMatcher(self.dataset.documents)


def run_system(
    target: Target, dataset: Dataset, metrics: Sequence[Metric], usual: Sequence[Metric] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Search every question with a target, and score the hits by `metrics`, or without them by the `usual` ones that the hits allow.

    Returns the scores by metric and question, and notes on questions that were not served.

    A question that the target fails on is unscored. Raises RunError if it fails on every question or finds nothing for any, and InputError if
    no hit is in the dataset, or if a metric reads what no hit has.
    """
    for metric in metrics:
        if metric.family == "other" or metric.definition.reads_index == "value":
            what = "the scores of all chunks" if metric.family == "other" else "all chunks"
            raise InputError(f"{metric} needs {what}", "leave it out, or evaluate an index")
        if (metric.k or 0) > target.k:
            raise InputError(f"{metric} reads more than the k = {target.k} hits of each question", "raise k")
    requests = [TargetRequest("search", query, target.k) for query in dataset.queries]
    replies, labels = replies_of(target, requests, TargetResources(CallResources(), dataset.corpus)), Labels.of(dataset)
    responses = responses_of(target, {"search": replies}, dataset.documents, labels)
    _check_hits(responses, dataset)
    textless = [metric for metric in metrics if metric.family != "documents" and not gives_text(responses)]
    if textless:
        raise InputError(
            f"{listed(list(map(str, textless)))}: hits have neither start and end nor a text", "return them, or leave the metrics out"
        )
    chosen = metrics or [metric for metric in usual if metric.family == "documents" or gives_text(responses)]
    rows = evaluate(labels, responses.retrieved, chosen)
    tables = [without_unscored(rows[rows["metric"] == str(metric)], metric.family, responses) for metric in chosen]
    return pd.concat(tables, ignore_index=True), (*_notes(responses, dataset), *left_running())


def _check_hits(responses: Responses, dataset: Dataset) -> None:
    returned = responses.table("hits")
    if returned.empty and responses.table("failures").empty:
        raise RunError("the system found nothing for any of the questions", "try it on one question")
    if len(returned) and (returned["doc"] < 0).all():
        first = returned.iloc[0]
        names = [document.doc_id for document in dataset.documents]
        close = meant(first["doc_id"], names) if first["doc_id"] else ""
        raise InputError(
            f"no hit is in a document of the dataset; the first, of question {dataset.queries[first['query']].query_id!r}: {first['fault']}{close}",
            "return the dataset's ids, or the texts of its documents",
        )


def _notes(responses: Responses, dataset: Dataset) -> list[str]:
    returned, failures, notes = responses.table("hits"), responses.table("failures"), list[str]()
    rising = returned.loc[(returned["score"].diff() > 0) & (returned["query"].diff() == 0), "query"].nunique()
    if rising:
        notes.append(f"The scores of {plural(rising, 'ranking')} rise with the rank: are the best hits first?")
    if len(failures):
        notes.append(
            f"{plural(len(failures), 'question')} failed and {'is' if len(failures) == 1 else 'are'} in no mean; the first error: {failures['error'].iloc[0]}"
        )
    for lost, what in (
        (returned["doc"] < 0, "the documents"),
        ((returned["doc"] >= 0) & (returned["fault"] != ""), "a place in their document"),
    ):
        if lost.any():
            first = returned[lost].iloc[0]
            where = dataset.queries[first["query"]].query_id
            notes.append(
                f"{lost.sum()} of {plural(len(returned), 'hit')} could not be matched with {what} (first: {where}: {first['fault']})"
            )
    return notes
