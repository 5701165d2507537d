"""Small cases of judged answers for the tests of judged metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.answer_cases import Asked, case_of, table_of
from workbench.components.judging.base import Judgement, Verdict
from workbench.components.judging.settings import EndToEndThresholds
from workbench.core.records import Variant
from workbench.measures.metrics.case import AnswerJudgements, Case, Cut, Judgements

FAILED = "the judge is down"
LONG = "Paris is the capital, and it has been so for more than a thousand years."


@dataclass(frozen=True)
class Judged:
    """A question with the judgements of its answer: verdicts of claims, scores of claims by overlap and of passages, None if the judge failed.

    `relevance`, `correctness` and `rubric` are None if there is no judgement, and NaN if the judge failed.
    """

    asked: Asked = field(default_factory=lambda: Asked(LONG, passages=(("d", 0, 9),)))
    verdicts: Sequence[Verdict | None] = ()
    overlap: Sequence[float | None] = ()
    passages: Sequence[float | None] = ()
    relevance: float | None = None
    correctness: float | None = None
    rubric: float | None = None
    unsplit: str = ""
    relevant: tuple[str, ...] = ("d",)

    @property
    def judgements(self) -> AnswerJudgements:
        support = [failed() if verdict is None else Judgement(float(verdict == "supported"), verdict) for verdict in self.verdicts]
        given: dict[Any, float | None] = {
            "answer_relevance": self.relevance,
            "correctness": self.correctness,
            "rubric": self.rubric,
        }
        tasks = {task: scored(None if score != score else score) for task, score in given.items() if score is not None}
        claims = max(len(self.verdicts), len(self.overlap))
        return AnswerJudgements(claims, self.unsplit, support, [*map(scored, self.overlap)], [*map(scored, self.passages)], tasks)


def failed() -> Judgement:
    return Judgement(error=FAILED)


def scored(score: float | None) -> Judgement:
    return failed() if score is None else Judgement(score)


def judged_case(
    *judged: Judged,
    variant: Variant = Variant(),  # noqa: B008  # frozen
    verbatim: bool = False,
    only_score: str = "",
    no_contradictions: str = "",
    untested: str = "",
    **thresholds: float,
) -> Case:
    """The case of these questions."""
    found = [each.judgements for each in judged]
    judgements = Judgements(found, only_score, no_contradictions, untested, EndToEndThresholds(**thresholds))
    relevant = [each.relevant for each in judged]
    return case_of(*(each.asked for each in judged), variant=variant, verbatim=verbatim, relevant=relevant, judgements=judgements)


def outcomes(name: str, *judged: Judged, k: int | None = None, **case: Any) -> list[float | str]:
    """The value of a metric for each question, or the state with the reason."""
    table = table_of(judged_case(*judged, **case), name, Cut(k))
    rows = table[["value", "state", "reason"]].itertuples(index=False, name=None)
    return [value if state == "scored" else f"{state}: {reason}" for value, state, reason in rows]
