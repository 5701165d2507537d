"""The known-answer self-test of judges: cases with a known verdict, the judge's scores, and whether it passes.

`relevance.jsonl` contains queries, each with a passage that answers it and one that does not. `faithfulness.jsonl` contains
one-claim answers with a context. Most unfaithful ones differ by one word from a faithful twin (`pair`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from workbench.core.errors import InputError, WorkbenchError

AUROC_AT_LEAST, ONE_CLASS_AT_MOST, SCORED_AT_LEAST = 0.65, 0.9, 0.9


@dataclass(frozen=True, kw_only=True)
class KnownCase:
    """A case with one bound: `min_score` if a judge should approve, `max_score` if not."""

    case_id: str
    kind: str
    context: str
    min_score: float | None = None
    max_score: float | None = None

    def met(self, score: float) -> bool:
        """Check that a score is within the bound (inclusive)."""
        return (self.min_score is None or score >= self.min_score) and (self.max_score is None or score <= self.max_score)


@dataclass(frozen=True, kw_only=True)
class RelevanceCase(KnownCase):
    """A passage and a query. A relevant passage scores at least 0.8, an off-topic one at most 0.2."""

    query: str


@dataclass(frozen=True, kw_only=True)
class FaithfulnessCase(KnownCase):
    """A one-claim answer and its context. A faithful answer scores at least 0.9, any other below 0.3."""

    answer: str
    pair: str | None = None

    def met(self, score: float) -> bool:
        """Check that a score is within the bound. `max_score` is exclusive."""
        return super().met(score) and score != self.max_score


@dataclass(frozen=True)
class CaseResult:
    """The score of a case, whether the judge should approve it (`approves`), and `why` if the score is None."""

    case_id: str
    kind: str
    approves: bool
    score: float | None
    state: Literal["passed", "failed", "unscored"]
    why: str = ""


@dataclass(frozen=True)
class SelfTest:
    """A judge's scores of the cases."""

    rows: tuple[CaseResult, ...]

    @property
    def passed(self) -> int:
        """Cases scored within their bound."""
        return sum(row.state == "passed" for row in self.rows)

    @property
    def failed(self) -> int:
        """Cases scored outside their bound."""
        return len(self.rows) - self.passed - self.unscored

    @property
    def unscored(self) -> int:
        """Cases without a score."""
        return sum(row.score is None for row in self.rows)

    @property
    def by_kind(self) -> pd.DataFrame:
        """Tabulate kind, approves, passed, failed, unscored, mean (over scored cases, NaN if none), in order of the cases."""
        table = pd.DataFrame([vars(row) for row in self.rows]).astype({"score": float})
        states = pd.get_dummies(table["state"], dtype=int).reindex(columns=["passed", "failed", "unscored"], fill_value=0)
        kinds = table[["kind", "approves", "score"]].join(states).groupby(["kind", "approves"], sort=False)
        return kinds[list(states.columns)].sum().assign(mean=kinds["score"].mean()).reset_index()

    @property
    def auroc(self) -> float:
        """P(score of a case to approve > that of a case to reject) over scored cases, counting ties half: Mann-Whitney's U / pairs."""
        good, bad = ([row.score for row in self.rows if row.score is not None and row.approves is side] for side in (True, False))
        if not good or not bad:
            raise InputError(f"AUROC needs scored cases of both classes, not {len(good)} to approve and {len(bad)} to refuse", "see `why`")
        return float(np.sign(np.subtract.outer(good, bad)).mean() / 2 + 0.5)

    @property
    def always_yes(self) -> float:
        """The share of scores on the more frequent side of 0.5 (0.5 is a yes). 1 for a judge with only one answer."""
        answers = [row.score >= 0.5 for row in self.rows if row.score is not None]
        if not answers:
            raise InputError("no case was scored", "see `why` of the rows")
        return max(answers.count(True), answers.count(False)) / len(answers)

    @property
    def weak_kinds(self) -> tuple[str, ...]:
        """Name the kinds of which more cases fail than pass, such as `negation` for a judge that is blind to it."""
        return tuple(self.by_kind.query("failed > passed")["kind"])

    @property
    def verdict(self) -> str:
        """Return `judge`, or `not a judge: ` with the reason.

        A model is no judge below AUROC 0.65 and if over 90 % of the answers are one class, a gate measured on small local models
        (always yes: 0.44 to 0.52; word overlap: 0.56; the first usable model: 0.67), and if over 10 % of the cases are unscored,
        since a judge must not select its cases. Every usable model is weak in some kind of case: `weak_kinds` names these.
        """
        scored, cases = self.passed + self.failed, len(self.rows)
        if scored < max(1, SCORED_AT_LEAST * cases):
            return f"not a judge: only {scored} of {cases} cases were scored"
        why = [f"AUROC {self.auroc:.2f} is below {AUROC_AT_LEAST}"] if self.auroc < AUROC_AT_LEAST else []
        why += [f"{self.always_yes:.0%} of its answers are the same"] if self.always_yes > ONE_CLASS_AT_MOST else []
        return "not a judge: " + "; ".join(why) if why else "judge"


C = TypeVar("C", bound=KnownCase)


def self_test(score: Callable[[C], float | None], cases: Sequence[C]) -> SelfTest:
    """Score each case from 0 to 1 (InputError otherwise). None or a WorkbenchError leaves it unscored."""

    def result(case: C) -> CaseResult:
        try:
            value = score(case)
        except WorkbenchError as error:
            return case_result(case, None, str(error))
        return case_result(case, value)

    return SelfTest(tuple(map(result, cases)))


def case_result(case: KnownCase, value: float | None, why: str = "the judge gave no score") -> CaseResult:
    """Return the result of a case with a score from 0 to 1 (InputError otherwise), or None and `why`."""
    identity = (case.case_id, case.kind, case.min_score is not None)
    if value is None:
        return CaseResult(*identity, None, "unscored", why)
    if not 0 <= value <= 1:
        raise InputError(f"the judge scored case {case.case_id!r} {value}", "a score is a number from 0 to 1, or None")
    return CaseResult(*identity, float(value), "passed" if case.met(value) else "failed")


@cache
def relevance_cases() -> tuple[RelevanceCase, ...]:
    """The queries and passages, in order of `case_id`."""
    return tuple(RelevanceCase(**row) for row in _rows("relevance.jsonl"))


@cache
def faithfulness_cases() -> tuple[FaithfulnessCase, ...]:
    """The contexts and answers, in order of `case_id`."""
    return tuple(FaithfulnessCase(**row) for row in _rows("faithfulness.jsonl"))


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").split("\n") if line]
