"""Build the tables of claims and of judgements from the stages of a finished configuration."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.execution.result import Result
from workbench.judging.base import Task
from workbench.pipeline.answered_cases import judged_entries
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Node
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.records import Passage, Variant
from workbench.results.run_tables import empty
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import StoredResult

_NOTHING = {"verdict": "", "score": np.nan, "confidence": np.nan, "passage": -1, "start": -1, "end": -1, "flags": "[]", "error": ""}


class JudgedVariant(NamedTuple):
    """The entries of a judged variant: contexts, claims, verdicts of the judge of claims, and judgements by task."""

    variant: Variant
    contexts: StoredResult
    claims: StoredResult
    verdicts: StoredResult
    judgements: Sequence[tuple[Task, StoredResult]]


def judged_variants(context: RunContext, result: Result) -> Iterator[JudgedVariant]:
    """Yield the entries of each judged variant of a configuration, none without judges or answers."""
    if result.configuration.answering is None:
        return
    for variant in context.judged_variants:
        contexts = Node("contexts", result.configuration, Variant(variant.condition, variant.perturbation))
        claims, (verdicts, _), judgements = judged_entries(result.configuration, result.entries, variant)
        yield JudgedVariant(variant, result.entries["contexts"][contexts.result_id], claims, verdicts, judgements)


def claims_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every claim with its verdict and the passage that decides it. An answer that could not be split has a row with the `error`."""
    parts = [_claims(context, judged) for judged in judged_variants(context, result)]
    return pd.concat(parts, ignore_index=True) if parts else empty(SCHEMAS["claims"])


def answer_judgements_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the judgement of every passage and answer by each task."""
    judges = context.judging.judges if context.judging else {}
    parts = [
        _placed(context, judged.variant, entry.table("judgements")).assign(task=task, judge=judges[task].label)
        for judged in judged_variants(context, result)
        for task, entry in judged.judgements
    ]
    return pd.concat(parts, ignore_index=True) if parts else empty(SCHEMAS["answer_judgements"])


def _placed(context: RunContext, variant: Variant, rows: pd.DataFrame) -> pd.DataFrame:
    where = {"condition": variant.condition, "variant": variant.perturbation}
    query_ids = context.query_ids[rows["query"].to_numpy(np.int64)]
    return rows.assign(query_id=query_ids, condition=where["condition"], variant=where["variant"], repeat=variant.repeat)


def _claims(context: RunContext, judged: JudgedVariant) -> pd.DataFrame:
    claims = judged.claims.table("claims").rename(columns={"error": "claims_error", "start": "claim_start", "end": "claim_end"})
    rows = claims.merge(judged.verdicts.table("verdicts"), on=["query", "number"], how="left").fillna(_NOTHING)
    shown = passages_of(judged.contexts)
    decided = [_decided(shown, query, number) for query, number in zip(rows["query"].tolist(), rows["passage"].tolist(), strict=True)]
    judge = context.judging.support.label if context.judging else ""
    rows = rows.assign(
        claim=rows["text"],
        judge=judge,
        error=rows["claims_error"].where(rows["claims_error"] != "", rows["error"]),
        evidence_start=rows["start"],
        evidence_end=rows["end"],
        chunk_id=[f"{passage.doc_id}:{passage.start}-{passage.end}" if passage else "" for passage in decided],
        quote=[
            passage.text[start:end] if passage and start >= 0 else ""
            for passage, start, end in zip(decided, rows["start"].astype(int), rows["end"].astype(int), strict=True)
        ],
    )
    return _placed(context, judged.variant, rows.assign(start=rows["claim_start"], end=rows["claim_end"]))


def _decided(shown: Mapping[int, tuple[Passage, ...]], query: int, number: float) -> Passage | None:
    passages = shown.get(query, ())
    return passages[int(number)] if 0 <= number < len(passages) else None
