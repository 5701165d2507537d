"""The outcomes of a check for stale data."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

import pandas as pd

from workbench.core.text.display import table_html

Check = Literal["update", "repeat", "shrink", "delete"]
Part = Literal["chunks", "answer"]
State = Literal["passed", "failed", "unscored"]
_STATES: tuple[State, ...] = ("passed", "failed", "unscored")

CHECKS: Mapping[Check, str] = {
    "update": "after the update, the new value and not the old one",
    "repeat": "the same documents again change nothing",
    "shrink": "what a shorter version has lost is not found",
    "delete": "after the deletion, neither value",
}


@dataclass(frozen=True)
class FreshnessOutcome:
    """The outcome of one check of a case, or of a document for `shrink`, with what was seen or the reason why it is unscored."""

    check: Check
    part: Part
    case_id: str
    doc_id: str
    state: State
    seen: str


@dataclass(frozen=True)
class FreshnessReport:
    """The result of a check for stale data.

    `leftover` is the reason why the documents of the check are still in the target, empty if they were deleted.
    """

    target: str
    outcomes: tuple[FreshnessOutcome, ...]
    leftover: str = ""

    @property
    def verdict(self) -> State:
        """Return `failed` if a case failed, `passed` if none did and the update was seen in at least one case, otherwise `unscored`."""
        if self.count("failed"):
            return "failed"
        return "passed" if self.count("passed", "update") else "unscored"

    def count(self, state: State, check: Check | None = None, part: Part | None = None) -> int:
        """Return how many outcomes have a state, of one check or part if it is given."""
        chosen = (each for each in self.outcomes if check in (None, each.check) and part in (None, each.part))
        return sum(each.state == state for each in chosen)

    def frame(self) -> pd.DataFrame:
        """Return a row for each outcome: check, part, case_id, doc_id, state, seen."""
        return pd.DataFrame([vars(each) for each in self.outcomes], columns=["check", "part", "case_id", "doc_id", "state", "seen"])

    def rows(self) -> list[dict[str, str]]:
        """Return a row for each check and part, with counts and the first failure, or the first reason if nothing was scored."""
        rows = list[dict[str, str]]()
        for check, part in product(CHECKS, get_args(Part)):
            if chosen := [outcome for outcome in self.outcomes if (outcome.check, outcome.part) == (check, part)]:
                counts: dict[str, str] = {state: str(self.count(state, check, part)) for state in _STATES}
                first = min(chosen, key=lambda outcome: ("failed", "unscored", "passed").index(outcome.state))
                seen = "" if first.state == "passed" else f"{first.case_id}: {first.seen}"
                rows.append({"check": check, "part": part, **counts, "first": seen})
        return rows

    def lines(self) -> list[str]:
        """Return the report as a table of text."""
        header = ("check", "part", "passed", "failed", "unscored", "first failure, or why unscored")
        table = [header, *(tuple(row.values()) for row in self.rows())]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
        left = [f"the documents of the check are still in the target: {self.leftover}"] if self.leftover else []
        return [f"{self.target}: {self.verdict}", *lines, *left]

    def _repr_html_(self) -> str:
        return table_html(f"{self.target}: {self.verdict}", self.rows(), self.leftover)
