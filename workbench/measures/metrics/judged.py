"""Metrics that read judgements: claims, contexts, whole answers, and the end-to-end test of a question."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from workbench.components.judging.base import Judgement, Task, Verdict
from workbench.components.judging.settings import EndToEndThresholds
from workbench.measures.metrics.answers import proves
from workbench.measures.metrics.case import NO_CUT, AnswerJudgements, Case, Cut, MetricValues, Reasons
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.definition import (
    ANSWERABLE,
    CONTRADICTIONS,
    EXPECTED,
    GENERATED,
    GIVEN,
    IN_CONTEXT,
    VERDICTS,
    WORKBENCH,
    MetricDefinition,
)

NOT_JUDGED = "not judged"
RAGAS = "Es et al. 2024, Ragas"


def scores_of(judgements: Sequence[Judgement]) -> list[float]:
    """Return the scores, NaN for a failed judgement."""
    return [np.nan if judgement.score is None else judgement.score for judgement in judgements]


def mean_of(judgements: Sequence[Judgement]) -> float:
    """Return the mean score, NaN without judgements or if one failed."""
    scores = scores_of(judgements)
    return float(np.mean(scores)) if scores else np.nan


def error_of(judgements: Sequence[Judgement], expected: int) -> str:
    """Return why there are not as many successful judgements as expected, or an empty text."""
    errors = (judgement.error or "the judge gave no score" for judgement in judgements if judgement.error or judgement.score is None)
    return next(errors, "" if len(judgements) >= expected else NOT_JUDGED)


def grouped(reasons: Sequence[str]) -> Reasons:
    """Return each reason with its questions (q), without the empty reason."""
    every = np.array(reasons, dtype=object)
    return tuple((reason, np.asarray(every == reason, dtype=np.bool_)) for reason in dict.fromkeys(reasons) if reason)


def floats(values: Sequence[float]) -> Floats:
    """Return values as an array."""
    return np.array(values, dtype=np.float64)


NO_CLAIMS = "the answer has no claims"


def support_overlap(case: Case, _: Cut) -> MetricValues:
    """Mean overlap of the claims with the context."""
    values = [mean_of(judged.overlap) for judged in case.judgements.of_answers]
    errors = [judged.claims_error or error_of(judged.overlap, judged.claims) for judged in case.judgements.of_answers]
    return MetricValues(floats(values), unscored=grouped(errors), not_applicable=_without_claims(case))


def share_of(verdict: Verdict, judged: AnswerJudgements) -> float:
    """Return the share of an answer's claims that have a verdict, NaN without claims."""
    return sum(judgement.verdict == verdict for judgement in judged.support) / judged.claims if judged.claims else np.nan


def claims_error(judged: AnswerJudgements) -> str:
    """Return why not all claims of an answer have a verdict, or an empty text."""
    return judged.claims_error or error_of(judged.support, judged.claims)


def share_of_claims(case: Case, _: Cut, verdict: Verdict) -> MetricValues:
    """Claims with the verdict / claims."""
    answers, untested = case.judgements.of_answers, case.judgements.untested
    errors = [claims_error(judged) or untested for judged in answers]
    return MetricValues(
        floats([share_of(verdict, judged) for judged in answers]), unscored=grouped(errors), not_applicable=_without_claims(case)
    )


def _without_claims(case: Case) -> Reasons:
    empty = [not judged.claims and not judged.claims_error for judged in case.judgements.of_answers]
    return ((NO_CLAIMS, np.array(empty, dtype=np.bool_)),)


NO_PASSAGE = "no passage in the context"
NO_LABELS = "no evidence spans and no relevant document"


def context_precision_gold(case: Case, cut: Cut) -> MetricValues:
    """Relevant passages by the labels / passages, among the first k of the context."""
    labels, values, unlabelled = case.labels, [], []
    for query, passages in enumerate(case.contexts.passages):
        needs, relevant = labels.needs[query], labels.relevant_documents[query]
        by_documents = np.array([passage.doc_id in relevant for passage in passages], dtype=np.bool_)
        first = np.asarray(np.any(proves(case, query), axis=0) if needs else by_documents)[: cut.k]
        values.append(float(first.mean()) if len(first) else np.nan)
        unlabelled.append(not needs and not relevant)
    return MetricValues(floats(values), not_applicable=((NO_LABELS, np.array(unlabelled, dtype=np.bool_)), *_empty(case)))


def context_precision_judged(case: Case, cut: Cut) -> MetricValues:
    """Passages whose judged relevance reaches the threshold / passages, among the first k of the context."""
    least = case.judgements.thresholds.context_relevance
    first = [judged.passages[: cut.k] for judged in case.judgements.of_answers]
    values = [float(np.mean([score >= least for score in scores_of(judged)])) if judged else np.nan for judged in first]
    return MetricValues(floats(values), unscored=_errors(case, cut), not_applicable=_empty(case))


def context_relevance(case: Case, _: Cut) -> MetricValues:
    """Mean judged relevance of the passages of the context."""
    values = [mean_of(judged.passages) for judged in case.judgements.of_answers]
    return MetricValues(floats(values), unscored=_errors(case, NO_CUT), not_applicable=_empty(case))


def _errors(case: Case, cut: Cut) -> Reasons:
    pairs = zip(case.judgements.of_answers, case.contexts.passages, strict=True)
    return grouped([error_of(judged.passages[: cut.k], len(passages[: cut.k])) for judged, passages in pairs])


def _empty(case: Case) -> Reasons:
    return ((NO_PASSAGE, np.array([not passages for passages in case.contexts.passages], dtype=np.bool_)),)


def score_of_task(case: Case, _: Cut, task: Task) -> MetricValues:
    """The judge's score of the whole answer, 0 for a refusal."""
    found = [[judged.tasks[task]] if task in judged.tasks else [] for judged in case.judgements.of_answers]
    refused = case.answers.refused
    # An empty text answers nothing, and is not shown to a judge.
    silent = refused | np.array([not text.strip() for text in case.answers.texts], dtype=np.bool_)
    values = np.where(silent, 0.0, floats([mean_of(judged) for judged in found]))
    errors = [error_of(judged, expected) for judged, expected in zip(found, (~silent).astype(int).tolist(), strict=True)]
    return MetricValues(values, unscored=grouped(errors))


def end_to_end(case: Case, _: Cut) -> MetricValues:
    """1 if every test is passed, else 0. A question with a failed judgement is unscored, also if it fails another test."""
    passed = [_passes(case, query) for query in range(len(case))]
    return MetricValues(floats(list(map(float, passed))), unscored=grouped([_error(case, query) for query in range(len(case))]))


def _passes(case: Case, query: int) -> bool:
    answers, question = case.answers, case.labels.questions[query]
    if not question.answerable or answers.refused[query]:
        return bool(answers.refused[query]) and not question.answerable
    limits, judged, passages = case.judgements.thresholds, case.judgements.of_answers[query], case.contexts.passages[query]
    grounded = 1.0 if not _tests_grounding(case) or not judged.claims else share_of("supported", judged)
    least: dict[Task, float] = {"answer_relevance": limits.answer_relevance, "correctness": limits.correctness}
    return (
        any(passage.doc_id in case.labels.relevant_documents[query] for passage in passages)
        and all(score >= limits.context_relevance for score in scores_of(judged.passages))
        and grounded >= limits.faithfulness
        and len(answers.texts[query].strip()) > limits.characters
        and all(score >= least[task] for task in least if task in judged.tasks for score in scores_of([judged.tasks[task]]))
    )


def _error(case: Case, query: int) -> str:
    question, judged = case.labels.questions[query], case.judgements.of_answers[query]
    if not question.answerable or case.answers.refused[query]:
        return ""
    tasks = [judged.tasks[task] for task in ("answer_relevance", "correctness") if task in judged.tasks]
    grounding = claims_error(judged) or (case.judgements.untested if judged.claims else "") if _tests_grounding(case) else ""
    return grounding or error_of(judged.passages, len(case.contexts.passages[query])) or error_of(tasks, 0)


def _tests_grounding(case: Case) -> bool:
    """Check that claims have verdicts that count. An answer that is copied from the context needs none."""
    return not case.judgements.only_score and not case.answers.verbatim


_OF_CLAIMS = (*IN_CONTEXT, GENERATED, GIVEN)
_of_context = partial(MetricDefinition, reads=("context", "judgement"), requires=(ANSWERABLE, *IN_CONTEXT), source=RAGAS)
_of_answer = partial(
    MetricDefinition,
    reads=("context", "answer", "judgement"),
    requires=(ANSWERABLE,),
    formula="the judge's score; 0 for a refusal",
    source=RAGAS,
)
JUDGED_METRICS = (
    _of_answer(
        "faithfulness",
        partial(share_of_claims, verdict="supported"),
        aliases=("groundedness",),
        requires=(VERDICTS, *_OF_CLAIMS),
        definition="share of the answer's claims that a passage of the context supports, by the judge `support`",
        formula="supported claims / claims",
        usual=True,
        tasks=("support",),
        suite_test="faithfulness",
    ),
    _of_answer(
        "contradiction_rate",
        partial(share_of_claims, verdict="contradicted"),
        requires=(CONTRADICTIONS, *_OF_CLAIMS),
        definition="share of the answer's claims that a passage of the context contradicts, by the judge `support`; lower is better",
        formula="contradicted claims / claims",
        source=WORKBENCH,
        higher_is_better=False,
        tasks=("support",),
        suite_test="faithfulness",
    ),
    _of_answer(
        "support_overlap",
        support_overlap,
        requires=_OF_CLAIMS,
        definition="how much of the answer's claims the words, numbers and sentences of the context contain, whichever judge is set; "
        "a score without verdicts",
        formula="mean of the claims' scores by the judge `overlap`",
        source=WORKBENCH,
        usual=True,
        suite_test="faithfulness",
    ),
    _of_answer(
        "answer_correctness",
        partial(score_of_task, task="correctness"),
        aliases=("correctness",),
        requires=(ANSWERABLE, EXPECTED),
        definition="agreement of the answer with the expected answer or one of its variants, by the judge `correctness`",
        usual=True,
        compares="judge",
        tasks=("correctness",),
    ),
    _of_context(
        "context_precision_gold",
        context_precision_gold,
        cut="k",
        definition="share of the first k passages of the context that have evidence or, without evidence, are of a relevant document",
        formula="relevant passages / passages, among the first k",
        source=WORKBENCH,
        suite_test="context precision",
    ),
    _of_context(
        "context_precision_judged",
        context_precision_judged,
        aliases=("context_precision",),
        cut="k",
        definition="share of the first k passages of the context that the judge `relevance` finds relevant",
        formula="passages with a relevance of at least `judging.thresholds.context_relevance` / passages, among the first k",
        version=2,
        tasks=("context_relevance",),
        thresholds=("context_relevance",),
        suite_test="context precision",
    ),
    _of_context(
        "context_relevance",
        context_relevance,
        definition="mean relevance of the passages of the context to the question, by the judge `relevance`",
        formula="mean of the passages' relevance",
        usual=True,
        tasks=("context_relevance",),
        suite_test="context precision",
    ),
    _of_answer(
        "answer_relevance",
        partial(score_of_task, task="answer_relevance"),
        aliases=("answer_relevancy",),
        definition="relevance of the answer to the question, by the judge `relevance`",
        usual=True,
        tasks=("answer_relevance",),
    ),
    _of_answer(
        "rubric",
        partial(score_of_task, task="rubric"),
        definition="quality of the answer as a whole, by the judge `rubric`",
        source="Zheng et al. 2023, Judging LLM-as-a-Judge",
        tasks=("rubric",),
    ),
    _of_answer(
        "end_to_end",
        end_to_end,
        requires=IN_CONTEXT,
        definition="1 if the context has an expected document and no irrelevant passage, and the answer is faithful, relevant, correct and not too short, or if "
        "an unanswerable question is refused; without the test of faithfulness if the judge of claims is a score or the answer is copied",
        formula="1 if every test reaches its threshold, else 0; only tests that apply count",
        source=WORKBENCH,
        thresholds=tuple(EndToEndThresholds.model_fields),
    ),
)
