"""Build the table of answers and their timings from the stages of a finished configuration."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.context.conditions import RETRIEVED
from workbench.execution.result import Result
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Node
from workbench.pipeline.stages.answering.answers import answer_rows
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.pipeline.stages.answering.outcomes import outcomes_of
from workbench.records import Passage, Variant
from workbench.results.run_tables import empty
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import StoredResult

_LATENCIES = {"p50": 50, "p95": 95}
_SPENT = {"tokens_answer_input": "input_tokens", "tokens_answer_output": "output_tokens", "cost_answers": "cost"}


def answers_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every answer with its context. A question without a context in a variant has a `reason` and no answer."""
    of_model = tuple(result.entries.get("answers", {}).values())
    parts = [
        _variant_rows(context, variant, contexts, answer_rows(answers, of_model))
        for variant, contexts, answers in _entries(context, result)
    ]
    return pd.concat(parts, ignore_index=True) if parts else empty(SCHEMAS["answers"])


def context_slices(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the slices `doc, start, end` of all passages of all conditions, whose text a report shows. Empty without answers."""
    passages = [contexts.table("passages")[["doc_id", "start", "end"]] for _, contexts, _ in _entries(context, result)]
    slices = pd.concat(passages, ignore_index=True).drop_duplicates() if passages else pd.DataFrame(columns=["doc_id", "start", "end"])
    slices = slices.assign(doc=pd.Index(context.doc_ids).get_indexer(pd.Index(slices["doc_id"])))
    return slices[slices["doc"] >= 0]


def foreign_passages(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the passages `doc_id, start, text` of contexts that are in no document of the dataset: those that a target has read."""
    columns = ["doc_id", "start", "text"]
    given = _entries(context, result) if "responses" in result.entries else ()
    tables = [contexts.table("passages")[columns] for _, contexts, _ in given]
    passages = pd.concat(tables, ignore_index=True).drop_duplicates() if tables else pd.DataFrame(columns=columns)
    return passages[~passages["doc_id"].isin(context.doc_ids)]


def _entries(context: RunContext, result: Result) -> Iterator[tuple[Variant, StoredResult, StoredResult]]:
    """Yield the contexts and the answers of each variant."""
    if result.configuration.answering is None:
        return
    for variant in context.variants:
        contexts = Node("contexts", result.configuration, Variant(variant.condition, variant.perturbation))
        answers = Node("answers", result.configuration, variant)
        yield variant, result.entries["contexts"][contexts.result_id], result.entries["answers"][answers.result_id]


def _variant_rows(context: RunContext, variant: Variant, contexts: StoredResult, answers: pd.DataFrame) -> pd.DataFrame:
    about = contexts.table("contexts").set_index("query")
    rows = about.join(answers.set_index("query"))
    passages, outcomes = passages_of(contexts), outcomes_of(contexts, answers)
    return rows.assign(
        query_id=context.query_ids[rows.index.to_numpy(np.int64)],
        condition=variant.condition,
        variant=variant.perturbation,
        repeat=variant.repeat,
        answer=rows["text"].fillna(""),
        refused=rows["refused"].eq(True),
        citations=rows["citations"].fillna("[]"),
        error=rows["error"].fillna(""),
        model=rows["model"].fillna(""),
        context_tokens=rows["tokens"].astype("float64").mask(rows.index.isin(contexts.values("unknown"))),
        passages=[_written(passages.get(query, ())) for query in rows.index],
        outcome=[outcomes.get(query, "") for query in rows.index],
    )


def _written(passages: Sequence[Passage]) -> str:
    return json.dumps([_slice(passage) for passage in passages], ensure_ascii=False)


def _slice(passage: Passage) -> dict[str, Any]:
    where = {"doc_id": passage.doc_id, "start": passage.start, "end": passage.end}
    return where | ({"planted": passage.planted, "text": passage.text} if passage.planted else {})


def answer_timings(result: Result) -> dict[str, float]:
    """Return the milliseconds of an answer in the condition `retrieved`, and the tokens and cost of this run's calls, if all are known."""
    if result.configuration.answering is None:
        return {}
    timings: dict[str, float] = {}
    spent = dict.fromkeys(_SPENT, 0.0)
    for slot, entry in result.entries["answers"].items():
        calls, rows = entry.values("calls"), entry.table("answers")
        seconds = np.array(calls["seconds"], dtype=np.float64)
        answered = (rows["error"] == "").to_numpy()
        timed = seconds[answered & (seconds > 0)]
        if slot in ("", RETRIEVED) and len(timed):
            timings |= {f"latency_answer_{name}": float(np.percentile(timed, share) * 1000) for name, share in _LATENCIES.items()}
        new = ~np.array(calls["cached"], dtype=np.bool_) if entry.computed else np.zeros(len(rows), dtype=np.bool_)
        # A sum with an unknown part is unknown: servers may count no tokens, and models have no prices.
        for name, column in _SPENT.items():
            spent[name] += float(rows.loc[new & answered, column].astype("float64").sum(skipna=False))
    return timings | {name: value for name, value in spent.items() if not np.isnan(value)}
