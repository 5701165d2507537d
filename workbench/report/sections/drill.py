"""What the drill-down knows of every question, in as few bytes as its texts allow."""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.findings import Findings
from workbench.analysis.questions.miss_causes import cause_meanings
from workbench.analysis.questions.passages import passage_of, text_of
from workbench.analysis.values import metadata, per_query, places
from workbench.attribution.causes import CAUSE_NAMES
from workbench.core.formatting import plural
from workbench.metrics.coverage import Floats, Ints
from workbench.report.model import Block, Drill, Lines, Prose, Section
from workbench.results.measures import Measure
from workbench.results.run_tables import RunTables

# In characters of base64; the page has to stay below 5 MB.
MOST = 3_500_000
_STEP = 0.95
# Metadata that is shown: what slices are made of.
_PLAIN, _LONG = (str, int, float), 200
# Characters on each side of a piece of evidence, so that a missed one is read in its surroundings.
BESIDE = 160
Place = tuple[str, int, int]


def drill_section(found: Findings, folder: str) -> Section | None:
    """The questions of all finished configurations; None where there are none."""
    names = [one.name for one in (*found.standings.ranked, *found.standings.windowed)]
    if not names:
        return None
    packed_, told = drill(found.run, names, folder), list[Block]()
    told.append(
        Prose(
            "Those in which configurations differ most come first. Open a question to see what was retrieved for it, by rank, with the "
            "evidence marked; what was missed; and why."
        )
    )
    if packed_.kept < packed_.queries:
        left = f"{plural(packed_.queries - packed_.kept, 'question')} of {packed_.queries} left out"
        told.append(
            Lines(
                [
                    f"{left}, so that the page stays small: those in which the configurations differ least. All are in {folder}/queries.parquet."
                ]
            )
        )
    return Section("Question by question", "queries", [*told, packed_], "Questions")


def drill(run: RunTables, names: Sequence[str], folder: str, most: int = MOST) -> Drill:
    """The drill-down of the configurations; of as many questions as fit into `most` characters, those that differ most."""
    source = _Source(run, names)
    order = source.by_difference()
    kept = len(order)
    while True:
        text = packed(source.value(sorted(order[:kept])))
        if len(text) <= most or not kept:
            return Drill(text, kept, len(order), folder)
        # The texts are shared, so that fewer questions do not save as much as their share.
        kept = min(kept - 1, int(_STEP * kept * most / len(text)))


def packed(value: Any) -> str:
    """A value as JSON, deflated, in base 64: what `DecompressionStream("deflate")` reads."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair is no UTF-8, and a document may hold one.
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


@dataclass(frozen=True, eq=False)
class _Source:
    run: RunTables
    names: Sequence[str]

    @cached_property
    def values(self) -> Floats:
        """(configurations, questions) of the primary metric, NaN where there is none."""
        return np.array([per_query(self.run, name, str(self.run.primary)) for name in self.names])

    @cached_property
    def query_ids(self) -> list[str]:
        ids: list[str] = self.run.questions["query_id"].tolist()
        return ids

    def by_difference(self) -> list[int]:
        """All questions, the largest difference between two configurations first, those that nothing has a value for last."""
        known = ~np.isnan(self.values)
        most, least = np.where(known, self.values, -np.inf).max(axis=0), np.where(known, self.values, np.inf).min(axis=0)
        order: list[int] = np.argsort(-np.where(known.any(axis=0), most - least, -1.0), kind="stable").tolist()
        return order

    def value(self, chosen: Sequence[int]) -> dict[str, Any]:
        """The drill-down of the chosen questions as plain values."""
        passages = Passages(self.run)
        rows = [self._query(place, passages) for place in chosen]
        primary = self.run.primary
        limits = [_limit(primary, self.run.facts[name]["k"]) for name in self.names]
        told = [[name, meaning] for name, meaning in cause_meanings(self.run).items()]
        about = {"metric": str(primary), "configurations": list(self.names), "limits": limits, "causes": told}
        return about | {"documents": passages.texts(), "passages": passages.slices, "queries": rows}

    def _query(self, place: int, passages: "Passages") -> dict[str, Any]:
        query_id, question = self.query_ids[place], self.run.questions.iloc[place]
        needs = self._needs.get(query_id, {})
        numbered = {need: number for number, need in enumerate(needs)}
        evidence = [[value for span in spans for value in passages.evidence(span)] for spans in needs.values()]
        graded = [(passages.document(doc_id), grade) for doc_id, grade in self._grades.get(query_id, ())]
        found: dict[str, Any] = {"i": query_id, "t": str(question["text"]), "n": evidence, "g": graded}
        fields = metadata(self.run)[place].items()
        found["s"] = {str(name): str(value) for name, value in fields if isinstance(value, _PLAIN) and len(str(value)) < _LONG}
        found |= {"a": question["answer"]} if question["answer"] else {}
        found |= {} if question["answerable"] else {"u": 1}
        found["v"] = [None if np.isnan(value) else round(float(value), 3) for value in self.values[:, place]]
        found["m"] = [
            [
                number
                for need, doc, cause, rank in misses.get(place, ())
                for number in (numbered.get(need, -1), passages.document(doc), cause, rank)
            ]
            for misses in self._misses
        ]
        found["h"] = [[number for hit in hits.get(place, ()) for number in passages.hit(*hit)] for hits in self._hits]
        return found

    @cached_property
    def _needs(self) -> dict[str, dict[int, list[Place]]]:
        found: dict[str, dict[int, list[Place]]] = {}
        for query_id, need, *span in _rows(self.run.evidence, "query_id", "need", "doc_id", "start", "end"):
            found.setdefault(query_id, {}).setdefault(need, []).append((span[0], span[1], span[2]))
        return found

    @cached_property
    def _grades(self) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for query_id, doc_id, relevance in _rows(self.run.judgements, "query_id", "doc_id", "relevance"):
            if relevance:
                found.setdefault(query_id, []).append((doc_id, 1 if relevance > 0 else -1))
        return found

    @cached_property
    def _misses(self) -> list[dict[int, list[tuple[Any, ...]]]]:
        codes = {name: code for code, name in enumerate(CAUSE_NAMES)}
        tables = (self.run.of("causes", name) for name in self.names)
        return [self._grouped(table.assign(cause=table["cause"].map(codes)), "need", "doc_id", "cause", "rank") for table in tables]

    @cached_property
    def _hits(self) -> list[dict[int, list[tuple[Any, ...]]]]:
        return [self._grouped(self.run.of("context", name), "rank", "doc_id", "start", "end", "kept", "score") for name in self.names]

    def _grouped(self, table: pd.DataFrame, *columns: str) -> dict[int, list[tuple[Any, ...]]]:
        found: dict[int, list[tuple[Any, ...]]] = {}
        for place, row in zip(places(self.run, table["query_id"]).tolist(), _rows(table, *columns), strict=True):
            found.setdefault(place, []).append(row)
        return found


@dataclass(eq=False)
class Passages:
    """The texts of the drill-down, each stored once, under numbers of documents and slices.

    JavaScript counts UTF-16 units where we count code points, so every place is counted anew, from the start of its passage.
    """

    run: RunTables
    slices: list[int] = field(default_factory=list)
    _slices: dict[Place, int] = field(default_factory=dict)
    _documents: dict[str, int] = field(default_factory=dict)
    _spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _wide: dict[tuple[str, int], Ints] = field(default_factory=dict)

    def document(self, doc_id: str) -> int:
        """The number of a document; -1 for none."""
        return self._documents.setdefault(doc_id, len(self._documents)) if doc_id else -1

    def units(self, doc_id: str, start: int, position: int) -> int:
        """A position in UTF-16 units, in the passage that holds `start`."""
        passage = passage_of(self.run, doc_id, start, start)
        key = (doc_id, passage.start)
        if key not in self._wide:
            wide = [] if passage.text.isascii() else [at for at, letter in enumerate(passage.text) if ord(letter) > 0xFFFF]
            self._wide[key] = np.array(wide, dtype=np.int64)
        return position + int(np.searchsorted(self._wide[key], position - passage.start))

    def evidence(self, span: Place) -> tuple[int, int, int]:
        """Document, start and end of a piece of evidence, whose surroundings are kept too."""
        doc_id, start, end = span
        passage = passage_of(self.run, doc_id, start, end)
        around = max(passage.start, start - BESIDE), min(passage.start + len(passage.text), end + BESIDE)
        self._spans.setdefault(doc_id, []).append(around)
        return self.document(doc_id), self.units(doc_id, start, start), self.units(doc_id, start, end)

    def hit(self, rank: int, doc_id: str, start: int, end: int, kept: int, score: float) -> tuple[int, int, int, float]:
        """Rank, slice, the units of it that were delivered (-1: all), score."""
        if (doc_id, start, end) not in self._slices:
            self._slices[doc_id, start, end] = len(self._slices)
            self._spans.setdefault(doc_id, []).append((start, end))
            self.slices += [self.document(doc_id), self.units(doc_id, start, start), self.units(doc_id, start, end)]
        delivered = self.units(doc_id, start, min(kept, end)) - self.units(doc_id, start, start) if kept > start else 0
        return rank, self._slices[doc_id, start, end], -1 if kept == end else delivered, float(f"{score:.3g}")

    def texts(self) -> dict[int, list[Any]]:
        """By number each document's id and the stretches of its text, as (start, text), that hold all that is shown of it."""
        return {
            number: [
                doc_id,
                [
                    (self.units(doc_id, low, low), text_of(self.run, doc_id, low, high))
                    for low, high in _joined(self._spans.get(doc_id, []))
                ],
            ]
            for doc_id, number in self._documents.items()
        }


def _rows(table: pd.DataFrame, *columns: str) -> Iterable[tuple[Any, ...]]:
    return zip(*(table[name].tolist() for name in columns), strict=True)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that meet as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _limit(metric: Measure, k: int) -> str:
    """What ends the context, in words."""
    return (
        plural(metric.tokens, "token")
        if metric.tokens is not None
        else plural(metric.k if metric.bounded_by_k and metric.k else k, "chunk")
    )
