"""The attribution of reports on answers with a known cause: with their labels as judge, and with the judges of a run."""

from collections.abc import Iterator, Sequence

from benchmarks.faultbench.answers import LabelledAnswer
from benchmarks.faultbench.cases import NONE
from benchmarks.faultbench.evaluation import AttributedCase
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import AnswerClaims, Judgement, JudgeRequest, SplitRequest, Task
from workbench.components.judging.settings import Judging
from workbench.measures.attribution.answer_causes import AnswerFacts, JudgedQuestion, JudgeRoles, answer_cause, answer_facts
from workbench.measures.attribution.answer_text import expected_answers
from workbench.measures.metrics.case import AnswerJudgements
from workbench.runner.pipeline.stages.judging import claims_of, judgements_of

_DOWN = Judgement(error="no judge can verify the claim")
_WHOLE: tuple[Task, ...] = ("answer_relevance", "correctness")


def by_labels(answers: Sequence[LabelledAnswer]) -> list[AttributedCase]:
    """Attribute failures as if every judge agreed with the labels."""
    return [_attributed(answer, answer.observed) for answer in answers]


def judged_answers(answers: Sequence[LabelledAnswer], judging: Judging, resources: AnswerResources) -> list[JudgedQuestion]:
    """Judge answers as the stages of a sweep do. No label but those of evidence is read."""
    given = [answer for answer in answers if not answer.observed.refused and answer.answer.strip()]
    split = claims_of(judging.claims, [SplitRequest(each.query.text, each.answer) for each in given], resources, "split answers")
    found = dict(zip((each.case_id for each in given), _judged(given, split, judging, resources), strict=True))
    texts = {each.case_id: [claim.text for claim in claims.claims] for each, claims in zip(given, split, strict=True)}
    return [
        JudgedQuestion(
            answerable=each.observed.answerable,
            refused=each.observed.refused,
            missed=each.observed.missed,
            judgements=found.get(each.case_id, AnswerJudgements()),
            claims=texts.get(each.case_id, []),
            text=each.observed.text,
            expected=expected_answers(each.query),
        )
        for each in answers
    ]


def by_judges(answers: Sequence[LabelledAnswer], judged: Sequence[JudgedQuestion], roles: JudgeRoles) -> list[AttributedCase]:
    """Attribute failures from their judgements."""
    return [_attributed(answer, answer_facts(each, roles)) for answer, each in zip(answers, judged, strict=True)]


def _judged(
    given: Sequence[LabelledAnswer], split: Sequence[AnswerClaims], judging: Judging, resources: AnswerResources
) -> Iterator[AnswerJudgements]:
    """Yield the judgements of each answer."""
    requests = [_of_claims(answer, claims) for answer, claims in zip(given, split, strict=True)]
    support = iter(judgements_of(judging.support, [each for one in requests for each in one], resources, "verify claims"))
    tasks = {task: judgements_of(judging.judges[task], [_of_answer(task, each) for each in given], resources, task) for task in _WHOLE}
    for place, (answer, claims, asked) in enumerate(zip(given, split, requests, strict=True)):
        verified = [next(support) for _ in asked]
        yield AnswerJudgements(
            claims=len(claims.claims),
            claims_error=claims.error,
            support=verified if answer.judged else [_DOWN] * len(verified),
            tasks={task: judgements[place] for task, judgements in tasks.items()},
        )


def _of_claims(answer: LabelledAnswer, split: AnswerClaims) -> list[JudgeRequest]:
    return [JudgeRequest("support", answer.query.text, answer.answer, claim.text, answer.passages) for claim in split.claims]


def _of_answer(task: Task, answer: LabelledAnswer) -> JudgeRequest:
    expected = tuple(filter(None, (answer.query.answer, *answer.query.answer_variants))) if task == "correctness" else ()
    return JudgeRequest(task, answer.query.text, answer.answer, expected=expected)


def _attributed(answer: LabelledAnswer, seen: AnswerFacts) -> AttributedCase:
    cause = answer_cause(seen)
    return AttributedCase(answer.query.query_id, answer.cause, cause.cause if cause else NONE)
