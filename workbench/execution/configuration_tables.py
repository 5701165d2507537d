"""Tables of a run whose rows come from several stages of a configuration: means, values of questions, timings, and the configurations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workbench.context.conditions import RETRIEVED
from workbench.execution.dataset_tables import slice_fields
from workbench.metrics.families.margins import answerable_auroc
from workbench.pipeline.stage_results import StageResults
from workbench.pipeline.target_tables import unknown_questions
from workbench.statistics.answers import pooled
from workbench.statistics.clusters import query_clusters, weighted
from workbench.statistics.summary import summarise

# The stages that judge.
_JUDGING = ("claims", "verdicts", "judgements")
# The timings of what calls of a run cost, by the columns of their records.
_ANSWERS_COST = {"tokens_answer_input": "input_tokens", "tokens_answer_output": "output_tokens", "cost_answers": "cost"}
_JUDGES_COST = {"tokens_judge_input": "input_tokens", "tokens_judge_output": "output_tokens", "cost_judges": "cost"}


def metrics_table(results: StageResults) -> pd.DataFrame:
    """Return each metric's mean over all queries and each slice, and how well scores separate answerable questions.

    Metrics of answers have a mean for each condition, of which repeats and perturbations are averaged within each question first, and no row for a
    condition in which they never apply.
    """
    run, scores, metadata = results.run, results.scores_table, [slice_fields(query) for query in results.run.dataset.queries]
    clusters = weighted(query_clusters(run.labels), run.average)
    of_answers = scores["metric"].isin([str(metric) for metric in run.metrics if metric.of_answers])
    ranked = summarise(scores[~of_answers], clusters, metadata, run.slices)
    tables = [pd.concat([ranked, _separation(results)], ignore_index=True).assign(condition=RETRIEVED)]
    for condition, rows in scores[of_answers].groupby("condition", sort=False):
        means = summarise(pooled(rows), clusters, metadata, run.slices).assign(condition=condition)
        tables.append(means[(means["n"] > 0) | (means["unscored"] > 0)])
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _separation(results: StageResults) -> pd.DataFrame:
    """Measure how well the top score separates answerable questions from others.

    Returns no row unless the dataset has both, and for a target without scores.
    """
    ranked, answerable = results.ranked("about"), results.run.labels.answerable
    if "responses" in results.entries:
        scores = results.entry("responses").table("hits")["score"]
        if scores.empty or scores.isna().any():
            return pd.DataFrame()
        served = ~ranked["query"].isin(results.entry("responses").table("failures")["query"])
        ranked, answerable = ranked[served], answerable[served]
    value = answerable_auroc(ranked["top"].to_numpy(), answerable)
    row = {"metric": "answerable_auroc", "slice": "all", "value": value, "n": len(ranked), "unscored": 0, "attainable": 1.0}
    return pd.DataFrame([row | {"conditional": ""}] if value is not None else [])


def queries_table(results: StageResults) -> pd.DataFrame:
    """Return every metric of every query in every variant."""
    rows = results.scores_table
    return rows.assign(query_id=results.run.query_ids[rows["query"].to_numpy(np.int64)])


def timings_table(results: StageResults, latencies: Mapping[str, float]) -> pd.DataFrame:
    """Return seconds and whether computed by stage, latencies in milliseconds, costs, and the gap of Chroma's index."""
    timings: dict[str, float] = {}
    for stage, seconds in results.seconds.items():
        timings |= {f"seconds_{stage}": seconds, f"computed_{stage}": float(results.computed[stage])}
    timings |= latencies
    searches = results.entry("hits").values("searches")
    if "vectors" in results.entries:
        encoded = results.entry("vectors")
        spent: dict[str, Any] = encoded.values("encoded") if encoded.computed else {"tokens": 0, "billed": 0, "cost": None}
        timings |= {"tokens_encoded": spent["tokens"], "tokens_billed": spent["billed"]}
        timings |= {"cost": spent["cost"]} if spent["cost"] is not None else {}
        timings |= {"index_bytes": searches["index_bytes"]}
    timings |= _answer_timings(results) | _judging_timings(results) | _failed_tries(results)
    if searches["overlap"] is not None:
        timings[f"chroma_overlap@{results.configuration.k}"] = searches["overlap"]
    changes = {metric: entry.values("change") for metric, entry in results.entries["scores"].items()}
    timings |= {f"chroma_change_{metric}": change for metric, change in changes.items() if change is not None}
    return pd.DataFrame(timings.items(), columns=["name", "value"])


def _answer_timings(results: StageResults) -> dict[str, float]:
    """Return the milliseconds of an answer in the condition `retrieved`, and the tokens and cost of this run's calls, if all are known."""
    if "answers" not in results.entries:
        return {}
    timings: dict[str, float] = {}
    spent = dict.fromkeys(_ANSWERS_COST, 0.0)
    for name, entry in results.entries["answers"].items():
        calls, rows = entry.values("calls"), entry.table("answers")
        seconds, answered = np.array(calls["seconds"], dtype=np.float64), (rows["error"] == "").to_numpy()
        timed = seconds[answered & (seconds > 0)]
        if name in ("", RETRIEVED) and len(timed):
            timings |= {f"latency_answer_p{percent}": float(np.percentile(timed, percent) * 1000) for percent in (50, 95)}
        new = ~np.array(calls["cached"], dtype=np.bool_) if entry.computed else np.zeros(len(rows), dtype=np.bool_)
        # A sum with an unknown part is unknown: servers may count no tokens, and models have no prices.
        for cost, column in _ANSWERS_COST.items():
            spent[cost] += float(rows.loc[new & answered, column].astype("float64").sum(skipna=False))
    return timings | {name: value for name, value in spent.items() if not np.isnan(value)}


def _judging_timings(results: StageResults) -> dict[str, float]:
    """Return the judgements that models made in this run, with their tokens and cost if all are known. Empty if no judge calls a model."""
    made_now, spent = 0, dict.fromkeys(_JUDGES_COST, 0.0)
    judged = [(entry, entry.values("calls")) for entry in results.parts(*_JUDGING)]
    if not any(calls["seconds"] for _, calls in judged):
        return {}
    for entry, calls in judged:
        new = [place for place, seconds in enumerate(calls["seconds"]) if entry.computed and seconds and not calls["cached"][place]]
        made_now += len(new)
        for cost, column in _JUDGES_COST.items():
            spent[cost] += float(sum(np.nan if calls[column][place] is None else calls[column][place] for place in new))
    return {"judgements_made": float(made_now)} | {name: value for name, value in spent.items() if not np.isnan(value)}


def _failed_tries(results: StageResults) -> dict[str, float]:
    """Return the tries of calls without a usable reply, as counted when answers and judgements were made, and the most that they can have cost."""
    calls = [entry.values("calls") for entry in results.parts("answers", *_JUDGING)]
    tries = sum(sum(each.get("lost_tries", ())) for each in calls)
    costs = [cost for each in calls for cost in each.get("lost_cost", ()) if cost is not None]
    return ({"failed_tries": float(tries)} if tries else {}) | ({"failed_tries_cost": sum(costs)} if costs else {})


def configuration_row(results: StageResults) -> dict[str, Any]:
    """Return a row of `configurations`: the fields of a configuration and counts of its results."""
    delivered, configuration, chunks = results.delivered, results.configuration, results.chunks_table
    budget, queries = configuration.delivery(results.run.primary).tokens, len(results.run.query_ids)
    by_query = np.bincount(delivered["query"], delivered["delivered_tokens"], queries).astype(np.float64)
    # What a target delivers is known of the questions that it served, with the places of all hits.
    served = np.ones(queries, dtype=np.bool_)
    if "responses" in results.entries:
        served[unknown_questions(results.entry("responses"), "chunks", queries)] = False
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
        "tokens": int(results.input_lengths.sum()) if whole else None,
        "truncated_tokens": int(results.truncated.sum()),
        "truncated_chunks": int((results.truncated > 0).sum()),
        "context_tokens": np.nan if (up_to_cut := results.entry("explanations").values("tokens")) is None else float(up_to_cut),
        "delivered_tokens": float(tokens),
        "tied_queries": float(results.ranked("about")["tied"].mean()),
        "token_budget": budget,
        "delivered_chunks": len(delivered) / max(1, delivered["query"].nunique()),
        "unfilled_queries": float((by_query < (budget or 0))[served].mean()) if served.any() else np.nan,
        "k_tokens": results.k_tokens if served.any() else np.nan,
        "answering": configuration.answering.kind if configuration.answering else None,
        "budget": configuration.context.budget if configuration.context else None,
    }
