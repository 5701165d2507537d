"""Pack every question with its hits and misses for the details on the page. Each text is stored once."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.text.formatting import plural, shortened
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.causes import cause_meanings, missed_evidence
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.passages import text_of
from workbench.report.analysis.values import metadata, per_query, rewrites
from workbench.report.cells import digits_for, key_of
from workbench.report.model import Block, Prose, QuestionDetails
from workbench.report.results.run_tables import RunTables
from workbench.report.text.sentences import folder_of
from workbench.report.topics.topic import Topic

# In base64 characters. The page has to stay below 5 MB.
MOST = 3_500_000
_STEP = 0.95
# The metadata to show: the fields that define slices.
_PLAIN, _LONG = (str, int, float), 200
Place = tuple[str, int, int]


def compute(findings: Findings) -> tuple[RunTables, list[str]] | None:
    """Return the finished configurations. None if all failed."""
    names = [standing.name for standing in findings.standings.finished]
    return (findings, names) if names else None


def render(values: tuple[RunTables, list[str]]) -> list[Block]:
    """Pack the details of all questions, and introduce them."""
    run, names = values
    questions = drill(run, names)
    introduction = [
        "Questions in which configurations differ most come first. Open a question to see what was retrieved for it, by rank, with the "
        "evidence marked; what was missed; and why."
    ]
    if questions.shown < questions.queries:
        left_out = f"{plural(questions.queries - questions.shown, 'question')} of {questions.queries} left out"
        introduction.append(
            f"{left_out}, so that the page stays small: those in which the configurations differ least. "
            f"All are in {folder_of(run)}/queries.parquet."
        )
    return [*map(Prose, introduction), questions]


def drill(run: RunTables, names: Sequence[str], most: int = MOST) -> QuestionDetails:
    """Pack the drill-down of the configurations. If it exceeds `most` characters, keep the questions that differ most."""
    source = _Source(run, names)
    order = np.argsort(-source.differences, kind="stable").tolist()
    count = len(order)
    while True:
        text = packed(source.value(sorted(order[:count])))
        if len(text) <= most or not count:
            return QuestionDetails(text, count, len(order), key_of(shortened(names)))
        # Questions share texts, so removing some saves less than their share.
        count = min(count - 1, int(_STEP * count * most / len(text)))


def packed(value: Any) -> str:
    """Encode a value as deflated JSON in base64, for `DecompressionStream("deflate")`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A document may contain half a surrogate pair, which is not valid UTF-8.
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


class _Source:
    """The questions of some configurations. `values` (configurations, questions) are those of the primary metric, NaN if unscored.

    `differences` (questions) are the largest between two configurations, -1 if none has a value.
    """

    def __init__(self, run: RunTables, names: Sequence[str]) -> None:
        self.run, self.names = run, names
        self.values: Floats = np.array([per_query(run, name, str(run.primary)) for name in names])
        table = pd.DataFrame(self.values)
        self.differences: Floats = (table.max() - table.min()).fillna(-1.0).to_numpy(np.float64)
        self._evidence = _by_query(run.evidence, "need", "doc_id", "start", "end")
        self._judgements = _by_query(run.table("judgements"), "doc_id", "relevance")
        self._rewrites = [rewrites(run, name) for name in names]
        self._misses = [_by_query(missed_evidence(run, name), "need", "doc_id", "cause", "rank") for name in names]
        self._hits = [_by_query(run.of("context", name), "rank", "doc_id", "start", "end", "kept", "score") for name in names]

    def value(self, chosen: Sequence[int]) -> dict[str, Any]:
        """Convert the drill-down of the chosen questions to plain values."""
        passages = Passages(self.run)
        rows = [self._query(index, passages) for index in chosen]
        primary = self.run.primary
        header = {
            "metric": str(primary),
            "configurations": list(self.names),
            "short": list(shortened(self.names).values()),
            "digits": digits_for([*self.values.ravel(), *self.differences]),
            "limits": [_limit(primary, self.run.facts[name]) for name in self.names],
            "causes": [[name, meaning] for name, meaning in cause_meanings(self.run).items()],
        }
        return header | {"documents": passages.texts(), "passages": passages.slices, "queries": rows}

    def _query(self, index: int, passages: "Passages") -> dict[str, Any]:
        question = self.run.questions.iloc[index]
        query_id = question["query_id"]
        needs: dict[int, list[int]] = {}
        for need, *span in self._evidence.get(query_id, ()):
            needs.setdefault(need, []).extend(passages.place(*span))
        numbered = {need: number for number, need in enumerate(needs)}
        grades = [(passages.document(doc_id), int(np.sign(grade))) for doc_id, grade in self._judgements.get(query_id, ()) if grade]
        query: dict[str, Any] = {"i": query_id, "t": question["text"], "n": list(needs.values()), "g": grades}
        fields = metadata(self.run)[index].items()
        query["s"] = {str(name): str(value) for name, value in fields if isinstance(value, _PLAIN) and len(str(value)) < _LONG}
        query |= {"a": question["answer"]} if question["answer"] else {}
        query |= {} if question["answerable"] else {"u": 1}
        # By configuration what was searched in place of the question.
        query |= {"w": [searched.get(query_id, []) for searched in self._rewrites]} if any(self._rewrites) else {}
        query["v"] = [None if np.isnan(value) else round(float(value), 3) for value in self.values[:, index]]
        query["m"] = [
            [
                number
                for need, doc_id, cause, rank in misses.get(query_id, ())
                for number in (numbered.get(need, -1), passages.document(doc_id), CAUSE_NAMES.index(cause), rank)
            ]
            for misses in self._misses
        ]
        query["h"] = [[number for hit in hits.get(query_id, ()) for number in passages.hit(*hit)] for hits in self._hits]
        return query


@dataclass(eq=False)
class Passages:
    """The texts of the drill-down, each stored once, indexed by document and slice numbers."""

    run: RunTables
    slices: list[int] = field(default_factory=list)
    _slices: dict[Place, int] = field(default_factory=dict)
    _documents: dict[str, int] = field(default_factory=dict)
    _spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def document(self, doc_id: str) -> int:
        """The number of a document, or -1 for none."""
        return self._documents.setdefault(doc_id, len(self._documents)) if doc_id else -1

    def place(self, doc_id: str, start: int, end: int) -> tuple[int, int, int]:
        """Register a span, keep its text, and return its document number, start and end."""
        self._spans.setdefault(doc_id, []).append((start, end))
        return self.document(doc_id), start, end

    def hit(self, rank: int, doc_id: str, start: int, end: int, cut: int, score: float) -> tuple[int, int, int, float]:
        """Register a slice and return rank, slice, number of delivered characters (-1: all) and score."""
        if (doc_id, start, end) not in self._slices:
            self._slices[doc_id, start, end] = len(self._slices)
            self.slices += self.place(doc_id, start, end)
        delivered = -1 if cut == end else max(0, min(cut, end) - start)
        return rank, self._slices[doc_id, start, end], delivered, float(f"{score:.3g}")

    def texts(self) -> dict[int, tuple[str, list[tuple[int, str]]]]:
        """Map each document's number to its id and the shown stretches of its text as (start, text)."""
        texts = {}
        for doc_id, number in self._documents.items():
            spans = _joined(self._spans.get(doc_id, []))
            texts[number] = (doc_id, [(low, text_of(self.run, doc_id, low, high)) for low, high in spans])
        return texts


def _by_query(table: pd.DataFrame, *columns: str) -> dict[str, list[list[Any]]]:
    rows: dict[str, list[list[Any]]] = {}
    for query_id, *row in zip(*(table[name].tolist() for name in ("query_id", *columns)), strict=True):
        rows.setdefault(query_id, []).append(row)
    return rows


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _limit(metric: Metric, facts: Mapping[str, Any]) -> str:
    if metric.bounded_by_k and metric.k:
        return plural(metric.k, "chunk")
    tokens = metric.tokens or facts["token_budget"]
    return plural(tokens, "token") if tokens else plural(facts["k"], "chunk")


drill_section = Topic("queries", "Question by question", "Questions", compute, render)
