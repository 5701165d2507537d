"""The judgements of one variant of a configuration beside its answers, as judged metrics read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.judging.base import Judgement, Task
from workbench.judging.settings import EndToEndThresholds
from workbench.metrics.answers.case import AnswerCase


@dataclass(frozen=True)
class AnswerJudgements:
    """The judgements of the answer to one question and of the passages of its context.

    `claims` is the number of claims, and `claims_error` the reason why the answer could not be split. `support` and `overlap` have a judgement
    for each claim, `passages` one for each passage of the context, `tasks` one for each task about the whole answer; all are empty where
    nothing was judged.
    """

    claims: int = 0
    claims_error: str = ""
    support: Sequence[Judgement] = ()
    overlap: Sequence[Judgement] = ()
    passages: Sequence[Judgement] = ()
    tasks: Mapping[Task, Judgement] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JudgedCase:
    """The answers of a variant with the judgements of each question (q).

    `relevant` has the documents that each question expects (q). `only_score` says why the judge of claims is a score and no judge, empty if it
    is one. `no_contradictions` says why contradicted claims are not told from absent ones, empty if they are. `untested` says why it is not known
    yet whether it is a judge, empty if it is. `thresholds` are those of the end-to-end test.
    """

    answered: AnswerCase
    judgements: Sequence[AnswerJudgements]
    relevant: Sequence[frozenset[str]]
    only_score: str = ""
    no_contradictions: str = ""
    untested: str = ""
    thresholds: EndToEndThresholds = field(default_factory=EndToEndThresholds)

    def lacks(self, needs: Literal["scores", "verdicts", "contradictions"]) -> str:
        """Return why the judge of claims does not give what a metric needs, or an empty text."""
        if needs == "scores":
            return ""
        return self.only_score or (self.no_contradictions if needs == "contradictions" else "")

    def __len__(self) -> int:
        return len(self.answered)
