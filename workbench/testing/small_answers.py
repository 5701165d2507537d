"""Answers to the questions of a small world, with the cases on which metrics of answers go wrong."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.judging.base import TASKS, Judgement
from workbench.metrics.case import Answered, AnswerJudgements, Answers, Contexts, Judgements
from workbench.records import Passage, Variant
from workbench.testing.small_results import SmallWorld

_DOWN = "the server is down"
VARIANTS = (Variant(), Variant("none"), Variant("missing_gold"), Variant("injection", "override"), Variant("counterfactual", "after"))


@dataclass(frozen=True)
class SmallAnswer:
    """An answer to a question with the first `passages` of its hits as context, and its judgements.

    `outcomes` are those of a planted instruction and of an altered copy.
    """

    text: str = ""
    refused: bool = False
    error: str = ""
    reason: str = ""
    passages: int = 3
    citations: tuple[int, ...] = ()
    correct: float = np.nan
    outcomes: tuple[str, str] = ("", "")
    unknown: bool = False
    claims: tuple[Judgement, ...] = ()
    unsplit: str = ""
    judged: Judgement | None = None


_SUPPORTED, _ABSENT, _FAILED = Judgement(0.9, "supported"), Judgement(0.2, "absent"), Judgement(error=_DOWN)
_ANSWERS = (
    SmallAnswer("fever", citations=(0, 2), correct=1.0, outcomes=("resisted", "kept"), claims=(_SUPPORTED,), judged=Judgement(0.8)),
    SmallAnswer(
        "sleep", citations=(9,), correct=0.0, outcomes=("complied", "adopted"), claims=(_ABSENT, _SUPPORTED), judged=Judgement(0.1)
    ),
    SmallAnswer("I do not know", refused=True),
    SmallAnswer(error=_DOWN),
    SmallAnswer(" ", passages=0),
    SmallAnswer("a mask, 発熱", claims=(_FAILED,), judged=_FAILED),
    SmallAnswer("dose", unsplit=_DOWN, passages=1),
    SmallAnswer(error=_DOWN, passages=0, unknown=True),
    SmallAnswer("trial", passages=0, unknown=True, claims=(_ABSENT,), judged=Judgement(1.0)),
    SmallAnswer(reason="no altered copy is possible", passages=0),
)


def answered(world: SmallWorld, variant: Variant, *, verbatim: bool = False, only_score: str = "") -> Answered:
    """Answer each question by the answer with its `number`, modulo the number of answers."""
    given = [_ANSWERS[int(query["number"]) % len(_ANSWERS)] for query in world.queries]
    passages = [
        [_passage(world, chunk) for chunk in hits[: one.passages] if not one.reason] for one, hits in zip(given, world.hits, strict=True)
    ]
    gold = np.array(
        [bool(shown) and not one.unknown and one.correct == 1 for one, shown in zip(given, passages, strict=True)], dtype=np.bool_
    )
    contexts = Contexts(
        passages=passages,
        reasons=[one.reason for one in given],
        gold=gold,
        relevant=gold.astype(np.float64),
        packing_recall=np.where(gold, 1.0, np.nan),
        unknown=frozenset(query for query, one in enumerate(given) if one.unknown),
    )
    answers = Answers(
        texts=[one.text for one in given],
        refused=np.array([one.refused for one in given], dtype=np.bool_),
        errors=[one.error for one in given],
        citations=[one.citations for one in given],
        confidence=np.full(len(given), np.nan),
        correct=np.array([one.correct for one in given], dtype=np.float64),
        outcomes=[one.outcomes[variant.condition == "counterfactual"] for one in given],
        truncated=np.zeros(len(given), dtype=np.bool_),
        verbatim=verbatim,
        embed=_unit_vectors,
    )
    judgements = Judgements([_judgements(one, len(shown)) for one, shown in zip(given, passages, strict=True)], only_score)
    return Answered(variant, contexts, answers, judgements)


def _passage(world: SmallWorld, chunk: int) -> Passage:
    doc, start, end = world.chunks[chunk][:3]
    return Passage(f"d{doc}", start, end, world.texts[doc][start:end])


def _judgements(answer: SmallAnswer, passages: int) -> AnswerJudgements:
    tasks = dict.fromkeys(TASKS, answer.judged) if answer.judged else {}
    return AnswerJudgements(
        len(answer.claims), answer.unsplit, answer.claims, answer.claims, (answer.judged or Judgement(0.5),) * passages, tasks
    )


def _unit_vectors(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    rows = [np.frombuffer(hashlib.blake2b(text.encode(), digest_size=32).digest(), dtype=np.int8).astype(np.float32) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)
