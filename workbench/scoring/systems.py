"""Ask a retrieval system every question of a dataset, and collect its rankings as metrics read them."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.formatting import meant
from workbench.errors import InputError, RunError, error_line
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import MOST_K, Metric
from workbench.records import Dataset

# A system takes a question and a number of hits.
System = Callable[[str, int], Iterable[Any]]
_FORMS = "a hit is a document id, or has doc_id, start and end, as an attribute or a key"
# Enough for the token cut of most metrics with chunks of ordinary size.
_FIRST_K = 10


class _Slice(NamedTuple):
    """A retrieved slice of a document: its position in the dataset, and characters, both -1 for a whole document."""

    doc: int
    start: int
    end: int


@dataclass(frozen=True)
class SystemRun:
    """The rankings of a system, the one-line error of each question (its position) that failed, and how many had rising scores."""

    retrieved: Retrieved
    failures: Mapping[int, str]
    rising: int


@dataclass(frozen=True)
class _Depth:
    """The distinct documents, distinct slices and tokens that metrics read."""

    documents: int
    slices: int
    tokens: int

    @classmethod
    def of(cls, metrics: Sequence[Metric]) -> "_Depth":
        documents = [metric.k or 0 for metric in metrics if metric.family == "documents"]
        slices = [metric.k or 0 for metric in metrics if metric.family != "documents"]
        return cls(max(documents, default=0), max(slices, default=0), max((metric.tokens or 0 for metric in metrics), default=0))


@dataclass(frozen=True)
class _Asking:
    """The dataset whose questions are asked, and the depth of the answers."""

    dataset: Dataset
    labels: Labels
    depth: _Depth
    k: int | None
    positions: Mapping[str, int] = field(repr=False)
    rising: set[str] = field(default_factory=set, repr=False)
    # The questions for which the system returned None.
    silent: set[str] = field(default_factory=set, repr=False)

    def ranking(self, system: System, place: int) -> list[_Slice]:
        """Ask for more hits until they reach the depth, or the system has no more."""
        query = self.dataset.queries[place]
        wanted = self.k or max(self.depth.documents, self.depth.slices, _FIRST_K if self.depth.tokens else 1)
        slices: list[_Slice] = []
        while True:
            hits = _answer(system, query.text, wanted)
            if hits is None:
                self.silent.add(query.query_id)
            before, slices = len(slices), self._slices(hits or [], query.query_id)
            if self.k or len(slices) < wanted or len(slices) <= before or wanted >= MOST_K or self._reached(slices):
                return slices
            wanted = min(2 * wanted, MOST_K)

    def _slices(self, hits: Sequence[Any], query_id: str) -> list[_Slice]:
        scores = [_field(hit, "score") for hit in hits]
        if all(isinstance(score, int | float | np.number) for score in scores) and any(np.diff(np.array(scores, dtype=np.float64)) > 0):
            self.rising.add(query_id)
        return [self._slice(hit, query_id) for hit in hits]

    def _reached(self, slices: Sequence[_Slice]) -> bool:
        distinct = set(slices)
        if len({piece.doc for piece in distinct}) < self.depth.documents or len(distinct) < self.depth.slices:
            return False
        return not self.depth.tokens or self._tokens(distinct) >= self.depth.tokens

    def _tokens(self, slices: Iterable[_Slice]) -> int:
        edges = np.array([(self.labels.offsets[doc] + start, self.labels.offsets[doc] + end) for doc, start, end in slices], dtype=np.int64)
        return int(self.labels.tokens_in(edges[:, 0], edges[:, 1]).sum())

    def _slice(self, hit: Any, query_id: str) -> _Slice:
        doc_id = hit if isinstance(hit, str) else _field(hit, "doc_id")
        if not isinstance(doc_id, str):
            raise InputError(f"a hit of question {query_id!r} has no doc_id: {str(hit)[:80]!r}", _FORMS)
        if doc_id not in self.positions:
            raise InputError(
                f"a hit of question {query_id!r} is in document {doc_id!r}, which the dataset does not have{meant(doc_id, self.positions)}",
                "return the dataset's ids",
            )
        doc, edges = self.positions[doc_id], (_field(hit, "start"), _field(hit, "end"))
        if edges == (None, None):
            return _Slice(doc, -1, -1)
        length = len(self.dataset.documents[doc].text)
        if not all(isinstance(edge, int | np.integer) for edge in edges) or not 0 <= edges[0] < edges[1] <= length:
            where = f"[{edges[0]}, {edges[1]}) of document {doc_id!r}, which has {length} characters"
            raise InputError(f"a hit of question {query_id!r} is {where}", "start and end are characters of the document's text")
        return _Slice(doc, int(edges[0]), int(edges[1]))


class _SystemError(Exception):
    """What a system raised, as one line."""


def _answer(system: System, query: str, k: int) -> list[Any] | None:
    """Return at most k hits, or None. Raises _SystemError if the system fails, and InputError if it returns something else than hits in order."""
    try:
        answer: Any = system(query, k)
        hits = None if answer is None or isinstance(answer, Mapping | str | Set) else list(islice(answer, k))
    except Exception as error:  # a system can raise anything, and its other answers count
        raise _SystemError(error_line(error)) from error
    if hits is None and answer is not None:
        raise InputError(f"the system returned a {type(answer).__name__}", "return a list of hits, the best first")
    return hits


def run_system(system: System, dataset: Dataset, metrics: Sequence[Metric], k: int | None = None) -> SystemRun:
    """Ask every question, each as deep as the metrics read, or for exactly `k` hits.

    A question that the system fails on is recorded and the others continue. Raises InputError if hits are malformed or lack what a metric
    reads, and RunError if every question failed.
    """
    for metric in metrics:
        if metric.family == "other":
            raise InputError(f"{metric} needs the scores of all chunks", "leave it out, or evaluate an index")
        if k is not None and max(metric.k or 0, 1) > k:
            raise InputError(f"{metric} reads more than the k = {k} hits of each question", "raise k")
    positions = {document.doc_id: place for place, document in enumerate(dataset.documents)}
    asking = _Asking(dataset, Labels.of(dataset), _Depth.of(metrics), k, positions)
    rankings, failures = [], dict[int, str]()
    for place in range(len(dataset.queries)):
        try:
            rankings.append(asking.ranking(system, place))
        except _SystemError as error:
            rankings.append([])
            failures[place] = str(error)
    if rankings and len(failures) == len(rankings):
        raise RunError(f"every question failed, the first with {failures[0]}", "try the system on one question")
    if rankings and len(asking.silent) == len(rankings):
        raise RunError("the system returned None for every question", "return a list of hits, which is empty if nothing is found")
    _check_slices(rankings, metrics)
    return SystemRun(_retrieved(rankings), failures, len(asking.rising))


def _field(hit: Any, name: str) -> Any:
    return hit.get(name) if isinstance(hit, Mapping) else getattr(hit, name, None)


def _check_slices(rankings: Iterable[Sequence[_Slice]], metrics: Iterable[Metric]) -> None:
    of_text = [str(metric) for metric in metrics if metric.family != "documents"]
    if of_text and any(piece.start < 0 for ranking in rankings for piece in ranking):
        raise InputError(f"{', '.join(of_text)}: hits have no start and end", _FORMS)


def _retrieved(rankings: Sequence[Sequence[_Slice]]) -> Retrieved:
    chunks = {piece: row for row, piece in enumerate(sorted({piece for ranking in rankings for piece in ranking}))}
    table = pd.DataFrame(list(chunks), columns=["doc", "start", "end"], dtype=np.int64)
    hits = [(query, rank, chunks[piece], -rank) for query, ranking in enumerate(rankings) for rank, piece in enumerate(ranking, 1)]
    documents = [list(dict.fromkeys(piece.doc for piece in ranking)) for ranking in rankings]
    ranked = [(query, rank, doc, -rank) for query, docs in enumerate(documents) for rank, doc in enumerate(docs, 1)]
    return Retrieved(
        table.assign(delivered_start=table["start"], delivered_end=table["end"]),
        pd.DataFrame(hits, columns=["query", "rank", "chunk", "score"], dtype=np.int64),
        pd.DataFrame(ranked, columns=["query", "rank", "doc", "score"], dtype=np.int64),
        np.zeros(len(rankings)),
    )
