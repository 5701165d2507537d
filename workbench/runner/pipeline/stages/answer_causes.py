"""Name the cause of every failed question in the judged variants of a configuration."""

from collections.abc import Collection, Iterator
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.components.context.conditions import ATTRIBUTED, RETRIEVED, WITHHELD
from workbench.components.context.question_labels import QuestionLabels, question_labels
from workbench.core.memo import memoised
from workbench.core.records import Query, Variant
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.core.text.formatting import encodable
from workbench.core.text.words import VERSION
from workbench.measures.attribution.answer_causes import (
    AnswerCause,
    ContextEvidence,
    JudgedQuestion,
    JudgeRoles,
    answer_cause,
    answer_facts,
)
from workbench.measures.attribution.answer_text import AnswerText, answer_text, expected_answers
from workbench.measures.attribution.evidence_state import embedded_extent
from workbench.measures.metrics.case import Case
from workbench.runner.pipeline.answered_cases import answered_case, trust_in
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, TableMakers
from workbench.runner.pipeline.stage_results import StageResults, ranking_case
from workbench.runner.pipeline.stages.judging import JudgingStage
from workbench.runner.pipeline.stages.responses import unknown_questions

_COLUMNS = {"condition": "str", "variant": "str", "repeat": "int64", "query": "int64", "cause": "str", "evidence": "str"}


def _causes_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the cause of each failed answer, with what shows it."""
    rows = results.entry("answer_causes").table("causes")
    query_ids, texts = results.run.query_ids[rows["query"].to_numpy(np.int64)], [encodable(text) for text in rows["evidence"]]
    return rows.assign(query_id=query_ids, evidence=texts, need=-1, doc_id="", rank=0, subject="answer")


class AnswerCausesStage(JudgingStage):
    """Table `causes`, a row for each failed question of each judged variant without an attack: condition, variant, repeat, query, cause, evidence.

    A question that the condition does not apply to and a failed answer have no cause. `evidence` is the text of a claim, a piece of missed
    evidence, or empty.
    """

    name = "answer_causes"
    # Raise it when equal answers begin to get other causes.
    version = 3
    inputs = (
        *("corpus", "questions", "labels", "expected", "chunks", "vectors", "hits", "reranked", "neighbours"),
        *("responses", "contexts", "answers", "claims", "verdicts", "judgements", "judge_tests"),
    )
    tables: ClassVar[TableMakers] = {SCHEMAS["causes"]: _causes_table}

    def includes(self, variant: Variant, run: RunContext) -> bool:
        return variant.condition in ATTRIBUTED and variant.condition in run.judged_conditions

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return everything that decides besides the judgements and the tests of judges: thresholds, the delivered part, and the variants."""
        thresholds = run.required_judging.thresholds
        return Identity(
            run={
                "thresholds": [thresholds.correctness, thresholds.answer_relevance],
                "delivery": list(node.configuration.delivery(run.primary)),
                "spans": run.spans,
                "words": VERSION,
                "variants": [str(variant) for variant in run.judged_variants],
            }
        )

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        run, evidence = inputs.run, _evidence(inputs)
        unknown = unknown_questions(inputs, run.primary.family if run.primary else "documents")
        tests = (inputs.of("judge_tests", Variant(), task) for task in ("context_relevance", "answer_relevance"))
        # Otherwise the relevance of a passage or an answer is a score.
        relevance = all(trust_in(test).role == "judge" for test in tests)
        rows = [
            (variant.condition, variant.perturbation, variant.repeat, query, found.cause, found.evidence)
            for variant in run.judged_variants
            if variant.condition in ATTRIBUTED
            for query, found in _causes(
                answered_case(inputs, variant),
                relevance,
                evidence,
                _claim_texts(inputs, variant),
                unknown if variant.condition == RETRIEVED else (),
            )
        ]
        writer.table("causes", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))


def _causes(
    case: Case, relevance: bool, evidence: ContextEvidence, claims: dict[int, list[str]], unknown: Collection[int]
) -> Iterator[tuple[int, AnswerCause]]:
    """Yield the cause of each failed question of a variant. Of `unknown` ones nobody knows which evidence was retrieved."""
    answers, contexts, judgements, condition = case.answers, case.contexts, case.judgements, case.variant.condition
    roles = JudgeRoles(not judgements.only_score, relevance, judgements.thresholds)
    for query in range(len(case)):
        if contexts.reasons[query] or answers.errors[query]:
            continue
        asked, passages = case.labels.questions[query], contexts.passages[query]
        answerable, refused = asked.answerable and condition not in WITHHELD, bool(answers.refused[query])
        delivered = contexts.gold[query] or not answerable
        missed = () if delivered else None if query in unknown else evidence.missed(query, passages, condition)
        text = answer_text(asked, passages, answers.texts[query], refused=refused, truncated=bool(answers.truncated[query]))
        judged = JudgedQuestion(
            answerable=answerable,
            refused=refused,
            missed=missed,
            judgements=judgements.of_answers[query],
            claims=claims.get(query, []),
            label=_label(asked, answers.correct[query], text, condition),
            verbatim=answers.verbatim,
            text=text,
            expected=expected_answers(asked),
        )
        if found := answer_cause(answer_facts(judged, roles)):
            yield query, found


def _label(asked: Query, label: float, text: AnswerText, condition: str) -> bool | None:
    """Return True if an answer is known to be right without a judge, None if it is not known."""
    if condition in WITHHELD:
        # Only a refusal is right.
        return None
    if np.isnan(label):
        # The expected answer of an unanswerable question corrects what it takes for granted. No judge reads it.
        return True if text.equal or (not asked.answerable and text.expected) else None
    return bool(label)


def _claim_texts(inputs: Inputs, variant: Variant) -> dict[int, list[str]]:
    rows = inputs.of("claims", variant).table("claims").sort_values(["query", "number"], kind="stable")
    found: dict[int, list[str]] = {}
    for query, text in rows.loc[rows["number"] >= 0, ["query", "text"]].itertuples(index=False, name=None):
        found.setdefault(query, []).append(text)
    return found


def _evidence(inputs: Inputs) -> ContextEvidence:
    """Return the causes of evidence that retrieval does not deliver."""
    run, configuration, chunks = inputs.run, inputs.configuration, inputs.entry("chunks")
    case = ranking_case(inputs)
    vocabulary = configuration.embedding.vocabulary if configuration.embedding else None
    texts = run.chunks(chunks).inputs
    extent = embedded_extent(run.labels, case.retrieved.chunks, inputs.truncated, texts, vocabulary)
    return ContextEvidence.of(case, configuration.delivery(run.primary), extent, _labels(run), run.dataset.documents)


@memoised(2)
def _labels(run: RunContext) -> list[QuestionLabels]:
    return question_labels(run.dataset, [expected_answers(query) for query in run.dataset.queries])
