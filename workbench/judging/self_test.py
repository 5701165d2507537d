"""What a self-test of known answers found, and whether it earns the name of judge."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from workbench.errors import InputError

AUROC_AT_LEAST, ONE_CLASS_AT_MOST, SCORED_AT_LEAST = 0.65, 0.9, 0.9


@dataclass(frozen=True)
class CaseResult:
    """One case as a judge scored it, `approves` where it should; `score` is None and `why` says why where it is unscored."""

    case_id: str
    kind: str
    approves: bool
    score: float | None
    state: Literal["passed", "failed", "unscored"]
    why: str = ""


@dataclass(frozen=True)
class SelfTest:
    """What a judge made of the cases."""

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
        """kind, approves, passed, failed, unscored, mean (of the scored ones; NaN where there are none), in order of the cases."""
        table = pd.DataFrame([vars(row) for row in self.rows]).astype({"score": float})
        states = pd.get_dummies(table["state"], dtype=int).reindex(columns=["passed", "failed", "unscored"], fill_value=0)
        kinds = table[["kind", "approves", "score"]].join(states).groupby(["kind", "approves"], sort=False)
        return kinds[list(states.columns)].sum().assign(mean=kinds["score"].mean()).reset_index()

    @property
    def auroc(self) -> float:
        """P(score of a case to approve > that of one not to), ties counted half: Mann-Whitney's U / pairs; unscored left out."""
        good, bad = ([row.score for row in self.rows if row.score is not None and row.approves is side] for side in (True, False))
        if not good or not bad:
            raise InputError(f"AUROC needs scored cases of both classes, not {len(good)} to approve and {len(bad)} to refuse", "see `why`")
        return float(np.sign(np.subtract.outer(good, bad)).mean() / 2 + 0.5)

    @property
    def always_yes(self) -> float:
        """The share of the scores on the commoner side of 0.5 (0.5 is a yes): 1 for a judge that always says the same."""
        answers = [row.score >= 0.5 for row in self.rows if row.score is not None]
        if not answers:
            raise InputError("no case was scored", "see `why` of the rows")
        return max(answers.count(True), answers.count(False)) / len(answers)

    @property
    def verdict(self) -> str:
        """`judge`, or `not a judge: ` and why.

        The bounds of the cases (0.8 and 0.2, 0.9 and 0.3) are requirement D14: a judge that fails them is not called a judge.
        Taken to mean a kind of case, not one slip in a hundred, which no model is free of: where of any kind more fail than
        pass, as with a judge blind to negation, the name is refused. So it is below AUROC 0.65 and where over 90 % of the
        answers are one class, the gate measured on small local models (always yes: 0.44 to 0.52; word overlap: 0.56; the
        first usable model: 0.67), and where over 10 % are unscored: a judge does not choose its cases.
        """
        scored, cases = self.passed + self.failed, len(self.rows)
        if scored < max(1, SCORED_AT_LEAST * cases):
            return f"not a judge: only {scored} of {cases} cases were scored"
        why = [f"AUROC {self.auroc:.2f} is below {AUROC_AT_LEAST}"] if self.auroc < AUROC_AT_LEAST else []
        why += [f"{self.always_yes:.0%} of its answers are one and the same"] if self.always_yes > ONE_CLASS_AT_MOST else []
        kinds = self.by_kind.query("failed > passed")[["kind", "failed", "passed"]].to_numpy()
        why += [f"it fails {failed} of {failed + passed} cases of kind {kind}" for kind, failed, passed in kinds]
        return "not a judge: " + "; ".join(why) if why else "judge"
