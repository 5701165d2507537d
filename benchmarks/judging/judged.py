"""The scores that judges and baselines give to labelled items."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.judging.labels import Item, LabelledSet
from benchmarks.judging.measures import Scored, auroc, balanced_accuracy, found_contradictions, with_interval
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, JudgeRequest
from workbench.components.retrieval.bm25 import BM25Retriever

Figures = dict[str, Any]
# Scores of requests, None for a request without one.
Scorer = Callable[[Sequence[JudgeRequest]], list[float | None]]


def always_yes(requests: Sequence[JudgeRequest]) -> list[float | None]:
    """The score 1."""
    return [1.0] * len(requests)


def word_overlap(requests: Sequence[JudgeRequest]) -> list[float | None]:
    """The share of the words to find, stemmed and without stop words, in all passages or in the answer; the largest for several."""
    pairs = [(wanted, " ".join(found)) for request in requests for wanted, found in [_texts(request)]]
    texts = list(dict.fromkeys(text for wanted, found in pairs for text in (*wanted, found)))
    words = dict(zip(texts, map(frozenset, BM25Retriever().words(texts)), strict=True))
    return [max((len(words[text] & words[found]) / max(1, len(words[text])) for text in wanted), default=0.0) for wanted, found in pairs]


def _texts(request: JudgeRequest) -> tuple[tuple[str, ...], list[str]]:
    passages = [passage.text for passage in request.passages]
    match request.task:
        case "support":
            return (request.claim,), passages
        case "correctness":
            return request.expected, [request.answer]
        case _:
            return (request.question,), passages or [request.answer]


def scorer_of(judge: Judge, resources: AnswerResources) -> Scorer:
    """The scores of a judge, from its caches where it was asked before."""

    def scores(requests: Sequence[JudgeRequest]) -> list[float | None]:
        found: list[float | None] = [None] * len(requests)
        for place, judgement in judge.judge(requests, resources):
            found[place] = judgement.score
        return found

    return scores


def figures(labelled: LabelledSet, name: str, scorer: Scorer, most: int | None = None) -> Figures:
    """How well the scores of a set agree with its labels. Items without a score are left out, and counted."""
    items = labelled.sampled(most)
    every = iter(scorer([request for item in items for request in item.requests]))
    means = [_mean([next(every) for _ in item.requests]) for item in items]
    scored = scored_of(items, means)
    return {
        "set": labelled.name,
        "task": labelled.task,
        "judge": name,
        "items": len(items),
        "approve": sum(item.approve for item in items),
        "clusters": len({item.cluster for item in items}),
        "unscored": means.count(None),
        "auroc": with_interval(auroc, scored),
        "balanced_accuracy": with_interval(balanced_accuracy, scored),
        "found_contradictions": with_interval(found_contradictions, scored),
    }


def scored_of(items: Sequence[Item], scores: Sequence[float | None]) -> Scored:
    """The items that have a score."""
    kept = [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]
    return Scored(
        np.array([score for _, score in kept], dtype=np.float64),
        np.array([item.approve for item, _ in kept], dtype=np.bool_),
        np.array([item.contradicted for item, _ in kept], dtype=np.bool_),
        [item.cluster for item, _ in kept],
    )


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if len(known) == len(scores) else None
