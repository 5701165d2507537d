"""A finished run as the tables that a sweep leaves."""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.execution.local import Outcome, Result
from workbench.metrics.separation import answerable_auroc
from workbench.models.tokenizers import Ints
from workbench.retrieval.rank import Floats
from workbench.statistics.clusters import query_clusters
from workbench.statistics.summary import summarise

CONDITION = "retrieved"


@lru_cache(maxsize=4)
def metrics_table(outcome: Outcome) -> pd.DataFrame:
    """configuration, condition, metric, slice, value, low, high, n, clusters, unscored, attainable; kept, since the history asks again."""
    clusters = query_clusters(outcome.bench.labels)
    metadata = [query.metadata for query in outcome.bench.dataset.queries]
    parts = []
    for result in outcome.results:
        table = pd.concat([summarise(result.scores.table("scores"), clusters, metadata), _separation(outcome, result)], ignore_index=True)
        parts.append(_named(table, result, condition=CONDITION))
    return _joined(parts)


def _separation(outcome: Outcome, result: Result) -> pd.DataFrame:
    """How well the top score tells answerable questions from the others; no row where there are no others."""
    about = result.hits.table(f"{result.search}_about")
    value = answerable_auroc(about["top"].to_numpy(), outcome.bench.labels.answerable)
    row = {"metric": "answerable_auroc", "slice": "all", "value": value, "n": len(about), "unscored": 0, "attainable": 1.0}
    return pd.DataFrame([row] if value is not None else [])


def queries_table(outcome: Outcome) -> pd.DataFrame:
    """configuration, condition, variant, repeat, query_id, metric, value, state, reason."""
    ids = np.array([query.query_id for query in outcome.bench.dataset.queries], dtype=object)
    parts = []
    for result in outcome.results:
        scores = result.scores.table("scores")
        parts.append(
            _named(
                pd.DataFrame({"query_id": ids[scores["query"]]} | {name: scores[name] for name in ("metric", "value", "state", "reason")}),
                result,
                condition=CONDITION,
                variant="",
                repeat=0,
            )
        )
    return _joined(parts)


def hits_table(outcome: Outcome) -> pd.DataFrame:
    """configuration, query_id, rank, chunk_id, doc_id, start, end, score, delivered, cut_reason.

    `chunk_id` names the slice that was searched; `start` and `end` are those of the slice delivered for it, which is larger
    where children are searched and parents delivered.
    """
    queries = np.array([query.query_id for query in outcome.bench.dataset.queries], dtype=object)
    documents = np.array([document.doc_id for document in outcome.bench.dataset.documents], dtype=object)
    parts = []
    for result in outcome.results:
        hits, chunks = result.all_hits, result.chunks.table("chunks")
        doc_ids = documents[chunks["doc"]]
        chunk_ids = np.array(
            [f"{doc}:{start}-{end}" for doc, start, end in zip(doc_ids, chunks["start"], chunks["end"], strict=True)], object
        )
        places = hits["chunk"].to_numpy()
        columns = {
            "query_id": queries[hits["query"]],
            "rank": hits["rank"],
            "chunk_id": chunk_ids[places],
            "doc_id": doc_ids[places],
            "start": chunks["delivered_start"].to_numpy()[places],
            "end": chunks["delivered_end"].to_numpy()[places],
            "score": hits["score"],
            "delivered": hits["delivered"],
            "cut_reason": hits["cut_reason"],
        }
        parts.append(_named(pd.DataFrame(columns), result))
    return _joined(parts)


def configurations_table(outcome: Outcome) -> pd.DataFrame:
    """A row for each configuration: its fields, chunks, tokens, truncated_tokens, delivered_tokens, tied_queries; failed ones with their error."""
    rows: list[dict[str, Any]] = []
    for result in outcome.results:
        tied = result.hits.table(f"{result.search}_about")["tied"]
        rows.append(result.summary | {"tied_queries": float(tied.mean()), "error": None})
    rows += [{"configuration": name, "error": line} for name, line in outcome.failures.items()]
    return pd.DataFrame(rows)


def timings_table(outcome: Outcome) -> pd.DataFrame:
    """configuration, name, value: seconds and whether computed by stage, latencies in milliseconds, and the gap of Chroma's index."""
    return _joined([_named(pd.DataFrame(_timings(result)), result) for result in outcome.results])


def _timings(result: Result) -> list[dict[str, Any]]:
    found: dict[str, float] = {}
    for stage, entry in result.stages.items():
        found |= {f"seconds_{stage}": entry.seconds, f"computed_{stage}": float(entry.computed)}
    found |= _latencies("exact", result.hits.array("exact_seconds"))
    if result.embedded:
        embedded, overlap, gap = result.embedded, result.scores.values("overlap"), result.scores.table("gap")
        found |= {"seconds_index": embedded.index_seconds, "computed_index": float(embedded.index_built)}
        spent: dict[str, Any] = (
            embedded.vectors.values("encoded") if embedded.vectors.computed else {"tokens": 0, "billed": 0, "cost": None}
        )
        found |= {"tokens_encoded": spent["tokens"], "tokens_billed": spent["billed"]}
        found |= {"cost": spent["cost"]} if spent["cost"] is not None else {}
        found |= {"index_bytes": result.hits.values("index")["bytes"]}
        found |= _latencies("embed", embedded.queries.array("seconds")) | _latencies("chroma", result.hits.array("ann_seconds"))
        found[f"chroma_overlap@{overlap['k']}"] = overlap["overlap"]
        found |= {f"chroma_change_{metric}": change for metric, change in zip(gap["metric"], gap["change"], strict=True)}
    return [{"name": name, "value": float(value)} for name, value in found.items()]


def _latencies(step: str, seconds: Floats) -> dict[str, float]:
    """Median and 95th percentile in milliseconds; nothing where nobody took the time."""
    if not len(seconds):
        return {}
    return {f"latency_{step}_p50": float(np.median(seconds)) * 1000, f"latency_{step}_p95": float(np.quantile(seconds, 0.95)) * 1000}


def run_lines(outcome: Outcome, result: Result) -> str:
    """The document ranking in TREC's run format.

    Scores are the cosines, nudged to the next lower 32-bit float where they tie, so that trec_eval, which reads 32-bit floats
    and orders ties its own way, sees exactly our ranks. Blanks in ids, which the format cannot hold, become `_`.
    """
    ranking = result.hits.table(f"{result.search}_ranking")
    queries = ["_".join(query.query_id.split()) for query in outcome.bench.dataset.queries]
    documents = ["_".join(document.doc_id.split()) for document in outcome.bench.dataset.documents]
    rank = ranking["rank"].to_numpy(np.int64)
    scores = strictly_descending(ranking["score"].to_numpy(np.float64), rank)
    texts = pa.string()
    columns = [
        pa.array(queries, texts).take(pa.array(ranking["query"])),
        "Q0",
        pa.array(documents, texts).take(pa.array(ranking["doc"])),
        pa.array(rank).cast(texts),
        pa.array(scores.astype(np.float64)).cast(texts),
        result.configuration.name,
    ]
    # By columns: a line at a time takes three times as long, as long as all tables together.
    lines = pc.binary_join_element_wise(*columns, " ").to_pylist()
    return "".join(f"{line}\n" for line in lines)


def strictly_descending(scores: Floats, rank: Ints) -> NDArray[np.float32]:
    """Scores as 32-bit floats (n) that fall from rank to rank; `rank` (n) begins again at 1 with each ranking."""
    found = scores.astype(np.float32)
    for depth in range(2, int(rank.max(initial=1)) + 1):
        here = np.flatnonzero(rank == depth)
        found[here] = np.minimum(found[here], np.nextafter(found[here - 1], np.float32(-np.inf)))
    return found


def _named(table: pd.DataFrame, result: Result, **constants: Any) -> pd.DataFrame:
    for place, (name, value) in enumerate({"configuration": result.configuration.name, **constants}.items()):
        table.insert(place, name, value)
    return table


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"configuration": pd.Series(dtype="str")})
