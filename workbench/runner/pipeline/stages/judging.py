"""The stages that judge: tests of the judges, and claims, verdicts and judgements of the answers of each variant.

Each distinct request is judged once.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np
import pandas as pd

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import AnswerClaims, ClaimSplitter, Judge, Judgement, JudgeRequest, SplitRequest, Task, Verdict
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.self_test import known_answers, trust
from workbench.core.errors import RunError
from workbench.core.records import Passage, Query, Variant
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.llm.base import lost_tries
from workbench.runner.pipeline.answered_cases import FAILED, OVERLAP, SUPPORT, given_answers, passages_of, stored_claims, trust_in
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.answering import in_order


class JudgingStage(Stage):
    """A stage of configurations that answer, in a run with judges."""

    # Judges write the caches of calls and vectors, which only the process that runs the sweep has.
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.answering is not None and run.judging is not None


class JudgedStage(JudgingStage):
    """A stage with a result for each judged variant.

    The judges are those of the run, so what identifies them is in `Identity.run`.
    """

    setting: ClassVar[str] = "judging"

    def includes(self, variant: Variant, run: RunContext) -> bool:
        return variant.condition in run.judged_conditions

    def variant(self, variant: Variant) -> Variant:
        return variant

    def recorded(self, configuration: Configuration, run: RunContext) -> Any:
        return [self.identity(Node(self.name, configuration, part=part), run).run for part in self.parts(configuration, run)]


Outcome = TypeVar("Outcome", Judgement, AnswerClaims)
Request = TypeVar("Request", JudgeRequest, SplitRequest)
# What a judgement cost, and whether it came from the cache of calls. One that no call made took no seconds.
_CALL = ("seconds", "cached", "input_tokens", "output_tokens", "cost")


def judgements_of(judge: Judge, requests: Sequence[JudgeRequest], resources: AnswerResources, title: str) -> list[Judgement]:
    """Return the judgement of each request. Equal requests are judged once. Raises RunError for a judge that omits one or gives a wrong one."""
    asked = partial(judge.judge, resources=resources)
    return _each_once(requests, asked, judgement_fault, f"judge {judge.kind!r}", title, judge.calls_model)


def claims_of(splitter: ClaimSplitter, requests: Sequence[SplitRequest], resources: AnswerResources, title: str) -> list[AnswerClaims]:
    """Return the claims of each answer. Equal requests are split once. Raises RunError for a splitter that omits one or gives wrong ones."""
    asked = partial(splitter.split, resources=resources)
    return _each_once(requests, asked, claims_fault, f"claims {splitter.kind!r}", title, splitter.calls_model)


def _each_once(
    requests: Sequence[Request],
    asked: Callable[[Sequence[Request]], Iterator[tuple[int, Outcome]]],
    fault_of: Callable[[Outcome, Request], str],
    who: str,
    title: str,
    shown: bool,
) -> list[Outcome]:
    """Return the outcome of each request, of which equal ones are made once."""
    distinct = list(dict.fromkeys(requests))
    by_request = dict(zip(distinct, in_order(asked(distinct), len(distinct), who, title, shown), strict=True))
    for request, outcome in by_request.items():
        if fault := fault_of(outcome, request):
            raise RunError(f"{who} gave {fault}", "correct its method")
    return [by_request[request] for request in requests]


def judgement_fault(judgement: Judgement, request: JudgeRequest) -> str:
    """Return the fault of a judgement, or an empty text."""
    if judgement.error:
        return "a score with an error" if judgement.score is not None else ""
    if judgement.score is None or not 0 <= judgement.score <= 1:
        return f"the score {judgement.score}, which is not from 0 to 1, and no error"
    if judgement.verdict not in get_args(Verdict):
        return f"the verdict {judgement.verdict!r}"
    if request.task != "support" or judgement.passage < 0:
        return ""
    if judgement.passage >= len(request.passages):
        return f"the passage {judgement.passage} of {len(request.passages)}"
    length = len(request.passages[judgement.passage].text)
    inside = -1 <= judgement.start <= judgement.end <= length
    return "" if inside else f"the words [{judgement.start}, {judgement.end}) of a passage of {length} characters"


def claims_fault(outcome: AnswerClaims, request: SplitRequest) -> str:
    """Return the fault of the claims of an answer, or an empty text."""
    for claim in outcome.claims:
        if not 0 <= claim.start < claim.end <= len(request.answer):
            return f"a claim at [{claim.start}, {claim.end}) of an answer of {len(request.answer)} characters"
        if not claim.text.strip() or any("\ud800" <= character <= "\udfff" for character in claim.text):
            return "a claim that is blank, or has half of a surrogate pair"
    return ""


def record_calls(writer: ResultWriter, outcomes: Sequence[Judgement | AnswerClaims], calls_model: bool) -> None:
    """Write what the distinct calls cost as the values `calls`, and the reasons of missing judgements as `missing`.

    A failed call is made again by the next run, so it marks the entry incomplete. A reply that could not be read would be the same again, and
    so would the error of a judge without a model.
    """
    # Equal requests share an outcome, whose cost counts once.
    calls = list({id(outcome): outcome for outcome in outcomes}.values()) if calls_model else []
    writer.values("calls", {name: [getattr(outcome, name) for outcome in calls] for name in _CALL} | lost_tries(calls))
    errors = [(outcome.error, outcome.replied or not calls_model) for outcome in outcomes if outcome.error]
    missing = {"failed": [error for error, replied in errors if not replied], "unread": [error for error, replied in errors if replied]}
    writer.values("missing", {**missing, "of": len(outcomes) if calls_model or errors else 0})
    if missing["failed"]:
        writer.mark_incomplete()


def _judges_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the result of the self-test of each task's judge."""
    return pd.DataFrame([asdict(trust_in(entry)) for entry in results.parts("judge_tests")])


class JudgeTestsStage(JudgingStage):
    """A result for each task of the run: values `trust`, the fields of `Trust`. All configurations and all runs with equal judges share it."""

    name = "judge_tests"
    setting: ClassVar[str] = "judging"
    tables: ClassVar[TableMakers] = {SCHEMAS["judges"]: _judges_table}

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        return tuple(run.judges)

    def identity(self, node: Node, run: RunContext) -> Identity:
        task, judge = run.judge_of(node.part)
        return Identity(run=[[judge.identity(task), judge.label, [asdict(case) for case in known_answers(task)]]])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        run = inputs.run
        task, judge = run.judge_of(inputs.node.part)
        found = trust(judge, task, run.answer_resources, run.workspace.store)
        writer.values("trust", asdict(found))
        writer.values(
            "missing", {"failed": [FAILED] * found.failed_calls, "unread": [], "of": len(known_answers(task)) if judge.calls_model else 0}
        )
        if found.failed_calls:
            writer.mark_incomplete()


_CLAIMS = {"query": "int64", "number": "int64", "text": "str", "start": "int64", "end": "int64", "error": "str"}


class ClaimsStage(JudgedStage):
    """Table `claims`, a row for each claim of an answer: query, number (from 0), text, start, end in the answer, error.

    Refusals and failed answers have no rows. An answer that could not be split has a row with the number -1 and an `error`. Values `calls`: what
    the calls of a model cost.
    """

    name = "claims"
    inputs = ("questions", "answers")

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(run=run.required_judging.claims.identity())

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        splitter, answers = inputs.run.required_judging.claims, given_answers(inputs.entry("answers"))
        queries = inputs.run.dataset.queries
        requests = [SplitRequest(queries[query].text, text) for query, text in answers.items()]
        split = claims_of(splitter, requests, inputs.run.answer_resources, f"claims {inputs.configuration.name} {inputs.node.variant}")
        rows = [row for query, outcome in zip(answers, split, strict=True) for row in _claim_rows(query, outcome)]
        writer.table("claims", pd.DataFrame(rows, columns=list(_CLAIMS)).astype(_CLAIMS))
        record_calls(writer, split, splitter.calls_model)


def _claim_rows(query: int, outcome: AnswerClaims) -> list[tuple[int, int, str, int, int, str]]:
    if outcome.error:
        return [(query, -1, "", -1, -1, outcome.error)]
    return [(query, number, claim.text, claim.start, claim.end, "") for number, claim in enumerate(outcome.claims)]


# Of a claim without a verdict.
_NOTHING = {"verdict": "", "score": np.nan, "confidence": np.nan, "passage": -1, "start": -1, "end": -1, "flags": "[]", "error": ""}
_VERDICTS = {
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
    return pd.concat([_variant_claims(results, variant) for variant in results.run.judged_variants], ignore_index=True)


def _variant_claims(results: StageResults, variant: Variant) -> pd.DataFrame:
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
        judge, claims = self._judge(inputs.node.part, inputs.run), stored_claims(inputs.entry("claims"))
        answers, contexts = given_answers(inputs.entry("answers")), passages_of(inputs.entry("contexts"))
        asked = [claim for claim in claims if contexts[claim[0]]]
        requests = list(support_requests(inputs.run.dataset.queries, contexts, answers, asked))
        title = f"verify {inputs.configuration.name} {inputs.node.variant}"
        found = judgements_of(judge, requests, inputs.run.answer_resources, title)
        judgements = dict(zip(asked, found, strict=True))
        rows = [_verdict_row(*claim[:2], judgements.get(claim) or unsupported(judge)) for claim in claims]
        writer.table("verdicts", pd.DataFrame(rows, columns=list(_VERDICTS)).astype(_VERDICTS))
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


def _verdict_row(query: int, number: int, judgement: Judgement) -> tuple[Any, ...]:
    decided = (judgement.passage, judgement.start, judgement.end)
    scored = (judgement.verdict, judgement.score, judgement.confidence)
    return query, number, *scored, *decided, json.dumps(judgement.flags), judgement.error, judgement.model


# The number of the passage where the answer is judged.
ANSWER = -1
_JUDGEMENTS = {"query": "int64", "passage": "int64", "score": "float64", "confidence": "float64", "error": "str", "model": "str"}


def _judgements_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the judgement of every passage and answer by each task."""
    judges = {task: judge for task, judge in results.run.judges.items() if task != "support"}
    parts = [
        results.placed(results.of("judgements", variant, task).table("judgements"), variant).assign(task=task, judge=judge.label)
        for variant in results.run.judged_variants
        for task, judge in judges.items()
    ]
    return pd.concat(parts, ignore_index=True)


class JudgementsStage(JudgedStage):
    """Table `judgements` for each task but `support`: query, passage (-1 for the answer), score, confidence, error, model. Values `calls`.

    Only answerable questions are judged: no passage answers another one, and only a refusal is right. Refusals and failed answers are not judged.
    """

    name = "judgements"
    inputs = ("questions", "labels", "expected", "contexts", "answers")
    tables: ClassVar[TableMakers] = {SCHEMAS["answer_judgements"]: _judgements_table}

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        return tuple(task for task in run.judges if task != "support")

    def identity(self, node: Node, run: RunContext) -> Identity:
        task, judge = run.judge_of(node.part)
        return Identity(run={task: judge.identity(task)})

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        task, judge = inputs.run.judge_of(inputs.node.part)
        answers, contexts = given_answers(inputs.entry("answers")), passages_of(inputs.entry("contexts"))
        requests = dict(judgement_requests(task, inputs.run.dataset.queries, contexts, answers))
        title = f"{task.replace('_', ' ')} {inputs.configuration.name} {inputs.node.variant}"
        found = judgements_of(judge, list(requests.values()), inputs.run.answer_resources, title)
        rows = [(*place, each.score, each.confidence, each.error, each.model) for place, each in zip(requests, found, strict=True)]
        writer.table("judgements", pd.DataFrame(rows, columns=list(_JUDGEMENTS)).astype(_JUDGEMENTS))
        record_calls(writer, found, judge.calls_model)


def judgement_requests(
    task: Task, queries: Sequence[Query], contexts: Mapping[int, tuple[Passage, ...]], answers: Mapping[int, str]
) -> Iterator[tuple[tuple[int, int], JudgeRequest]]:
    """Yield the requests of a task by question and passage."""
    for number, passages in contexts.items():
        query = queries[number]
        expected = tuple(filter(None, (query.answer, *query.answer_variants)))
        if not query.answerable:
            continue
        if task == "context_relevance":
            yield from (((number, place), JudgeRequest(task, query.text, passages=(each,))) for place, each in enumerate(passages))
        elif number in answers and task == "answer_relevance":
            yield (number, ANSWER), JudgeRequest(task, query.text, answers[number])
        elif number in answers and task == "correctness" and expected:
            yield (number, ANSWER), JudgeRequest(task, query.text, answers[number], expected=expected)
        elif number in answers and task == "rubric":
            yield (number, ANSWER), JudgeRequest(task, query.text, answers[number], passages=passages, expected=expected)
