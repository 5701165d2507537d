"""Collect the tables and the manifest of a run, with those of its dataset and the passages that a report shows."""

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workbench import __version__
from workbench.components.context.conditions import RETRIEVED
from workbench.components.retrieval.rank import SEED
from workbench.core import batching
from workbench.core.component import Component, inner_components
from workbench.core.environment import installed_version
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Dataset, Query
from workbench.core.schemas import SCHEMAS, TableSchema
from workbench.core.text.formatting import encodable
from workbench.data.checks import repeats
from workbench.data.files import unread_files
from workbench.llm.models.files import locate, pickles
from workbench.measures.metrics.coverage import Union
from workbench.measures.metrics.documents import answerable_auroc
from workbench.measures.metrics.inputs import Labels
from workbench.measures.statistics.clusters import query_clusters, weighted
from workbench.measures.statistics.summary import pooled, summarise
from workbench.report.analysis.pairwise import comparisons_table
from workbench.report.results.run_manifest import commit
from workbench.report.results.run_tables import WHERE, RunTables
from workbench.runner.execution.latency import QUESTIONS, ROUNDS
from workbench.runner.execution.local import Outcome
from workbench.runner.pipeline.configuration import recorded_settings
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.responses import unknown_questions

# Characters shown on each side of a piece of evidence, so that readers see a missed one in context.
_BESIDE = 160


def questions_table(dataset: Dataset, labels: Labels) -> pd.DataFrame:
    """Return a row for each query, in the dataset's order."""
    queries, clusters = dataset.queries, query_clusters(labels)
    rows = [
        (query.query_id, encodable(query.text), query.answerable, encodable(query.answer), json.dumps(slice_fields(query)))
        for query in queries
    ]
    table = pd.DataFrame(rows, columns=["query_id", "text", "answerable", "answer", "metadata"])
    return table.assign(cluster=clusters.codes, documents=[json.dumps(numbers) for numbers in clusters.documents])


def slice_fields(query: Query) -> dict[str, Any]:
    """Return a query's metadata with its filter as the field `where`, so that filters are shown and define slices as the others do."""
    return ({WHERE: json.dumps(dict(query.where), ensure_ascii=False)} if query.where else {}) | dict(query.metadata)


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


def passages_table(run: RunContext, finished: Sequence[StageResults]) -> pd.DataFrame:
    """Return the text of everything that the report shows: of documents, and what targets have read besides."""
    contexts = [results.contexts_of(variant) for results in finished if "contexts" in results.entries for variant in run.variants]
    passages = [entry.table("passages")[["doc_id", "start", "end", "text"]] for entry in contexts]
    read = pd.concat(passages, ignore_index=True) if passages else pd.DataFrame(columns=["doc_id", "start", "end", "text"])
    slices = read[["doc_id", "start", "end"]].drop_duplicates()
    slices = slices.assign(doc=pd.Index(run.doc_ids).get_indexer(pd.Index(slices["doc_id"])))
    shown = [results.entry("explanations").table("context") for results in finished]
    known = covering_passages(run.dataset, run.labels, [*shown, slices[slices["doc"] >= 0]])
    foreign = read.loc[~read["doc_id"].isin(run.doc_ids), ["doc_id", "start", "text"]].drop_duplicates()
    texts = [encodable(text) for text in foreign["text"]]
    ends = [start + len(text) for start, text in zip(foreign["start"], texts, strict=True)]
    return pd.concat([known, foreign.assign(text=texts, end=ends)]) if len(foreign) else known


def covering_passages(dataset: Dataset, labels: Labels, shown: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return passages that cover every slice (doc, start, end) in `shown`, and all evidence with the text around it."""
    low, high = labels.offsets[labels.alternative_doc], labels.offsets[labels.alternative_doc + 1] - 1
    starts, ends = [np.maximum(labels.alternative_start - _BESIDE, low)], [np.minimum(labels.alternative_end + _BESIDE, high)]
    for slices in shown:
        origin = labels.offsets[slices["doc"].to_numpy(np.int64)]
        starts.append(origin + slices["start"].to_numpy(np.int64))
        ends.append(origin + slices["end"].to_numpy(np.int64))
    union = Union.of(np.concatenate(starts), np.concatenate(ends))
    rows = labels.places(union.starts, union.ends)
    passages = [(dataset.documents[doc].doc_id, start, end, encodable(labels.texts[doc][start:end])) for doc, start, end in rows]
    return pd.DataFrame(passages, columns=["doc_id", "start", "end", "text"])


# A score with its state and reason, its cells in the arrays of a summary, and the intermediate results of intervals.
_BYTES_A_SCORE = 100
# The stages that judge.
_JUDGING = ("claims", "verdicts", "judgements")
# The timings of what calls of a run cost, by the columns of their records.
_ANSWERS_COST = {"tokens_answer_input": "input_tokens", "tokens_answer_output": "output_tokens", "cost_answers": "cost"}
_JUDGES_COST = {"tokens_judge_input": "input_tokens", "tokens_judge_output": "output_tokens", "cost_judges": "cost"}
_VERSIONS = ("chromadb", "sentence-transformers", "torch", "transformers", "openvino", "numpy", "pytrec-eval-terrier")


def metrics_table(finished: Sequence[StageResults]) -> pd.DataFrame:
    """Return each metric's mean over all queries and each slice, and how well scores separate answerable questions.

    Metrics of answers have a mean for each condition, of which repeats and perturbations are averaged within each question first, and no row for a
    condition in which they never apply. The rows of many configurations are averaged together, because their metrics score the same questions.
    """
    grouped = batching.groups(finished, lambda results: len(results.scores_table), batching.rows(_BYTES_A_SCORE))
    tables = [table for group in grouped for table in _means(group)]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=SCHEMAS["metrics"].names)


def _means(finished: Sequence[StageResults]) -> Iterator[pd.DataFrame]:
    run, by = finished[0].run, ["configuration", "condition"]
    clusters, metadata = weighted(query_clusters(run.labels), run.average), [slice_fields(query) for query in run.dataset.queries]
    scores = pd.concat([results.scores_table.assign(configuration=results.configuration.name) for results in finished], ignore_index=True)
    of_answers = scores["metric"].isin([str(metric) for metric in run.metrics if metric.of_answers])
    ranked = summarise(scores[~of_answers], clusters, metadata, run.slices, by)
    answered = scores[of_answers]
    # The rows of a condition stay together.
    ordered = answered.iloc[np.argsort(pd.factorize(answered["condition"])[0], kind="stable")]
    means = summarise(pooled(ordered, by) if len(ordered) else ordered, clusters, metadata, run.slices, by)
    for results in finished:
        name = results.configuration.name
        yield pd.concat([ranked[ranked["configuration"] == name], _separation(results)]).assign(configuration=name, condition=RETRIEVED)
        yield means[(means["configuration"] == name) & ((means["n"] > 0) | (means["unscored"] > 0))]


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
        calls = entry.values("calls")
        seconds = np.array(calls["seconds"], dtype=np.float64)
        timed_answers = name in ("", RETRIEVED) and bool((seconds > 0).any())
        if not (entry.computed or timed_answers):
            continue
        rows = entry.table("answers")
        answered = (rows["error"] == "").to_numpy()
        timed = seconds[answered & (seconds > 0)]
        if timed_answers and len(timed):
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
    served[unknown_questions(results, "chunks")] = False
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


def collect(outcome: Outcome) -> RunTables:
    """Return the tables of a finished run, each created on first access."""
    run, screening, finished = outcome.run, outcome.experiment.screening, outcome.results
    dataset, latencies = run.dataset, outcome.latencies
    sources: dict[str, Callable[[RunTables], pd.DataFrame]] = {
        "metrics": lambda _: metrics_table(finished),
        "queries": lambda _: _joined(SCHEMAS["queries"], [(results, queries_table(results)) for results in finished]),
        "timings": lambda _: _joined(
            SCHEMAS["timings"], [(results, timings_table(results, latencies.get(results.configuration.name, {}))) for results in finished]
        ),
        "configurations": lambda _: _configurations(outcome),
        "comparisons": comparisons_table,
        "questions": lambda _: questions_table(dataset, run.labels),
        "documents": lambda _: documents_table(dataset),
        "judgements": lambda _: judgements_table(dataset),
        "evidence": lambda _: evidence_table(dataset),
        "passages": lambda _: passages_table(run, finished),
    }
    given = {schema.name: schema for stage in outcome.graph.stages.values() for schema in stage.tables}
    sources |= {
        name: partial(_given, outcome, schema) for name, schema in given.items() if schema.required or any(_makers(outcome, schema))
    }
    if screening is not None:
        sources["screening"] = lambda _: pd.DataFrame(map(asdict, screening.rows)).assign(
            queries=screening.queries, metric=screening.metric
        )
    own = {name: schema for name, schema in given.items() if name in sources and name not in SCHEMAS}
    # Convert to the form that is read back: JSON has no tuples.
    return RunTables(json.loads(json.dumps(manifest(outcome, own), allow_nan=False)), sources)


def _makers(outcome: Outcome, schema: TableSchema) -> Iterator[tuple[StageResults, Callable[[StageResults], pd.DataFrame]]]:
    for results in outcome.results:
        for name, stage in outcome.graph.stages.items():
            if name in results.entries and (make := stage.tables_of(results.configuration).get(schema)):
                yield results, make


def _given(outcome: Outcome, schema: TableSchema, _: RunTables) -> pd.DataFrame:
    """Return a table that stages give. One without configurations, such as that of the judges, is the same for all of them."""
    makers = list(_makers(outcome, schema))
    return _joined(schema, [(results, make(results)) for results, make in (makers if "configuration" in schema.dtypes else makers[:1])])


def _joined(schema: TableSchema, parts: Iterable[tuple[StageResults, pd.DataFrame]]) -> pd.DataFrame:
    tables = [table.assign(configuration=results.configuration.name) for results, table in parts if len(table)]
    return pd.concat(tables, ignore_index=True) if tables else schema.empty()


def _configurations(outcome: Outcome) -> pd.DataFrame:
    """Return a row for each configuration. Failed ones come last and have only their error."""
    rows = [configuration_row(results) for results in outcome.results]
    rows += [{"configuration": name, "error": line} for name, line in outcome.failures.items()]
    return pd.DataFrame(rows, columns=SCHEMAS["configurations"].names)


def manifest(outcome: Outcome, tables: Mapping[str, TableSchema]) -> dict[str, Any]:
    """Return settings, metrics, fingerprints, versions, seeds, commit and failures. Equal runs have equal manifests.

    `tables` are those of stages of other packages.
    """
    dataset, experiment, graph = outcome.run.dataset, outcome.experiment, outcome.graph
    repeated = repeats(dataset.queries, dataset.qrels, ((need.query_id, span) for need in dataset.needs for span in need.alternatives))
    finished = [configuration for configuration in experiment.configurations if configuration.name not in outcome.failures]
    components = [component for each in (*finished, experiment.judging) if each for component in each.components.values()]
    return {
        "experiment": experiment.settings,
        "primary": str(outcome.primary),
        "baseline": experiment.baseline,
        "average": experiment.average,
        "smallest_difference": experiment.smallest_difference,
        "metrics": {str(metric): metric.record for metric in outcome.run.metrics},
        "conditions": list(dict.fromkeys(variant.condition for variant in outcome.run.variants)),
        "repeats": 1 + max(variant.repeat for variant in outcome.run.variants),
        "judging": experiment.judging.recorded_settings() if experiment.judging else None,
        "configurations": {configuration.name: recorded_settings(configuration) for configuration in experiment.configurations},
        "dataset": {
            "name": dataset.name,
            "documents": len(dataset.corpus),
            "missing": len(dataset.documents) - len(dataset.corpus),
            "queries": len(dataset.queries),
            "unanswerable": sum(not query.answerable for query in dataset.queries),
            "repeated": len(repeated),
            "relabelled": sum(relabelled for *_, relabelled in repeated),
            "judgements": len(dataset.qrels),
            "needs": len(dataset.needs),
        },
        "fingerprints": {
            **outcome.run.fingerprints,
            "configurations": {configuration.name: graph.fingerprint(configuration) for configuration in finished},
            "settings": {configuration.name: graph.settings(configuration) for configuration in finished},
        },
        **({"unread": unread} if (unread := unread_files(experiment.settings.get("dataset"))) else {}),
        # A configuration may have failed because this machine cannot encode for it.
        "encoders": {each.name: each.embedding.encoder()._asdict() for each in finished if each.embedding},
        "code": list(experiment.named_code),
        "pickles": _pickles(components),
        "failures": outcome.failures,
        **({"arguments": list(experiment.arguments)} if experiment.arguments else {}),
        **({"screening": experiment.screening.manifest_entry} if experiment.screening else {}),
        **({"tables": {name: schema.as_json() for name, schema in tables.items()}} if tables else {}),
        "versions": {"python": platform.python_version(), "workbench": __version__}
        | {name: version for name in _VERSIONS if (version := installed_version(name))},
        "seeds": {"ties": SEED},
        "latency": {"concurrency": 1, "rounds": ROUNDS, "questions": QUESTIONS},
        # The commit of the experiment, not of the package.
        "commit": commit(),
    }


def _pickles(components: Iterable[Component]) -> dict[str, list[str]]:
    """Return the pickled weights that the components and those in them load, by model."""
    found: dict[str, list[str]] = {}
    for component in components:
        found |= _pickles(inner_components(component))
        model = getattr(component, "model", None) if getattr(component, "allow_pickle", False) else None
        if model and (files := pickles(locate(model))):
            found[model] = files
    return dict(sorted(found.items()))
