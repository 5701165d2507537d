"""A finished run as the tables of its results, and its document rankings as TREC's run files."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.execution.local import Outcome
from workbench.execution.result import Result
from workbench.metrics.families.margins import answerable_auroc
from workbench.models.tokenizers import Ints
from workbench.results.run_tables import RETRIEVED
from workbench.results.tables import joined
from workbench.retrieval.rank import Floats
from workbench.schemas import SCHEMAS
from workbench.statistics.clusters import query_clusters
from workbench.statistics.summary import summarise


def metrics_table(outcome: Outcome) -> pd.DataFrame:
    """The means of every metric over all queries and over each slice, and how well scores separate answerable questions."""
    clusters = query_clusters(outcome.context.labels)
    metadata = [query.metadata for query in outcome.context.dataset.queries]
    parts = []
    for result in outcome.results:
        table = pd.concat([summarise(result.scores_table, clusters, metadata), _separation(outcome, result)], ignore_index=True)
        parts.append(_named(table, result, condition=RETRIEVED))
    return _table("metrics", parts)


def _separation(outcome: Outcome, result: Result) -> pd.DataFrame:
    """How well the top score tells answerable questions from the others; no row where there are no others."""
    about = result.hits.table(f"{result.search}_about")
    value = answerable_auroc(about["top"].to_numpy(), outcome.context.labels.answerable)
    row = {"metric": "answerable_auroc", "slice": "all", "value": value, "n": len(about), "unscored": 0, "attainable": 1.0}
    return pd.DataFrame([row] if value is not None else [])


def queries_table(outcome: Outcome) -> pd.DataFrame:
    """Every metric of every query."""
    ids = outcome.context.query_ids
    parts = []
    for result in outcome.results:
        scores = result.scores_table
        columns = {"query_id": ids[scores["query"]]} | {name: scores[name] for name in ("metric", "value", "state", "reason")}
        parts.append(_named(pd.DataFrame(columns), result, condition=RETRIEVED, variant="", repeat=0))
    return _table("queries", parts)


def hits_table(outcome: Outcome) -> pd.DataFrame:
    """Every hit that was looked at.

    `chunk_id` names the slice that was searched; `start` and `end` are those of the slice delivered for it, which is larger
    where children are searched and parents delivered.
    """
    queries, documents = outcome.context.query_ids, outcome.context.doc_ids
    parts = []
    for result in outcome.results:
        hits, chunks = result.all_hits, result.chunks_table
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
    return _table("hits", parts)


def configurations_table(outcome: Outcome) -> pd.DataFrame:
    """A row for each configuration: its fields and what they make; failed ones with their error."""
    rows: list[dict[str, Any]] = []
    for result in outcome.results:
        tied = result.hits.table(f"{result.search}_about")["tied"]
        rows.append(result.summary | {"tied_queries": float(tied.mean()), "error": None})
    rows += [{"configuration": name, "error": line} for name, line in outcome.failures.items()]
    return pd.DataFrame(rows, columns=SCHEMAS["configurations"].names)


def timings_table(outcome: Outcome) -> pd.DataFrame:
    """Seconds and whether computed by stage, latencies in milliseconds, and the gap of Chroma's index."""
    return _table("timings", [_named(pd.DataFrame(_timings(result)), result) for result in outcome.results])


def _timings(result: Result) -> list[dict[str, Any]]:
    found: dict[str, float] = {}
    for stage, seconds in result.seconds.items():
        found |= {f"seconds_{stage}": seconds, f"computed_{stage}": float(result.computed[stage])}
    found |= _latencies("question", _question_seconds(result))
    searches = result.hits.values("searches")
    for search, step in (("exact", "exact"), ("ann", "chroma")):
        found |= _latencies(step, result.hits.array(f"{search}_seconds")) if search in searches["names"] else {}
    if result.embeds:
        encoded = result.entry("vectors")
        spent: dict[str, Any] = encoded.values("encoded") if encoded.computed else {"tokens": 0, "billed": 0, "cost": None}
        found |= {"tokens_encoded": spent["tokens"], "tokens_billed": spent["billed"]}
        found |= {"cost": spent["cost"]} if spent["cost"] is not None else {}
        found |= {"index_bytes": searches["index_bytes"]} | _latencies("embed", result.entry("queries").array("seconds"))
    if searches["overlap"] is not None:
        found[f"chroma_overlap@{result.configuration.retrieval.k}"] = searches["overlap"]
    changes = {metric: entry.values("change") for metric, entry in result.entries["scores"].items()}
    found |= {f"chroma_change_{metric}": change for metric, change in changes.items() if change is not None}
    return [{"name": name, "value": float(value)} for name, value in found.items()]


def _question_seconds(result: Result) -> Floats:
    """The seconds of up to 50 questions, embedding and search together."""
    search: Floats = result.hits.array(f"{result.search}_seconds").astype(np.float64)
    if not result.embeds:
        return search
    embedding = result.entry("queries").array("seconds")
    both = min(len(search), len(embedding))
    found: Floats = search[:both] + embedding[:both]
    return found


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
    queries = ["_".join(query_id.split()) for query_id in outcome.context.query_ids]
    documents = ["_".join(doc_id.split()) for doc_id in outcome.context.doc_ids]
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
    return table.assign(configuration=result.configuration.name, **constants)


def _table(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    return joined(SCHEMAS[name], parts)
