"""What the drill-down knows of every question, in as few bytes as its texts allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.analysis.pairwise import Examined
from workbench.attribution.evidence_causes import CAUSES, DOCUMENT_CAUSES, looked_at
from workbench.metrics.coverage import Floats, Ints
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.records import Need
from workbench.report.page.passages import Passages, Place
from workbench.report.page.policy import packed
from workbench.report.page.query_hits import Shown, shown_hits

# In characters of base 64; the page has to stay below 5 MB.
MOST = 3_500_000
_STEP = 0.95
# Metadata that is shown: what slices are made of.
_PLAIN, _LONG = (str, int, float), 200


@dataclass(frozen=True)
class Payload:
    """The packed drill-down: `kept` of `queries` questions, those in which the configurations differ most."""

    text: str
    kept: int
    queries: int


def payload(bench: RunContext, looked: Sequence[Examined], metric: Metric, most: int = MOST) -> Payload:
    """The drill-down of all configurations; of as many questions as fit into `most` characters."""
    source = _Source.of(bench, looked, metric)
    order = source.by_difference()
    kept = len(order)
    while True:
        text = packed(source.value(sorted(order[:kept])))
        if len(text) <= most or not kept:
            return Payload(text, kept, len(order))
        # The texts are shared, so that fewer questions do not save as much as their share.
        kept = min(kept - 1, int(_STEP * kept * most / len(text)))


@dataclass(frozen=True, eq=False)
class _Source:
    """`values` (configurations, queries), NaN where there is none, and by configuration and query the misses and the shown slices."""

    bench: RunContext
    names: tuple[str, ...]
    metric: Metric
    cuts: tuple[str, ...]
    values: Floats
    misses: tuple[dict[int, list[int]], ...]
    hits: tuple[dict[int, list[Shown]], ...]

    @classmethod
    def of(cls, bench: RunContext, looked: Sequence[Examined], metric: Metric) -> "_Source":
        """All that is known of all questions."""
        results = [one.result for one in looked]
        codes = {cause: place for place, cause in enumerate(CAUSES)}
        misses, hits = [], []
        for examined in looked:
            missed: dict[int, list[int]] = {}
            for query, need, doc, cause, rank in examined.misses.itertuples(index=False):
                missed.setdefault(query, []).extend([int(need), int(doc), codes[cause], int(rank)])
            shown: dict[int, list[Shown]] = {}
            for one in shown_hits(bench, examined.result, metric):
                shown.setdefault(one.query, []).append(one)
            misses.append(missed)
            hits.append(shown)
        values = np.array([one.values for one in looked])
        cuts = tuple(_limit(metric, result.configuration.retrieval.k, looked_at(metric, result).tokens) for result in results)
        return cls(bench, tuple(one.name for one in looked), metric, cuts, values, tuple(misses), tuple(hits))

    def by_difference(self) -> list[int]:
        """All questions, the largest difference between two configurations first, those that nothing has a value for last."""
        known = ~np.isnan(self.values)
        most, least = np.where(known, self.values, -np.inf).max(axis=0), np.where(known, self.values, np.inf).min(axis=0)
        order: list[int] = np.argsort(-np.where(known.any(axis=0), most - least, -1.0), kind="stable").tolist()
        return order

    def value(self, chosen: Sequence[int]) -> dict[str, Any]:
        """The drill-down of the chosen questions as plain values."""
        passages = Passages(self.bench.dataset.documents)
        places = {document.doc_id: place for place, document in enumerate(passages.documents)}
        needs: dict[str, list[tuple[int, Need]]] = {}
        for place, need in enumerate(self.bench.dataset.needs):
            needs.setdefault(need.query_id, []).append((place, need))
        besides: list[Place] = []
        rows = [self._query(query, passages, places, needs, besides) for query in chosen]
        texts = passages.texts(besides)
        named = {row[1] for one in rows for row in _fours(one["m"])} | {doc for one in rows for doc, _ in one["g"]}
        documents = {doc: [passages.documents[doc].doc_id, texts.get(doc, [])] for doc in sorted({*texts, *named} - {-1})}
        told = [[cause, CAUSES[cause], DOCUMENT_CAUSES.get(cause, CAUSES[cause])] for cause in CAUSES]
        about = {"metric": str(self.metric), "configurations": self.names, "limits": self.cuts, "causes": told}
        return about | {"documents": documents, "passages": passages.table(), "queries": rows}

    def _query(
        self, query: int, passages: Passages, places: dict[str, int], needs: dict[str, list[tuple[int, Need]]], besides: list[Place]
    ) -> dict[str, Any]:
        asked = self.bench.dataset.queries[query]
        own = needs.get(asked.query_id, [])
        spans = {place: [(places[span.doc_id], span.start, span.end) for span in need.alternatives] for place, need in own}
        besides += [span for alternatives in spans.values() for span in alternatives]
        numbered = {place: number for number, place in enumerate(spans)}
        evidence = [[value for doc, *ends in one for value in (doc, *(passages.units(doc, end) for end in ends))] for one in spans.values()]
        found: dict[str, Any] = {"i": asked.query_id, "t": asked.text, "n": evidence, "g": self._graded(query)}
        found["s"] = {
            str(field): str(value) for field, value in asked.metadata.items() if isinstance(value, _PLAIN) and len(str(value)) < _LONG
        }
        found |= {"a": asked.answer} if asked.answer else {}
        found |= {} if asked.answerable else {"u": 1}
        found["v"] = [None if np.isnan(value) else round(float(value), 3) for value in self.values[:, query]]
        found["m"] = [
            [numbered.get(value, -1) if place % 4 == 0 else value for place, value in enumerate(missed.get(query, []))]
            for missed in self.misses
        ]
        found["h"] = [[value for one in shown.get(query, []) for value in _hit(one, passages)] for shown in self.hits]
        return found

    def _graded(self, query: int) -> list[tuple[int, int]]:
        labels = self.bench.labels
        rows: Ints = np.flatnonzero(labels.qrel_query == query)
        graded = zip(labels.qrel_doc[rows].tolist(), np.sign(labels.qrel_relevance[rows]).tolist(), strict=True)
        return [(doc, sign) for doc, sign in graded if sign]


def _hit(one: Shown, passages: Passages) -> tuple[int, int, int, float]:
    """Rank, slice, the units of it that were delivered (-1: all), score."""
    number = passages.number((one.doc, one.start, one.end))
    cut = one.kept if one.start < one.kept < one.end else one.start
    delivered = passages.units(one.doc, cut) - passages.units(one.doc, one.start) if cut > one.start else 0
    return one.rank, number, -1 if one.kept == one.end else delivered, float(f"{one.score:.3g}")


def _fours(misses: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return [tuple(row[place : place + 4]) for row in misses for place in range(0, len(row), 4)]


def _limit(metric: Metric, k: int, tokens: int | None) -> str:
    """What ends the context, in words."""
    return f"{tokens:,} tokens" if tokens is not None else f"{metric.k if metric.bounded_by_k else k} chunks"
