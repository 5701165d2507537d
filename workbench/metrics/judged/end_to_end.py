"""The end-to-end test of a question: retrieval, context, grounding, relevance and correctness, or a right refusal."""

from workbench.judging.base import Task
from workbench.metrics.answers.case import AnswerValues
from workbench.metrics.case import Cut
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.claims import claims_error, share_of
from workbench.metrics.judged.values import error_of, floats, grouped, scores_of


def end_to_end(case: JudgedCase, _: Cut) -> AnswerValues:
    """1 if every test is passed, else 0. A question with a failed judgement is unscored, also if it fails another test."""
    passed = [_passes(case, place) for place in range(len(case))]
    return AnswerValues(floats(list(map(float, passed))), unscored=grouped([_error(case, place) for place in range(len(case))]))


def _passes(case: JudgedCase, place: int) -> bool:
    answers, query = case.answered.answers, case.answered.labels.queries[place]
    if not query.answerable or answers.refused[place]:
        return bool(answers.refused[place]) and not query.answerable
    limits, judged, passages = case.thresholds, case.judgements[place], case.answered.contexts.passages[place]
    grounded = 1.0 if not _tests_grounding(case) or not judged.claims else share_of("supported", judged)
    least: dict[Task, float] = {"answer_relevance": limits.answer_relevance, "correctness": limits.correctness}
    return (
        any(passage.doc_id in case.relevant[place] for passage in passages)
        and all(score >= limits.context_relevance for score in scores_of(judged.passages))
        and grounded >= limits.faithfulness
        and len(answers.texts[place].strip()) > limits.characters
        and all(score >= least[task] for task in least if task in judged.tasks for score in scores_of([judged.tasks[task]]))
    )


def _error(case: JudgedCase, place: int) -> str:
    query, judged = case.answered.labels.queries[place], case.judgements[place]
    if not query.answerable or case.answered.answers.refused[place]:
        return ""
    tasks = [judged.tasks[task] for task in ("answer_relevance", "correctness") if task in judged.tasks]
    grounding = claims_error(judged) or (case.untested if judged.claims else "") if _tests_grounding(case) else ""
    return grounding or error_of(judged.passages, len(case.answered.contexts.passages[place])) or error_of(tasks, 0)


def _tests_grounding(case: JudgedCase) -> bool:
    """Return whether claims have verdicts that count. An answer that is copied from the context needs none."""
    return not case.only_score and not case.answered.verbatim
