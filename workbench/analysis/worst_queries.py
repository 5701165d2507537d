"""The questions that a configuration serves worst, with what was delivered for them and what was missed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.attribution.evidence_causes import looked_at
from workbench.context.delivery import NO_CUT, delivered, slices
from workbench.core.formatting import count, number, plural
from workbench.execution.local import Result
from workbench.metrics.case import Case, Cut
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import retrieved_of
from workbench.records import Need, Query
from workbench.report.highlights import Piece, Stretch, against_delivered, marked

# Chunks by rank that are shown whatever they hold; later ones only with evidence.
_SHOWN = 4


@dataclass(frozen=True)
class ShownNeed:
    """A piece of evidence: whether it was delivered, where it lies, and its text."""

    state: str
    place: str
    pieces: list[Piece]


@dataclass(frozen=True)
class ShownChunk:
    """A delivered chunk, or in `left_out` how many were passed over."""

    rank: str
    about: str
    pieces: list[Piece]
    left_out: str = ""


@dataclass(frozen=True)
class ShownQuery:
    """A question with its value, its evidence and the chunks delivered for it in rank order."""

    query: Query
    value: str
    needs: list[ShownNeed]
    chunks: list[ShownChunk]


def worst_queries(bench: RunContext, result: Result, primary: Metric, most: int) -> list[ShownQuery]:
    """Up to `most` questions with the worst values of the primary metric; those that reach what is attainable are left out."""
    scores = result.scores.table("scores")
    scored = scores[(scores["metric"] == str(primary)) & (scores["state"] == "scored")]
    best = scored["attainable"].fillna(np.inf) if primary.higher_is_better else 0.0
    gap = (best - scored["value"]) if primary.higher_is_better else scored["value"]
    faulty = scored[gap > 1e-9].sort_values("value", ascending=primary.higher_is_better, kind="stable")
    texts = _delivered(bench, result, looked_at(primary, result))
    needs: dict[str, list[Need]] = {}
    for need in bench.dataset.needs:
        needs.setdefault(need.query_id, []).append(need)
    shown = []
    for position, value in zip(faulty["query"][:most], faulty["value"][:most], strict=True):
        query = bench.dataset.queries[position]
        shown.append(_shown(bench, query, f"{primary} {number(value)}", needs.get(query.query_id, []), texts[texts["query"] == position]))
    return shown


def _delivered(bench: RunContext, result: Result, cut: Cut) -> pd.DataFrame:
    """query, doc, start, end, score: the delivered text of all questions in rank order, exactly as the metrics take it."""
    retrieved = retrieved_of(result.chunks, result.hits, result.search)
    case = Case(bench.labels, retrieved, bench.spans)
    text, table = case.shared(delivered, cut), case.shared(slices, NO_CUT)
    hits = retrieved.hits.assign(piece=table.of_chunk[retrieved.hits["chunk"].to_numpy()]).drop_duplicates(["query", "piece"])
    doc = table.doc[text.piece]
    offsets = bench.labels.offsets[doc]
    found = pd.DataFrame({"query": text.query, "piece": text.piece, "doc": doc, "start": text.starts - offsets, "end": text.ends - offsets})
    return found.merge(hits[["query", "piece", "score"]], on=["query", "piece"], how="left", validate="one_to_one")


def _shown(bench: RunContext, query: Query, value: str, needs: Sequence[Need], texts: pd.DataFrame) -> ShownQuery:
    documents = bench.dataset.documents
    places = {document.doc_id: position for position, document in enumerate(documents)}
    evidence: dict[int, list[Stretch]] = {}
    for need in needs:
        for span in need.alternatives:
            evidence.setdefault(places[span.doc_id], []).append((span.start, span.end, "delivered"))
    graded = {qrel.doc_id: qrel.relevance for qrel in bench.dataset.qrels if qrel.query_id == query.query_id}
    chunks: list[ShownChunk] = []
    passed = 0
    columns = (texts[name].tolist() for name in ("doc", "start", "end", "score"))
    for rank, (doc, start, end, score) in enumerate(zip(*columns, strict=True), 1):
        document = documents[doc]
        pieces = marked(document.text, start, end, evidence.get(doc, []))
        if rank > _SHOWN and all(piece.role == "plain" for piece in pieces):
            passed += 1
            continue
        chunks += _passed_over(passed)
        passed = 0
        about = f"{document.doc_id}:{start}-{end} · score {number(score)}{_grade(graded.get(document.doc_id))}"
        chunks.append(ShownChunk(str(rank), about, pieces))
    return ShownQuery(query, value, [_need(bench, need, places, texts) for need in needs], chunks + _passed_over(passed))


def _need(bench: RunContext, need: Need, places: dict[str, int], texts: pd.DataFrame) -> ShownNeed:
    """The alternative of a need that was delivered best."""
    found = []
    for span in need.alternatives:
        place = places[span.doc_id]
        text = bench.dataset.documents[place].text
        here = texts[texts["doc"] == place]
        stretches = against_delivered(text, span.start, span.end, list(zip(here["start"], here["end"], strict=True)))
        covered = sum(high - low for low, high, role in stretches if role == "delivered")
        found.append((covered / (span.end - span.start), span, stretches, text))
    _, span, stretches, text = max(found, key=lambda one: one[0])
    roles = {role for _, _, role in stretches}
    state = "partly delivered" if len(roles) > 1 else "delivered" if roles == {"delivered"} else "missed"
    others = len(need.alternatives) - 1
    place_of = f"{span.doc_id}:{span.start}-{span.end}" + (f", or {plural(others, 'other place')}" if others else "")
    return ShownNeed(state, place_of, marked(text, 0, len(text), stretches, beside=60))


def _grade(relevance: int | None) -> str:
    if relevance is None:
        return ""
    return " · relevant document" if relevance > 0 else " · known to be irrelevant"


def _passed_over(chunks: int) -> list[ShownChunk]:
    return [ShownChunk("", "", [], f"{count(chunks)} more without evidence")] if chunks else []
