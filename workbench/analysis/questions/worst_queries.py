"""The worst questions of a configuration, with the evidence delivered and missed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from workbench.analysis.questions.passages import Piece, Stretch, against_delivered, marked, passage_of
from workbench.analysis.values import detail, per_query
from workbench.metrics.coverage import Floats, Ints
from workbench.results.run_tables import RunTables

# The first chunks by rank are always shown, later ones only if they contain evidence.
_SHOWN = 4
_BESIDE = 60
Spans = Sequence[tuple[str, int, int]]


@dataclass(frozen=True)
class ShownNeed:
    """A piece of evidence, shown by the alternative that was delivered best. `others` counts its other alternatives."""

    state: Literal["delivered", "partly delivered", "missed"]
    doc_id: str
    start: int
    end: int
    others: int
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class ShownChunk:
    """A delivered slice with its rank and its document's `relevance`. `skipped` counts the hidden slices before it."""

    rank: int
    doc_id: str
    start: int
    end: int
    score: float
    relevance: int | None
    skipped: int
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class ShownQuery:
    """A question with its value, evidence and delivered slices. `skipped` counts the slices after the last one shown."""

    query_id: str
    text: str
    value: float
    needs: Sequence[ShownNeed]
    chunks: Sequence[ShownChunk]
    skipped: int


def worst_queries(run: RunTables, configuration: str, most: int) -> list[ShownQuery]:
    """Up to `most` questions with the worst values of the primary metric, without those that reach their attainable value."""
    values = per_query(run, configuration, str(run.primary))
    return [_shown(run, configuration, place, float(values[place])) for place in _faulty(run, configuration, values)[:most].tolist()]


def _faulty(run: RunTables, configuration: str, values: Floats) -> Ints:
    higher = run.primary.higher_is_better
    attainable = detail(run, configuration, "attainable")
    best = np.where(np.isnan(attainable), np.inf, attainable) if higher else np.zeros(len(values))
    gap = best - values if higher else values
    faulty = np.flatnonzero(gap > 1e-9)
    return faulty[np.argsort(values[faulty] if higher else -values[faulty], kind="stable")]


def _shown(run: RunTables, configuration: str, place: int, value: float) -> ShownQuery:
    question = run.questions.iloc[place]
    query_id = str(question["query_id"])
    context = run.of("context", configuration)
    delivered = context[(context["query_id"] == query_id) & (context["kept"] > context["start"])]
    evidence = run.evidence[run.evidence["query_id"] == query_id]
    needs = [shown_need(run, rows, delivered) for _, rows in evidence.groupby("need", sort=False)]
    chunks, skipped = _chunks(run, query_id, delivered, list(zip(evidence["doc_id"], evidence["start"], evidence["end"], strict=True)))
    return ShownQuery(query_id, str(question["text"]), value, needs, chunks, skipped)


def _chunks(run: RunTables, query_id: str, delivered: pd.DataFrame, evidence: Spans) -> tuple[list[ShownChunk], int]:
    graded = run.judgements[run.judgements["query_id"] == query_id].set_index("doc_id")["relevance"].to_dict()
    shown: list[ShownChunk] = []
    skipped = 0
    columns = (delivered[name].tolist() for name in ("doc_id", "start", "kept", "score"))
    for rank, (doc_id, start, end, score) in enumerate(zip(*columns, strict=True), 1):
        stretches: list[Stretch] = [(low, high, "delivered") for doc, low, high in evidence if doc == doc_id]
        pieces = marked(passage_of(run, doc_id, start, end), start, end, stretches)
        if rank > _SHOWN and all(piece.role == "plain" for piece in pieces):
            skipped += 1
            continue
        shown.append(ShownChunk(rank, doc_id, start, end, score, graded.get(doc_id), skipped, pieces))
        skipped = 0
    return shown, skipped


def shown_need(run: RunTables, alternatives: pd.DataFrame, delivered: pd.DataFrame) -> ShownNeed:
    """Mark what was delivered of a piece of evidence: rows of `evidence`, and those of `context` of which a part was delivered."""
    candidates = []
    for doc_id, start, end in zip(alternatives["doc_id"], alternatives["start"], alternatives["end"], strict=True):
        passage, slices = passage_of(run, doc_id, start, end), delivered[delivered["doc_id"] == doc_id]
        stretches = against_delivered(passage, start, end, list(zip(slices["start"].tolist(), slices["kept"].tolist(), strict=True)))
        covered = sum(high - low for low, high, role in stretches if role == "delivered")
        candidates.append((covered / (end - start), (doc_id, start, end), stretches, passage))
    _, place, stretches, passage = max(candidates, key=lambda candidate: candidate[0])
    roles = {role for _, _, role in stretches}
    state: Literal["delivered", "partly delivered", "missed"] = "missed"
    if "delivered" in roles:
        state = "partly delivered" if len(roles) > 1 else "delivered"
    return ShownNeed(state, *place, len(alternatives) - 1, marked(passage, passage.start, passage.end, stretches, beside=_BESIDE))
