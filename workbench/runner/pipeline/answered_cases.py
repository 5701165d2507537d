"""The stored contexts, answers and judgements of a variant, as metrics and the causes of failed answers read them. All metrics share them."""

import json
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.context.planting import outcome_of
from workbench.components.embedding.embed import read_texts
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.judging.base import TASKS, Judgement, Task
from workbench.components.judging.self_test import Trust
from workbench.core.memo import memoised
from workbench.core.records import Passage, Variant
from workbench.core.storage.result_store import StoredResult
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.replies.answers import CUT_REASONING
from workbench.measures.metrics.case import AnswerJudgements, Answers, Case, Contexts, Judgements, VariantParts
from workbench.measures.metrics.inputs import Retrieved
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage_results import StageResults, result_id

# The parts of the stage `verdicts`.
SUPPORT, OVERLAP = "support", "overlap"
FAILED = "a call of the judge's test on known answers failed"


def passages_of(entry: StoredResult) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of each question to which the condition applies, in the order of the prompt."""
    about, rows = entry.table("contexts"), entry.table("passages")
    found: dict[int, list[Passage]] = {query: [] for query in about.loc[about["reason"] == "", "query"].tolist()}
    columns = ["query", "doc_id", "start", "end", "text", "title", "planted"]
    for query, *values in rows.sort_values(["query", "number"], kind="stable")[columns].itertuples(index=False, name=None):
        found[query].append(Passage(*values))
    return {query: tuple(passages) for query, passages in found.items()}


@memoised(2)
def any_unopened(_: RunContext, configuration: Configuration, entries: tuple[StoredResult, ...]) -> bool:
    """Return True if any reply of a model is the end of a reasoning whose beginning is missing. Copied sentences are none."""
    copied = configuration.answering is not None and configuration.answering.verbatim
    return not copied and any(each.table("answers")["unopened"].any() for each in entries)


def answer_rows(entry: StoredResult, unopened: bool) -> pd.DataFrame:
    """Return the table of a variant's answers without those that are reasoning. `unopened`: see `any_unopened`, for all variants.

    A template that writes the beginning of the reasoning into the prompt leaves only its end in a reply. A reply that was cut before the end has no
    mark at all, and only the other replies of the model show that it is no answer.
    """
    rows = entry.table("answers")
    if not unopened:
        return rows
    cut = rows["truncated"].eq(True).fillna(False).astype(bool) & ~rows["reasoned"] & (rows["error"] == "")
    empty = {"text": "", "citations": "[]", "refused": False, "error": CUT_REASONING.reason}
    return rows.assign(**{name: rows[name].mask(cut, value) for name, value in empty.items()})


def outcomes_of(contexts: StoredResult, rows: pd.DataFrame) -> dict[int, str]:
    """Return the outcome of each of the `answer_rows` to a context with a planted text: the label of a recorded answer, or what its text shows, else empty."""
    about = contexts.table("contexts")
    planted = dict(zip(about["query"].tolist(), about["planted"].tolist(), strict=True))
    given = zip(rows["query"].tolist(), rows["text"].tolist(), rows["error"].tolist(), rows["outcome"].tolist(), strict=True)
    return {
        query: label or (outcome_of(text, json.loads(planted[query])) if text else "")
        for query, text, error, label in given
        if planted[query] and not error
    }


def given_answers(entry: StoredResult) -> dict[int, str]:
    """Return the text of each answer by question, without refusals and failed answers."""
    rows = answer_rows(entry, bool(entry.table("answers")["unopened"].any()))
    given = rows[(rows["error"] == "") & ~rows["refused"] & rows["text"].str.strip().astype(bool)]
    return dict(zip(given["query"].tolist(), given["text"].tolist(), strict=True))


def stored_claims(entry: StoredResult) -> list[tuple[int, int, str]]:
    """Return question, number and text of each claim."""
    rows = entry.table("claims")
    rows = rows[rows["number"] >= 0]
    return list(zip(rows["query"].tolist(), rows["number"].tolist(), rows["text"].tolist(), strict=True))


def trust_in(entry: StoredResult) -> Trust:
    """Return the result of a test."""
    values = entry.values("trust")
    return Trust(**{**values, "weak_kinds": tuple(values["weak_kinds"])})


# Of all variants that a run may have.
_VARIANTS = 64
NO_ANSWER = "no answer"


def answered_case(results: StageResults, variant: Variant, ranking: Retrieved | None = None) -> Case:
    """Return the case of a variant: its contexts, and its answers and judgements if their entries are given."""
    run, contexts, answers, judgements = results.run, results.contexts_of(variant), None, None
    if "answers" in results.entries:
        unopened = any_unopened(run, results.configuration, tuple(results.parts("answers")))
        answers = _answers(run, results.configuration, contexts, results.of("answers", variant), unopened)
    if "judge_tests" in results.entries:
        judgements = _judgements(run, results.of("judge_tests", Variant(), SUPPORT), *_judged_results(results, variant))
    answered = VariantParts(variant, _contexts(run, contexts), answers, judgements)
    return Case(run.labels, ranking, run.spans, answered=answered)


def _judged_results(
    results: StageResults, variant: Variant
) -> tuple[StoredResult, tuple[StoredResult, ...], tuple[tuple[Task, StoredResult], ...]]:
    """Return the results of a variant: its claims, its verdicts by the judges `support` and `overlap`, and its judgements by task."""

    def found(stage: str, part: str) -> StoredResult | None:
        return results.entries.get(stage, {}).get(result_id(variant, part))

    support = found("verdicts", SUPPORT)
    verdicts = tuple(filter(None, (support, found("verdicts", OVERLAP) or support)))
    judgements = tuple((task, judged) for task in TASKS if (judged := found("judgements", task)))
    return results.of("claims", variant), verdicts, judgements


@memoised(_VARIANTS)
def _contexts(run: RunContext, entry: StoredResult) -> Contexts:
    queries = range(run.labels.queries)
    passages, about = passages_of(entry), entry.table("contexts").set_index("query").reindex(queries)
    return Contexts(
        passages=[passages.get(query, ()) for query in queries],
        reasons=about["reason"].fillna("").tolist(),
        gold=about["gold"].eq(True).to_numpy(np.bool_),
        relevant=about["relevant"].fillna(0).to_numpy(np.float64),
        packing_recall=about["packing_recall"].to_numpy(np.float64),
        unknown=frozenset(entry.values("unknown")),
    )


@memoised(_VARIANTS)
def _answers(run: RunContext, configuration: Configuration, contexts: StoredResult, answers: StoredResult, unopened: bool) -> Answers:
    rows, queries = answer_rows(answers, unopened), range(run.labels.queries)
    outcomes = outcomes_of(contexts, rows)
    rows = rows.set_index("query").reindex(queries)
    return Answers(
        texts=rows["text"].fillna("").tolist(),
        refused=rows["refused"].eq(True).to_numpy(np.bool_),
        # A question with a context and without a row has no answer, which must not pass for an empty one.
        errors=rows["error"].fillna(NO_ANSWER).tolist(),
        citations=[json.loads(text) for text in rows["citations"].fillna("[]")],
        confidence=rows["confidence"].to_numpy(np.float64),
        correct=rows["correct"].to_numpy(np.float64, na_value=np.nan),
        outcomes=[outcomes.get(query, "") for query in queries],
        truncated=rows["truncated"].eq(True).fillna(False).to_numpy(np.bool_),
        verbatim=configuration.answering is not None and configuration.answering.verbatim,
        embed=partial(_embedded, run.workspace.vectors),
    )


def _embedded(cache: VectorCache, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit vectors of texts by all-MiniLM-L6-v2, whichever embedder the configuration searches with."""
    read = read_texts(texts, SentenceTransformerEmbedder(), "document", cache)
    vectors = np.stack([read[text].vector for text in texts])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)


@memoised(_VARIANTS)
def _judgements(
    run: RunContext,
    tested: StoredResult,
    claims: StoredResult,
    verdicts: tuple[StoredResult, ...],
    judgements: tuple[tuple[Task, StoredResult], ...],
) -> Judgements:
    rows = claims.table("claims")
    counts = rows[rows["number"] >= 0].groupby("query").size().to_dict()
    failed = rows[rows["number"] < 0]
    errors = dict(zip(failed["query"].tolist(), failed["error"].tolist(), strict=True))
    support, overlap = (_by_question(entry.table("verdicts"), "number") for entry in verdicts)
    tasks = {task: _by_question(entry.table("judgements"), "passage") for task, entry in judgements}
    passages = tasks.pop("context_relevance", {})
    of_answers = [
        AnswerJudgements(
            claims=int(counts.get(query, 0)),
            claims_error=errors.get(query, ""),
            support=support.get(query, ()),
            overlap=overlap.get(query, ()),
            passages=passages.get(query, ()),
            tasks={task: by_query[query][0] for task, by_query in tasks.items() if query in by_query},
        )
        for query in range(run.labels.queries)
    ]
    judging, role = run.required_judging, trust_in(tested)
    judge = judging.support
    measured = f": {role.reason}" if judge.gives_verdicts else ""
    untested = FAILED if judge.gives_verdicts and role.failed_calls else ""
    only_score = "" if role.role == "judge" or untested else f"`{judge.kind}` is a score, not a judge{measured}"
    blind = "" if judge.finds_contradictions else f"`{judge.kind}` does not tell contradicted claims from absent ones"
    return Judgements(of_answers, only_score, blind, untested, judging.thresholds)


def _by_question(rows: pd.DataFrame, number: str) -> dict[int, tuple[Judgement, ...]]:
    """Return the judgements of a table `verdicts` or `judgements` by question, in the order of `number`."""
    found: dict[int, list[Judgement]] = {}
    verdicts = rows["verdict"] if "verdict" in rows else pd.Series("", index=rows.index)
    ordered = rows.assign(verdict=verdicts).sort_values(["query", number], kind="stable")
    columns = ordered[["query", "score", "verdict", "error"]]
    for query, score, verdict, error in columns.itertuples(index=False, name=None):
        found.setdefault(query, []).append(Judgement(None if math.isnan(score) else score, verdict, error=error))
    return {query: tuple(judgements) for query, judgements in found.items()}
