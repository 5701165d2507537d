"""Split the answers into claims."""

import pandas as pd

from workbench.components.judging.claims.base import AnswerClaims, SplitRequest
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node
from workbench.runner.pipeline.stages.judging.judged_stage import JudgedStage, claims_of, record_calls
from workbench.runner.pipeline.stored_answers import given_answers

_COLUMNS = {"query": "int64", "number": "int64", "text": "str", "start": "int64", "end": "int64", "error": "str"}


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
        """Split the answers. If a call of a model failed, the next run asks again."""
        splitter, answers = inputs.run.required_judging.claims, given_answers(inputs.entry("answers"))
        queries = inputs.run.dataset.queries
        requests = [SplitRequest(queries[query].text, text) for query, text in answers.items()]
        split = claims_of(splitter, requests, inputs.run.answer_resources, f"claims {inputs.configuration.name} {inputs.node.variant}")
        rows = [row for query, outcome in zip(answers, split, strict=True) for row in _rows(query, outcome)]
        writer.table("claims", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
        record_calls(writer, split, splitter.calls_model)


def _rows(query: int, outcome: AnswerClaims) -> list[tuple[int, int, str, int, int, str]]:
    if outcome.error:
        return [(query, -1, "", -1, -1, outcome.error)]
    return [(query, number, claim.text, claim.start, claim.end, "") for number, claim in enumerate(outcome.claims)]
