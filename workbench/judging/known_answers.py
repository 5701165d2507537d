"""The known-answer self-test of judges: cases whose right verdict is known, and what a judge makes of them.

`relevance.jsonl` holds queries, each with a passage that answers it and one that is of no use; `faithfulness.jsonl` holds
answers of one claim over a context, the unfaithful ones for the most part a word away from a faithful twin (`pair`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from workbench.errors import InputError, WorkbenchError
from workbench.judging.self_test import CaseResult, SelfTest


@dataclass(frozen=True, kw_only=True)
class KnownAnswer:
    """A case with one bound: `min_score` where a judge should approve, `max_score` where it should not."""

    case_id: str
    kind: str
    context: str
    min_score: float | None = None
    max_score: float | None = None

    def met(self, score: float) -> bool:
        """Whether a score is within the bound, which itself is within."""
        return (self.min_score is None or score >= self.min_score) and (self.max_score is None or score <= self.max_score)


@dataclass(frozen=True, kw_only=True)
class RelevanceCase(KnownAnswer):
    """A passage and a query: a fitting one scores at least 0.8, an off-topic one at most 0.2."""

    query: str


@dataclass(frozen=True, kw_only=True)
class FaithfulnessCase(KnownAnswer):
    """An answer of one claim and its context: a faithful one scores at least 0.9, any other below 0.3."""

    answer: str
    pair: str | None = None

    def met(self, score: float) -> bool:
        """Whether a score is within the bound; `max_score` itself is not."""
        return super().met(score) and score != self.max_score


C = TypeVar("C", bound=KnownAnswer)


def self_test(score: Callable[[C], float | None], cases: Sequence[C]) -> SelfTest:
    """What `score` makes of each case: 0..1 (InputError otherwise); None or a WorkbenchError leaves the case unscored."""
    return SelfTest(tuple(_tried(score, case) for case in cases))


def _tried(score: Callable[[C], float | None], case: C) -> CaseResult:
    about = (case.case_id, case.kind, case.min_score is not None)
    try:
        value, why = score(case), "the judge gave no score"
    except WorkbenchError as error:
        value, why = None, str(error)
    if value is None:
        return CaseResult(*about, None, "unscored", why)
    if not 0 <= value <= 1:
        raise InputError(f"the judge scored case {case.case_id!r} {value}", "a score is a number from 0 to 1, or None")
    return CaseResult(*about, float(value), "passed" if case.met(value) else "failed")


@cache
def relevance_cases() -> tuple[RelevanceCase, ...]:
    """The queries and passages, in order of `case_id`."""
    return tuple(RelevanceCase(**row) for row in _rows("relevance.jsonl"))


@cache
def faithfulness_cases() -> tuple[FaithfulnessCase, ...]:
    """The contexts and answers, in order of `case_id`."""
    return tuple(FaithfulnessCase(**row) for row in _rows("faithfulness.jsonl"))


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (files("workbench.judging") / name).read_text("utf-8").split("\n") if line]
