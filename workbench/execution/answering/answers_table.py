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
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.pipeline.stages.answering.outcomes import outcomes_of
from workbench.records import Passage, Variant
from workbench.results.run_tables import empty
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import Entry

_LATENCIES = {"p50": 50, "p95": 95}


def answers_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every answer with its context. A question without a context in a variant has a `reason` and no answer."""
    parts = [_variant_rows(context, variant, *entries) for variant, *entries in _entries(context, result)]
    return pd.concat(parts, ignore_index=True) if parts else empty(SCHEMAS["answers"])


def context_slices(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the slices `doc, start, end` of all passages of all conditions, whose text a report shows. Empty without answers."""
    passages = [contexts.table("passages")[["doc_id", "start", "end"]] for _, contexts, _ in _entries(context, result)]
    slices = pd.concat(passages, ignore_index=True).drop_duplicates() if passages else pd.DataFrame(columns=["doc_id", "start", "end"])
    return slices.assign(doc=pd.Index(context.doc_ids).get_indexer(pd.Index(slices["doc_id"])))


def _entries(context: RunContext, result: Result) -> Iterator[tuple[Variant, Entry, Entry]]:
    """Yield the contexts and the answers of each variant."""
    if result.configuration.answering is None:
        return
    for variant in context.variants:
        contexts = Node("contexts", result.configuration, Variant(variant.condition, variant.perturbation))
        answers = Node("answers", result.configuration, variant)
        yield variant, result.entries["contexts"][contexts.slot], result.entries["answers"][answers.slot]


def _variant_rows(context: RunContext, variant: Variant, contexts: Entry, answers: Entry) -> pd.DataFrame:
    about = contexts.table("contexts").set_index("query")
    rows = about.join(answers.table("answers").set_index("query"))
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
        context_tokens=rows["tokens"].astype("float64"),
        passages=[_written(passages.get(query, ())) for query in rows.index],
        outcome=[outcomes.get(query, "") for query in rows.index],
    )


def _written(passages: Sequence[Passage]) -> str:
    return json.dumps([_slice(passage) for passage in passages], ensure_ascii=False)


def _slice(passage: Passage) -> dict[str, Any]:
    where = {"doc_id": passage.doc_id, "start": passage.start, "end": passage.end}
    return where | ({"planted": passage.planted, "text": passage.text} if passage.planted else {})


def answer_timings(result: Result) -> dict[str, float]:
    """Return the milliseconds of an answer in the condition `retrieved`, and the calls, tokens and cost of this run's calls."""
    if result.configuration.answering is None:
        return {}
    timings: dict[str, float] = {}
    for slot, entry in result.entries["answers"].items():
        calls, rows = entry.values("calls"), entry.table("answers")
        seconds = np.array(calls["seconds"], dtype=np.float64)
        answered = seconds[(rows["error"] == "").to_numpy() & (seconds > 0)]
        if slot in ("", RETRIEVED) and len(answered):
            timings |= {f"latency_answer_{name}": float(np.percentile(answered, share) * 1000) for name, share in _LATENCIES.items()}
        new = ~np.array(calls["cached"], dtype=np.bool_) if entry.computed else np.zeros(len(rows), dtype=np.bool_)
        spent = {
            "tokens_answer_input": float(rows.loc[new, "input_tokens"].sum()),
            "tokens_answer_output": float(rows.loc[new, "output_tokens"].sum()),
            "cost_answers": float(rows.loc[new, "cost"].sum()),
        }
        timings |= {name: timings.get(name, 0.0) + value for name, value in spent.items()}
    return timings
