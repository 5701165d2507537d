"""The questions on which two configurations differ, by cause and slice, and every question to open."""

import base64
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.text.formatting import p_value, plural, share, shortened, signed
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.causes import cause_meanings, missed_evidence
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.pairwise import OTHER, Contrast, Part, contrast, meanings
from workbench.report.analysis.passages import text_of
from workbench.report.analysis.values import metadata, per_query, rewrites
from workbench.report.cells import Scale, count_cell, digits_for, gap_cell, key_of, queries_cell, text, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, QuestionDetails, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import folder_of
from workbench.report.topics.topic import COMPARED, Topic

# With more configurations than this, only the first is compared with all others.
_ALL_PAIRS = 4


def compute_pairs(findings: Findings) -> tuple[Findings, list[Contrast]] | None:
    """Compare the leader with every other configuration, or all pairs of up to four. None if there is only one."""
    ranked = [standing.name for standing in findings.standings.ranked]
    chosen = itertools.combinations(ranked, 2) if len(ranked) <= _ALL_PAIRS else ((ranked[0], other) for other in ranked[1:])
    contrasts = [pair for a, b in chosen if (pair := contrast(findings, a, b)) is not None]
    return (findings, contrasts) if contrasts else None


def render_pairs(values: tuple[Findings, list[Contrast]]) -> list[Block]:
    """Collapse the causes and slices of each pair, the first one opened."""
    findings, contrasts = values
    introduction = "Open a pair to see the questions on which each configuration is ahead, why the other misses them, and in which slices."
    blocks: list[Block] = [Prose(introduction)]
    for pair in contrasts:
        a, b = pair.a.winner, pair.b.winner
        tested = findings.against(a, b)
        compared = tested or findings.outside_family(a, b)
        gap = compared.simultaneous if compared else pair.parts[0].difference
        known = compared is not None and not np.isnan(compared.p)
        p = f"{p_value(compared.p_adjusted)} corrected{'' if tested else ' for all pairs'}" if compared and known else "not tested"
        counts = f"ahead on {pair.a.queries}, behind on {pair.b.queries}, equal on {pair.ties}"
        note = f"{signed(gap.value)} {gap.bounds()}, {p} · {counts}"
        blocks.append(Collapsible(f"{a} against {b}", pair_blocks(findings, pair), note, "pairing", opened=pair is contrasts[0]))
    return blocks


def render_leading(values: tuple[Findings, Contrast]) -> list[Block]:
    """Show the questions on which the two differ, by cause and by slice."""
    findings, pair = values
    return [Prose(tally(pair)), *pair_blocks(findings, pair)]


def pair_blocks(findings: Findings, pair: Contrast) -> list[Block]:
    """The causes and slices of one pair."""
    causes, blocks = _causes(findings, pair), list[Block]()
    if pair.judged is not None:
        blocks.append(Prose(f"{share(pair.judged[0], 1)} and {share(pair.judged[1], 1)} of their retrieved documents are judged."))
    blocks.append(causes if causes.rows else Prose("They do equally well on every question."))
    # The difference on all questions is that of the title, with the bounds of its family.
    return [*blocks, *([_slices(pair)] if len(pair.parts) > 1 else [])]


def tally(pair: Contrast) -> str:
    """The number of questions on which each of the two is ahead."""
    questions = plural(pair.a.queries + pair.b.queries + pair.ties, "question")
    return f"Of {questions}, {pair.a.winner} is ahead on {pair.a.queries}, {pair.b.winner} on {pair.b.queries}; {pair.ties} are ties."


def _causes(findings: Findings, pair: Contrast) -> Table:
    known = meanings(findings)
    columns = [words("cause of the miss"), Column(f"{pair.a.winner} ahead"), Column(f"{pair.b.winner} ahead"), text("meaning")]
    rows = []
    for cause in (*CAUSE_NAMES, OTHER):
        won, lost = pair.a.causes.get(cause, ()), pair.b.causes.get(cause, ())
        if won or lost:
            rows.append(Row([queries_cell(cause, [*won, *lost]), count_cell(len(won)), count_cell(len(lost)), Cell(known[cause])]))
    return Table("Questions that one is ahead on, by the cause of the other's miss", columns, rows)


def _slices(pair: Contrast) -> Table:
    slices = pair.parts[1:]
    ends = [bound for part in slices for bound in (part.difference.low, part.difference.value, part.difference.high)]
    scale = Scale.over(ends, zero=True)
    columns = [words("slice"), Column("questions"), Column("difference", note="95 % interval"), scale.column()]
    columns += [Column(f"{pair.a.winner} ahead"), Column(f"{pair.b.winner} ahead"), Column("equal")]
    caption = f"{pair.metric}: {pair.a.winner} minus {pair.b.winner} by slice; exploratory, nothing is tested or corrected"
    return Table(caption, columns, [_slice(part, scale) for part in slices])


def _slice(part: Part, scale: Scale) -> Row:
    difference, counts = part.difference, (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties)
    name = Cell(slice_name(part.name), note=f"{part.small}: weak evidence" if part.small else "")
    return Row([name, count_cell(difference.n), gap_cell(difference), scale.cell(difference, zero=True), *map(count_cell, counts)])


def slice_name(label: str) -> str:
    """Describe a slice in words."""
    # A value can contain an ampersand too, and rarely a field with its value.
    parts = [part.partition("=") for part in re.split("&(?=[^&=]+=)", label)]
    return ", ".join(f"{field}: {value}" for field, _, value in parts) if "=" in label else "all questions"


sources = Topic(
    "sources",
    "Where the first two differ",
    "",
    lambda findings: (findings, findings.contrast) if findings.contrast else None,
    render_leading,
    views=("comparison",),
    missing="The run has no second configuration to compare.",
)
pairs = Topic("pairs", "Pairwise comparison", "Pairs", compute_pairs, render_pairs, views=COMPARED)


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
