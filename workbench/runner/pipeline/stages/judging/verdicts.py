"""Verify the claims of the answers against their contexts."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from workbench.components.judging.base import Judge, Judgement, JudgeRequest
from workbench.components.judging.overlap import OverlapJudge
from workbench.core.records import Passage, Query, Variant
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.judging.judged_stage import JudgedStage, judgements_of, record_calls
from workbench.runner.pipeline.stored_answers import OVERLAP, SUPPORT, given_answers, passages_of, stored_claims

# Of a claim without a verdict.
_NOTHING = {"verdict": "", "score": np.nan, "confidence": np.nan, "passage": -1, "start": -1, "end": -1, "flags": "[]", "error": ""}
_COLUMNS = {
    "query": "int64",
    "number": "int64",
    "verdict": "str",
    "score": "float64",
    "confidence": "float64",
    "passage": "int64",
    "start": "int64",
    "end": "int64",
    "flags": "str",
    "error": "str",
    "model": "str",
}


def _claims_table(results: StageResults) -> pd.DataFrame:
    """Tabulate every claim with its verdict and the passage that decides it. An answer that could not be split has a row with the `error`."""
    return pd.concat([_claims(results, variant) for variant in results.run.judged_variants], ignore_index=True)


def _claims(results: StageResults, variant: Variant) -> pd.DataFrame:
    claims = results.of("claims", variant).table("claims")
    claims = claims.rename(columns={"error": "claims_error", "start": "claim_start", "end": "claim_end"})
    rows = claims.merge(results.of("verdicts", variant, SUPPORT).table("verdicts"), on=["query", "number"], how="left").fillna(_NOTHING)
    shown = passages_of(results.contexts_of(variant))
    decided = [
        _decided(shown.get(query, ()), number) for query, number in zip(rows["query"].tolist(), rows["passage"].tolist(), strict=True)
    ]
    edges = zip(decided, rows["start"].astype(int), rows["end"].astype(int), strict=True)
    rows = rows.assign(
        claim=rows["text"],
        judge=results.run.judges["support"].label,
        error=rows["claims_error"].where(rows["claims_error"] != "", rows["error"]),
        evidence_start=rows["start"],
        evidence_end=rows["end"],
        chunk_id=[f"{passage.doc_id}:{passage.start}-{passage.end}" if passage else "" for passage in decided],
        quote=[passage.text[start:end] if passage and start >= 0 else "" for passage, start, end in edges],
    )
    return results.placed(rows.assign(start=rows["claim_start"], end=rows["claim_end"]), variant)


def _decided(passages: Sequence[Passage], number: float) -> Passage | None:
    return passages[int(number)] if 0 <= number < len(passages) else None


class VerdictsStage(JudgedStage):
    """Table `verdicts`, a row for each claim: query, number, and the columns of `Judgement`; `flags` is a JSON list. Values `calls`.

    Part `support` is of the judge of claims, part `overlap` of the default overlap judge, if the judge of claims is another.
    """

    name = "verdicts"
    inputs = ("questions", "contexts", "answers", "claims")
    tables: ClassVar[TableMakers] = {SCHEMAS["claims"]: _claims_table}

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        return (SUPPORT,) if run.required_judging.support == OverlapJudge() else (SUPPORT, OVERLAP)

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(run=self._judge(node.part, run).identity("support"))

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Verify the claims. If a call of a model failed, the next run asks again."""
        judge, claims = self._judge(inputs.node.part, inputs.run), stored_claims(inputs.entry("claims"))
        answers, contexts = given_answers(inputs.entry("answers")), passages_of(inputs.entry("contexts"))
        asked = [claim for claim in claims if contexts[claim[0]]]
        requests = list(support_requests(inputs.run.dataset.queries, contexts, answers, asked))
        title = f"verify {inputs.configuration.name} {inputs.node.variant}"
        found = judgements_of(judge, requests, inputs.run.answer_resources, title)
        judgements = dict(zip(asked, found, strict=True))
        rows = [_row(*claim[:2], judgements.get(claim) or unsupported(judge)) for claim in claims]
        writer.table("verdicts", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
        record_calls(writer, found, judge.calls_model)

    def _judge(self, part: str, run: RunContext) -> Judge:
        return OverlapJudge() if part == OVERLAP else run.required_judging.support


def support_requests(
    queries: Sequence[Query],
    contexts: Mapping[int, tuple[Passage, ...]],
    answers: Mapping[int, str],
    claims: Iterable[tuple[int, int, str]],
) -> Iterator[JudgeRequest]:
    """Yield the request to verify each claim, given by question, number and text."""
    for query, _, claim in claims:
        yield JudgeRequest("support", queries[query].text, answers[query], claim, contexts[query])


def unsupported(judge: Judge) -> Judgement:
    """Return the judgement of a claim without any passage, which no judge needs to be asked for."""
    return Judgement(0.0, "absent" if judge.gives_verdicts else "")


def _row(query: int, number: int, judgement: Judgement) -> tuple[Any, ...]:
    decided = (judgement.passage, judgement.start, judgement.end)
    scored = (judgement.verdict, judgement.score, judgement.confidence)
    return query, number, *scored, *decided, json.dumps(judgement.flags), judgement.error, judgement.model
