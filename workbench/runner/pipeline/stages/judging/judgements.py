"""Judge contexts and answers: how relevant passages and answers are, whether answers are correct, and how good they are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pandas as pd

from workbench.components.judging.base import JudgeRequest, Task
from workbench.core.records import Passage, Query
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.judging.judged_stage import JudgedStage, judgements_of, record_calls
from workbench.runner.pipeline.stored_answers import given_answers, passages_of

# The number of the passage where the answer is judged.
ANSWER = -1
_COLUMNS = {"query": "int64", "passage": "int64", "score": "float64", "confidence": "float64", "error": "str", "model": "str"}


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
        """Judge the passages or the answers. If a call of a model failed, the next run asks again."""
        task, judge = inputs.run.judge_of(inputs.node.part)
        answers, contexts = given_answers(inputs.entry("answers")), passages_of(inputs.entry("contexts"))
        requests = dict(judgement_requests(task, inputs.run.dataset.queries, contexts, answers))
        title = f"{task.replace('_', ' ')} {inputs.configuration.name} {inputs.node.variant}"
        found = judgements_of(judge, list(requests.values()), inputs.run.answer_resources, title)
        rows = [(*place, each.score, each.confidence, each.error, each.model) for place, each in zip(requests, found, strict=True)]
        writer.table("judgements", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
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
