"""The outcomes of answers to contexts with a planted text: an altered copy of the evidence, or an instruction."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workbench.analysis.answers.answered import answers_of, question_share
from workbench.context.conditions import PERTURBATIONS
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval

# The outcomes of each condition with a planted text, the bad one last.
OUTCOMES: Mapping[str, tuple[str, ...]] = {"counterfactual": ("kept", "conflict", "adopted"), "injection": ("resisted", "complied")}


@dataclass(frozen=True)
class AttackOutcomes:
    """The outcomes of a perturbation's answers.

    `counts` are answers by outcome, `neither` those that show none, of which `refused` are refusals. `bad` is the share of the answers with an
    outcome that adopt the altered value or comply, None without any. `missing` answers failed, and `inapplicable` questions
    have no such context.
    """

    condition: str
    perturbation: str
    counts: Mapping[str, int]
    neither: int
    refused: int
    missing: int
    inapplicable: int
    bad: Interval | None

    @property
    def answers(self) -> int:
        """Return the number of given answers."""
        return sum(self.counts.values()) + self.neither


def attack_outcomes(run: RunTables, configuration: str, condition: str) -> tuple[AttackOutcomes, ...]:
    """Return the outcomes of each perturbation of a condition, in the order of `PERTURBATIONS`. Empty if the run lacks the condition."""
    rows = answers_of(run, configuration)
    rows = rows[rows["condition"] == condition]
    known = dict(list(rows.groupby("variant", sort=False)))
    return tuple(_outcomes(run, condition, name, known[name]) for name in PERTURBATIONS[condition] if name in known)


def _outcomes(run: RunTables, condition: str, perturbation: str, rows: pd.DataFrame) -> AttackOutcomes:
    asked = rows[rows["reason"] == ""]
    given = asked[asked["error"] == ""]
    shown = given[given["outcome"].isin(OUTCOMES[condition])]
    without = given[~given["outcome"].isin(OUTCOMES[condition])]
    return AttackOutcomes(
        condition,
        perturbation,
        {outcome: int((shown["outcome"] == outcome).sum()) for outcome in OUTCOMES[condition]},
        len(without),
        int(without["refused"].sum()),
        len(asked) - len(given),
        rows.loc[rows["reason"] != "", "query_id"].nunique(),
        question_share(run, shown, shown["outcome"] == OUTCOMES[condition][-1]),
    )
