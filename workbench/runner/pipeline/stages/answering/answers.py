"""Answer all questions from their contexts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.answering.citations import VERSION as CITATIONS_VERSION
from workbench.components.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.components.answering.refusals import is_refusal
from workbench.components.context.conditions import RETRIEVED
from workbench.core.errors import RunError
from workbench.core.records import Answer, Passage, Variant
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.core.text.progress import ProgressBar
from workbench.llm.base import lost_tries
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.llm.replies.answers import separated
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stored_answers import answer_rows, outcomes_of, passages_of

_COLUMNS = {
    "query": "int64",
    "text": "str",
    "refused": "bool",
    "citations": "str",
    "confidence": "float64",
    "error": "str",
    "correct": "boolean",
    "outcome": "str",
    "input_tokens": "Int64",
    "output_tokens": "Int64",
    "cost": "float64",
    "model": "str",
    "truncated": "boolean",
    "reasoned": "bool",
    "unopened": "bool",
}


def _answers_table(results: StageResults) -> pd.DataFrame:
    """Tabulate every answer with its context. A question without a context in a variant has a `reason` and no answer."""
    of_model = results.parts("answers")
    parts = [_variant_rows(results, variant, answer_rows(results.of("answers", variant), of_model)) for variant in results.run.variants]
    return pd.concat(parts, ignore_index=True)


def _variant_rows(results: StageResults, variant: Variant, answers: pd.DataFrame) -> pd.DataFrame:
    contexts = results.contexts_of(variant)
    rows = contexts.table("contexts").set_index("query").join(answers.set_index("query"))
    passages, outcomes = passages_of(contexts), outcomes_of(contexts, answers)
    return rows.assign(
        query_id=results.run.query_ids[rows.index.to_numpy(np.int64)],
        condition=variant.condition,
        variant=variant.perturbation,
        repeat=variant.repeat,
        answer=rows["text"].fillna(""),
        refused=rows["refused"].eq(True),
        citations=rows["citations"].fillna("[]"),
        error=rows["error"].fillna(""),
        model=rows["model"].fillna(""),
        context_tokens=rows["tokens"].astype("float64").mask(rows.index.isin(contexts.values("unknown"))),
        passages=[json.dumps([_slice(passage) for passage in passages.get(query, ())], ensure_ascii=False) for query in rows.index],
        outcome=[outcomes.get(query, "") for query in rows.index],
    )


def _slice(passage: Passage) -> dict[str, Any]:
    where = {"doc_id": passage.doc_id, "start": passage.start, "end": passage.end}
    return where | ({"planted": passage.planted, "text": passage.text} if passage.planted else {})


class AnswersStage(Stage):
    """Table `answers`, a row for each question that has a context in the variant, with the columns of `Answer`.

    `citations` is a JSON list. Values `calls`: the seconds of each answer, whether it came from the cache of calls, and its lost tries.
    """

    name = "answers"
    version = 5
    inputs = ("questions", "contexts", "responses")
    setting = "answering"
    uses_cache: ClassVar[bool] = True
    tables: ClassVar[TableMakers] = {SCHEMAS["answers"]: _answers_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.answering is not None

    def variant(self, variant: Variant) -> Variant:
        return variant

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        """Return the inputs without the responses of a target, unless their sources are the context."""
        return self.inputs if node.variant == Variant(RETRIEVED) else self.inputs[:-1]

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the generator's settings with the variant that a recorded answer or a call belongs to, the ids of the questions, by which a generator can know them, and the versions of the readers of replies."""
        generator = node.configuration.answering
        versions = (REFUSALS_VERSION, CITATIONS_VERSION, REPLIES_VERSION)
        return Identity([generator.identity() if generator else None, str(node.variant)], [run.questions_identity, *versions])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Answer the questions. If a call of a model failed, the next run asks again."""
        generator, run = inputs.configuration.answering, inputs.run
        if generator is None:
            raise RunError(f"{inputs.configuration.name} answers no question", "run the sweep again")
        contexts = passages_of(inputs.entry("contexts"))
        queries, failed = run.dataset.queries, _failed(inputs)
        numbers = [number for number in contexts if number not in failed]
        requests = [AnswerRequest(queries[number], contexts[number], inputs.node.variant) for number in numbers]
        title = f"answer {inputs.configuration.name} {inputs.node.variant}"
        made = failed | dict(zip(numbers, _answered(generator, requests, run.answer_resources, title), strict=True))
        answers = [made[number] for number in contexts]
        rows = [_row(number, queries[number].text, answer) for number, answer in zip(contexts, answers, strict=True)]
        writer.table("answers", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
        calls = {"seconds": [answer.seconds for answer in answers], "cached": [answer.cached for answer in answers]}
        writer.values("calls", calls | lost_tries(answers))
        if generator.calls_model and any(answer.error for answer in answers):
            writer.mark_incomplete()


def _failed(inputs: Inputs) -> dict[int, Answer]:
    """Return the answers that a target failed to give with its sources. Asked again, it would answer from sources that are not known."""
    if "responses" not in inputs.entries:
        return {}
    return {query: Answer(error=error) for query, error in inputs.entry("responses").table("unanswered").itertuples(index=False)}


def _answered(generator: Generator, requests: Sequence[AnswerRequest], resources: AnswerResources, title: str) -> list[Answer]:
    answers: dict[int, Answer] = {}
    # Only the answers of a model take long enough for a bar.
    with ProgressBar(total=len(requests), unit="answer", desc=title, disable=not generator.calls_model) as bar:
        for place, answer in generator.answer(requests, resources):
            if place in answers or not 0 <= place < len(requests):
                raise RunError(f"answering {generator.kind!r} gave the answer {place} twice or of no request", "correct its method answer")
            answers[place] = answer if generator.verbatim else _without_reasoning(answer)
            bar.update()
    if len(answers) < len(requests):
        raise RunError(f"answering {generator.kind!r} gave {len(answers)} of {len(requests)} answers", "correct its method answer")
    return [answers[place] for place in range(len(requests))]


def _without_reasoning(answer: Answer) -> Answer:
    """Return an answer without the reasoning of the model that wrote it, whichever program called the model."""
    read = separated(answer.text)
    reasoned, unopened = answer.reasoned or read.reasoned, answer.unopened or read.unopened
    return replace(answer, text=read.answer, error=answer.error or read.failure(answer.truncated), reasoned=reasoned, unopened=unopened)


def _row(query: int, question: str, answer: Answer) -> tuple[Any, ...]:
    refused = not answer.error and (is_refusal(answer.text, question=question) if answer.refused is None else answer.refused)
    citations, labels = json.dumps(answer.citations), (answer.correct, answer.outcome)
    spent, read = (answer.input_tokens, answer.output_tokens, answer.cost), (answer.truncated, answer.reasoned, answer.unopened)
    return query, answer.text, refused, citations, answer.confidence, answer.error, *labels, *spent, answer.model, *read
