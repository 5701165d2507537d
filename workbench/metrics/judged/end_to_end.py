"""The end-to-end test of a question: retrieval, context, grounding, relevance and correctness, or a right refusal."""

from workbench.judging.base import Task
from workbench.judging.settings import EndToEndThresholds
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import IN_CONTEXT, WORKBENCH, MetricDefinition
from workbench.metrics.judged.claims import claims_error, share_of
from workbench.metrics.judged.values import error_of, floats, grouped, scores_of


def end_to_end(case: Case, _: Cut) -> MetricValues:
    """1 if every test is passed, else 0. A question with a failed judgement is unscored, also if it fails another test."""
    passed = [_passes(case, place) for place in range(len(case))]
    return MetricValues(floats(list(map(float, passed))), unscored=grouped([_error(case, place) for place in range(len(case))]))


def _passes(case: Case, place: int) -> bool:
    answers, query = case.answers, case.labels.questions[place]
    if not query.answerable or answers.refused[place]:
        return bool(answers.refused[place]) and not query.answerable
    limits, judged, passages = case.judgements.thresholds, case.judgements.of_answers[place], case.contexts.passages[place]
    grounded = 1.0 if not _tests_grounding(case) or not judged.claims else share_of("supported", judged)
    least: dict[Task, float] = {"answer_relevance": limits.answer_relevance, "correctness": limits.correctness}
    return (
        any(passage.doc_id in case.labels.relevant_documents[place] for passage in passages)
        and all(score >= limits.context_relevance for score in scores_of(judged.passages))
        and grounded >= limits.faithfulness
        and len(answers.texts[place].strip()) > limits.characters
        and all(score >= least[task] for task in least if task in judged.tasks for score in scores_of([judged.tasks[task]]))
    )


def _error(case: Case, place: int) -> str:
    query, judged = case.labels.questions[place], case.judgements.of_answers[place]
    if not query.answerable or case.answers.refused[place]:
        return ""
    tasks = [judged.tasks[task] for task in ("answer_relevance", "correctness") if task in judged.tasks]
    grounding = claims_error(judged) or (case.judgements.untested if judged.claims else "") if _tests_grounding(case) else ""
    return grounding or error_of(judged.passages, len(case.contexts.passages[place])) or error_of(tasks, 0)


def _tests_grounding(case: Case) -> bool:
    """Check that claims have verdicts that count. An answer that is copied from the context needs none."""
    return not case.judgements.only_score and not case.answers.verbatim


END_TO_END = MetricDefinition(
    "end_to_end",
    end_to_end,
    reads=("context", "answer", "judgement"),
    requires=IN_CONTEXT,
    definition="1 if the context has an expected document and no irrelevant passage, and the answer is faithful, relevant, correct and not too short, or if "
    "an unanswerable question is refused; without the test of faithfulness if the judge of claims is a score or the answer is copied",
    formula="1 if every test reaches its threshold, else 0; only tests that apply count",
    source=WORKBENCH,
    thresholds=tuple(EndToEndThresholds.model_fields),
)
