"""Build the tables of a run from its dataset and each finished configuration."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.fingerprint import fingerprint
from workbench.execution.answering.answers_table import answer_timings, answers_table
from workbench.execution.judging.claims_table import answer_judgements_table, claims_table
from workbench.execution.judging.costs import judging_timings
from workbench.execution.result import Result
from workbench.execution.slice_fields import slice_fields
from workbench.execution.target_tables import samples_table, targets_table
from workbench.metrics.coverage import Union
from workbench.metrics.delivery import delivered_ends
from workbench.metrics.families.margins import answerable_auroc
from workbench.metrics.inputs import Labels
from workbench.pipeline.context import RunContext
from workbench.pipeline.searched_queries import REWRITES
from workbench.pipeline.stages.vectors import input_lengths
from workbench.pipeline.target_tables import unknown_questions
from workbench.records import Dataset
from workbench.results.run_tables import RETRIEVED, empty
from workbench.schemas import SCHEMAS
from workbench.statistics.answers import pooled
from workbench.statistics.clusters import query_clusters, weighted
from workbench.statistics.summary import summarise

# Characters shown on each side of a piece of evidence, so that readers see a missed one in context.
_BESIDE = 160
# The stages that call models, and count what their calls cost.
_CALLING = ("answers", "claims", "verdicts", "judgements")
# Half a surrogate pair is a character that UTF-8 cannot encode.
_LONE = re.compile("[\ud800-\udfff]")


def questions_table(dataset: Dataset, labels: Labels) -> pd.DataFrame:
    """Return a row for each query, in the dataset's order."""
    queries, clusters = dataset.queries, query_clusters(labels)
    rows = [
        (query.query_id, plain(query.text), query.answerable, plain(query.answer), json.dumps(slice_fields(query))) for query in queries
    ]
    table = pd.DataFrame(rows, columns=["query_id", "text", "answerable", "answer", "metadata"])
    return table.assign(cluster=clusters.codes, documents=[json.dumps(numbers) for numbers in clusters.documents])


def documents_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each document. Baselines compare the fingerprints, which need not resist an attacker."""
    rows = [(each.doc_id, fingerprint(each.title, each.text)[:12], len(each.text)) for each in dataset.corpus]
    return pd.DataFrame(rows, columns=["doc_id", "fingerprint", "characters"])


def judgements_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each judgement."""
    return pd.DataFrame({name: [getattr(qrel, name) for qrel in dataset.qrels] for name in ("query_id", "doc_id", "relevance")})


def evidence_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each alternative of each need."""
    rows = [
        (need.query_id, number, place, span.doc_id, span.start, span.end)
        for number, need in enumerate(dataset.needs)
        for place, span in enumerate(need.alternatives)
    ]
    return pd.DataFrame(rows, columns=["query_id", "need", "alternative", "doc_id", "start", "end"])


def passages_table(dataset: Dataset, labels: Labels, shown: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return passages that cover every slice (doc, start, end) in `shown`, and all evidence with the text around it."""
    low, high = labels.offsets[labels.alternative_doc], labels.offsets[labels.alternative_doc + 1] - 1
    starts, ends = [np.maximum(labels.alternative_start - _BESIDE, low)], [np.minimum(labels.alternative_end + _BESIDE, high)]
    for slices in shown:
        origin = labels.offsets[slices["doc"].to_numpy(np.int64)]
        starts.append(origin + slices["start"].to_numpy(np.int64))
        ends.append(origin + slices["end"].to_numpy(np.int64))
    union = Union.of(np.concatenate(starts), np.concatenate(ends))
    rows = labels.places(union.starts, union.ends)
    passages = [(dataset.documents[doc].doc_id, start, end, plain(labels.texts[doc][start:end])) for doc, start, end in rows]
    return pd.DataFrame(passages, columns=["doc_id", "start", "end", "text"])


def plain(text: str) -> str:
    """Replace characters that UTF-8 cannot encode by U+FFFD."""
    return _LONE.sub("\ufffd", text) if not text.isascii() else text


def metrics_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return each metric's mean over all queries and each slice, and how well scores separate answerable questions.

    Metrics of answers have a mean for each condition, of which repeats and perturbations are averaged within each question first, and no row for a
    condition in which they never apply.
    """
    scores, metadata = result.scores_table, [slice_fields(query) for query in context.dataset.queries]
    clusters, of_answers = weighted(query_clusters(context.labels), context.average), scores["metric"].isin(_answer_metrics(context))
    means = summarise(scores[~of_answers], clusters, metadata, context.slices)
    ranked = pd.concat([means, _separation(context, result)], ignore_index=True).assign(condition=RETRIEVED)
    answered = joined(
        [
            summarise(pooled(rows), clusters, metadata, context.slices).assign(condition=condition)
            for condition, rows in scores[of_answers].groupby("condition", sort=False)
        ]
    )
    return joined([ranked, answered[(answered["n"] > 0) | (answered["unscored"] > 0)] if len(answered) else answered])


def _answer_metrics(context: RunContext) -> list[str]:
    return [str(metric) for metric in context.metrics if metric.of_answers]


def _separation(context: RunContext, result: Result) -> pd.DataFrame:
    """Measure how well the top score separates answerable questions from others.

    Returns no row unless the dataset has both, and for a target without scores.
    """
    ranked, answerable = result.ranked("about"), context.labels.answerable
    if "responses" in result.entries:
        scores = result.entry("responses").table("hits")["score"]
        if scores.empty or scores.isna().any():
            return pd.DataFrame()
        served = ~ranked["query"].isin(result.entry("responses").table("failures")["query"])
        ranked, answerable = ranked[served], answerable[served]
    value = answerable_auroc(ranked["top"].to_numpy(), answerable)
    row = {
        "metric": "answerable_auroc",
        "slice": "all",
        "value": value,
        "n": len(ranked),
        "unscored": 0,
        "attainable": 1.0,
        "conditional": "",
    }
    return pd.DataFrame([row] if value is not None else [])


def queries_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every metric of every query in every variant."""
    return result.scores_table.assign(query_id=context.query_ids[result.scores_table["query"].to_numpy(np.int64)])


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables without empty ones, whose columns have no types."""
    return pd.concat([part for part in parts if len(part)] or [*parts[:1], pd.DataFrame()], ignore_index=True)


def hits_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return all ranked hits.

    `chunk_id` names the slice that was searched, `start` and `end` delimit the slice to deliver, and `kept` ends its delivered part.
    """
    hits, chunks, labels = result.all_hits, result.chunks_table, context.labels
    doc_ids, chunk_ids = context.doc_ids[chunks["doc"]], _chunk_ids(context, result)
    rows, delivered_tokens = hits["chunk"].to_numpy(), hits["delivered_tokens"].to_numpy(np.int64)
    origins = labels.offsets[chunks["doc"].to_numpy(np.int64)][rows]
    starts, ends = (edges[rows] for edges in labels.positions(chunks, "delivered_start", "delivered_end"))
    kept = delivered_ends(labels, starts, ends, delivered_tokens, chunks["tokens"].to_numpy(np.int64)[rows])
    return hits.assign(
        query_id=context.query_ids[hits["query"]],
        chunk_id=chunk_ids[rows],
        doc_id=doc_ids[rows],
        start=chunks["delivered_start"].to_numpy()[rows],
        end=chunks["delivered_end"].to_numpy()[rows],
        kept=np.where(hits["delivered"], kept, starts) - origins,
    )


def hit_sources_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return rank and score of each hit in each ranking that was fused. Returns no row for a single retriever."""
    if not result.configuration.fuses:
        return empty(SCHEMAS["hit_sources"])
    hits = result.ranked("hits")[["query", "rank", "chunk"]]
    sources = result.hits.table(f"{result.configuration.evaluated}_sources").rename(
        columns={"rank": "retriever_rank", "score": "retriever_score"}
    )
    rows = hits.merge(sources, on=["query", "chunk"]).sort_values(["query", "rank"], kind="stable")
    return rows.assign(query_id=context.query_ids[rows["query"]], chunk_id=_chunk_ids(context, result)[rows["chunk"]])


def _chunk_ids(context: RunContext, result: Result) -> NDArray[np.object_]:
    """Return the id of each chunk. Shape (chunks,)."""
    chunks = result.chunks_table
    places = zip(context.doc_ids[chunks["doc"]], chunks["start"], chunks["end"], strict=True)
    return np.array([f"{doc}:{start}-{end}" for doc, start, end in places], dtype=object)


def timings_table(_: RunContext, result: Result) -> pd.DataFrame:
    """Return seconds and whether computed by stage, latencies in milliseconds, and the gap of Chroma's index."""
    timings: dict[str, float] = {}
    for stage, seconds in result.seconds.items():
        timings |= {f"seconds_{stage}": seconds, f"computed_{stage}": float(result.computed[stage])}
    timings |= result.latencies
    searches = result.hits.values("searches")
    if "vectors" in result.entries:
        encoded = result.entry("vectors")
        spent: dict[str, Any] = encoded.values("encoded") if encoded.computed else {"tokens": 0, "billed": 0, "cost": None}
        timings |= {"tokens_encoded": spent["tokens"], "tokens_billed": spent["billed"]}
        timings |= {"cost": spent["cost"]} if spent["cost"] is not None else {}
        timings |= {"index_bytes": searches["index_bytes"]}
    timings |= answer_timings(result) | judging_timings(result) | _failed_tries(result)
    if searches["overlap"] is not None:
        timings[f"chroma_overlap@{result.configuration.k}"] = searches["overlap"]
    changes = {metric: entry.values("change") for metric, entry in result.entries["scores"].items()}
    timings |= {f"chroma_change_{metric}": change for metric, change in changes.items() if change is not None}
    return pd.DataFrame(timings.items(), columns=["name", "value"])


def _failed_tries(result: Result) -> dict[str, float]:
    """Return the tries of calls without a usable reply, as counted when answers and judgements were made, and the most that they can have cost."""
    calls = [entry.values("calls") for stage in _CALLING for entry in result.entries.get(stage, {}).values()]
    tries = sum(sum(each.get("lost_tries", ())) for each in calls)
    costs = [cost for each in calls for cost in each.get("lost_cost", ()) if cost is not None]
    return ({"failed_tries": float(tries)} if tries else {}) | ({"failed_tries_cost": sum(costs)} if costs else {})


def rewrites_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return what was searched for each question in place of its text. Empty without a rewriter."""
    if (stage := next((name for name in ("rewritten", "feedback") if name in result.entries), None)) is None:
        return pd.DataFrame({"query_id": [], "number": [], "text": [], "role": []})
    rows = result.entry(stage).table(REWRITES)
    return rows.assign(query_id=context.query_ids[rows["query"]], text=[plain(text) for text in rows["text"]])


def context_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the slices that the primary metric reads."""
    rows = result.entry("explanations").table("context")
    return rows.assign(query_id=context.query_ids[rows["query"]], doc_id=context.doc_ids[rows["doc"]])


def causes_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the cause of each miss, with the missed evidence or document, and that of each failed answer, with what shows it."""
    return joined([_missed_evidence(context, result), _failed_answers(context, result)])


def _missed_evidence(context: RunContext, result: Result) -> pd.DataFrame:
    rows, needs = result.entry("explanations").table("misses"), context.dataset.needs
    spans = [needs[need].alternatives[0] if need >= 0 else None for need in rows["need"].tolist()]
    doc_ids = [span.doc_id if span else context.doc_ids[doc] for span, doc in zip(spans, rows["doc"].tolist(), strict=True)]
    evidence = [f"{doc_id}:{span.start}-{span.end}" if span else doc_id for span, doc_id in zip(spans, doc_ids, strict=True)]
    query_ids = context.query_ids[rows["query"].to_numpy(np.int64)]
    rows = rows.assign(condition=RETRIEVED, variant="", repeat=0, subject="evidence")
    return rows.assign(query_id=query_ids, evidence=evidence, doc_id=doc_ids)


def _failed_answers(context: RunContext, result: Result) -> pd.DataFrame:
    if "answer_causes" not in result.entries:
        return empty(SCHEMAS["causes"])
    rows = result.entry("answer_causes").table("causes")
    query_ids, texts = context.query_ids[rows["query"].to_numpy(np.int64)], [plain(text) for text in rows["evidence"]]
    return rows.assign(query_id=query_ids, evidence=texts, need=-1, doc_id="", rank=0, subject="answer")


def query_details_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the details of each query by the primary metric."""
    ranked = result.ranked("about").set_index("query").reindex(range(len(context.query_ids)))
    attainable = result.entries["scores"][str(context.primary)].table("scores")["attainable"].to_numpy(np.float64)
    details = result.entry("explanations").table("details").assign(query_id=context.query_ids, attainable=attainable)
    top = ranked["top"].to_numpy(np.float64)
    return details.assign(top_score=np.where(np.isfinite(top), top, np.nan), tied=ranked["tied"].eq(True).to_numpy())


def chunk_faults_table(_: RunContext, result: Result) -> pd.DataFrame:
    """Return the faults of the chunks, with examples as JSON. A target has its own chunks, of which only some are known."""
    if "chunk_faults" not in result.entries:
        return empty(SCHEMAS["chunk_faults"])
    rows = pd.DataFrame(result.entry("chunk_faults").values("faults")).rename(columns={"name": "fault"})
    return rows.assign(examples=[json.dumps(examples) for examples in rows["examples"]])


def chunk_lengths_table(_: RunContext, result: Result) -> pd.DataFrame:
    """Count chunks by number of tokens in their inputs, or in the delivered slices without embeddings."""
    embedded = "vectors" in result.entries
    lengths = input_lengths(result.entries) if embedded else result.chunks_table["tokens"].to_numpy(np.int64)
    tokens, chunks = np.unique(lengths, return_counts=True)
    return pd.DataFrame({"tokens": tokens, "chunks": chunks})


def configuration_row(context: RunContext, result: Result) -> dict[str, Any]:
    """Return a row of `configurations`: the fields of a configuration and counts of its results."""
    delivered, configuration, chunks = result.delivered, result.configuration, result.chunks_table
    budget, queries = configuration.delivery(result.primary).tokens, len(context.query_ids)
    by_query = np.bincount(delivered["query"], delivered["delivered_tokens"], queries).astype(np.float64)
    # What a target delivers is known of the questions that it served, with the places of all hits.
    served = np.ones(queries, dtype=np.bool_)
    if "responses" in result.entries:
        served[unknown_questions(result.entry("responses"), "chunks", queries)] = False
    whole = "chunks" not in configuration.provided
    tokens = np.where(served, by_query, 0.0).sum() / served.sum() if served.any() else np.nan
    return {
        "configuration": configuration.name,
        **configuration.fields,
        "search": configuration.evaluated,
        "k": configuration.k,
        "neighbours": configuration.neighbours,
        # The chunks of a target are not known, only those that it returned.
        "chunks": len(chunks) if whole else None,
        "tokens": int(input_lengths(result.entries).sum()) if whole else None,
        "truncated_tokens": int(result.truncated.sum()),
        "truncated_chunks": int((result.truncated > 0).sum()),
        "context_tokens": np.nan if (up_to_cut := result.entry("explanations").values("tokens")) is None else float(up_to_cut),
        "delivered_tokens": float(tokens),
        "tied_queries": float(result.ranked("about")["tied"].mean()),
        "token_budget": budget,
        "delivered_chunks": len(delivered) / max(1, delivered["query"].nunique()),
        "unfilled_queries": float((by_query < (budget or 0))[served].mean()) if served.any() else np.nan,
        "k_tokens": result.k_tokens if served.any() else np.nan,
        "answering": configuration.answering.kind if configuration.answering else None,
        "budget": configuration.context.budget if configuration.context else None,
    }


CONFIGURATION_TABLES: Mapping[str, Callable[[RunContext, Result], pd.DataFrame]] = {
    "metrics": metrics_table,
    "queries": queries_table,
    "hits": hits_table,
    "hit_sources": hit_sources_table,
    "timings": timings_table,
    "context": context_table,
    "causes": causes_table,
    "query_details": query_details_table,
    "chunk_faults": chunk_faults_table,
    "chunk_lengths": chunk_lengths_table,
    "rewrites": rewrites_table,
    "answers": answers_table,
    "claims": claims_table,
    "answer_judgements": answer_judgements_table,
    "targets": targets_table,
    "samples": samples_table,
}
