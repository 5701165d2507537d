"""Verify the claims of the answers against their contexts."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.judging.base import Judge, Judgement, JudgeRequest
from workbench.judging.overlap import OverlapJudge
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Node
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.pipeline.stages.judging.claims import given_answers
from workbench.pipeline.stages.judging.judged_stage import JudgedStage
from workbench.pipeline.stages.judging.requests import judgements_of, record_calls
from workbench.storage.result_store import Draft

SUPPORT, OVERLAP = "support", "overlap"
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


class VerdictsStage(JudgedStage):
    """Table `verdicts`, a row for each claim: query, number, and the columns of `Judgement`; `flags` is a JSON list. Values `calls`.

    Part `support` is of the judge of claims, part `overlap` of the default overlap judge, if the judge of claims is another.
    """

    name = "verdicts"
    inputs = ("questions", "contexts", "answers", "claims")

    def parts(self, run: RunContext) -> Sequence[str]:
        """Return `support`, and `overlap` if it is another judge."""
        return (SUPPORT,) if self.judging(run).support == OverlapJudge() else (SUPPORT, OVERLAP)

    def demands(self, node: Node, run: RunContext) -> Any:
        """Return the identity of the part's judge."""
        return self._judge(node.part, run).identity("support")

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Verify the claims. If a call of a model failed, the next run asks again."""
        judge, claims = self._judge(inputs.node.part, inputs.run), inputs.entry("claims").table("claims")
        claims = claims[claims["error"] == ""]
        answers, contexts = given_answers(inputs.entry("answers")), passages_of(inputs.entry("contexts"))
        keys = list(zip(claims["query"].tolist(), claims["number"].tolist(), strict=True))
        texts = [inputs.run.dataset.queries[query].text for query, _ in keys]
        requests = [
            JudgeRequest("support", text, answers[query], claim, contexts[query])
            for (query, _), text, claim in zip(keys, texts, claims["text"].tolist(), strict=True)
        ]
        title = f"verify {inputs.configuration.name} {inputs.node.variant}"
        asked = [place for place, request in enumerate(requests) if request.passages]
        found = judgements_of(judge, [requests[place] for place in asked], inputs.run.answer_resources, title)
        judgements = dict(zip(asked, found, strict=True))
        rows = [_row(*key, judgements.get(place) or unsupported(judge)) for place, key in enumerate(keys)]
        draft.table("verdicts", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
        record_calls(draft, found, judge.calls_model)

    def _judge(self, part: str, run: RunContext) -> Judge:
        return OverlapJudge() if part == OVERLAP else self.judging(run).support


def unsupported(judge: Judge) -> Judgement:
    """Return the judgement of a claim without any passage, which no judge needs to be asked for."""
    return Judgement(0.0, "absent" if judge.gives_verdicts else "")


def _row(query: int, number: int, judgement: Judgement) -> tuple[Any, ...]:
    decided = (judgement.passage, judgement.start, judgement.end)
    scored = (judgement.verdict, judgement.score, judgement.confidence)
    return query, number, *scored, *decided, json.dumps(judgement.flags), judgement.error, judgement.model
