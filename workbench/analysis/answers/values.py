"""The values of answer metrics by question, condition and perturbation."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.analysis.answers.answered import answers_of
from workbench.analysis.values import places
from workbench.context.conditions import CLEAN_TWINS, GOLD_DISTRACTORS, RETRIEVED
from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.results.run_tables import Measure, RunTables
from workbench.statistics.answers.losses import mean_of_repeats

# The conditions that can lose what the evidence alone gains, in reading order.
_LOSING = (RETRIEVED, GOLD_DISTRACTORS, *CLEAN_TWINS)


class Refusals(NamedTuple):
    """The refused ones `of` given answers."""

    refused: int
    of: int

    @property
    def share(self) -> float:
        """Return the refused share, 0 without answers."""
        return self.refused / self.of if self.of else 0.0


def answer_measure(run: RunTables, metric: str) -> Measure:
    """Return an answer metric of the run. Raises InputError if the run has none of this name."""
    known = [name for name, measure in run.measures.items() if measure.family == "answers"]
    if metric not in known:
        fix = f"the run's answer metrics are {', '.join(known)}" if known else "add answering to the experiment"
        raise InputError(f"the run {run.name} has no answer metric {metric!r}{meant(metric, known)}", fix)
    return run.measures[metric]


def perturbations(run: RunTables, configuration: str, metric: str) -> list[tuple[str, str]]:
    """Return the conditions of a configuration's answers with their perturbations, empty for a condition without, in the order of the run."""
    return list(dict.fromkeys((condition, variant) for condition, variant, _ in _repeats(run, configuration, metric)))


def losing(run: RunTables, configuration: str, metric: str) -> list[tuple[str, str]]:
    """Return the conditions and perturbations that the evidence alone is compared with: retrieval, distractors, then the attacks."""
    present = [(condition, variant) for condition, variant in perturbations(run, configuration, metric) if condition in _LOSING]
    return sorted(present, key=lambda names: _LOSING.index(names[0]))


def repeated_values(run: RunTables, configuration: str, metric: str, condition: str, perturbation: str = "") -> Floats:
    """Return the value of each question in each repeat, NaN if unscored. Shape (repeats, questions), without repeats (0, questions)."""
    rows = [
        values
        for (name, variant, _), values in _repeats(run, configuration, metric).items()
        if (name, variant) == (condition, perturbation)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(run.questions))


def condition_values(run: RunTables, configuration: str, metric: str, condition: str, perturbation: str = "") -> Floats:
    """Return the mean of each question over the repeats, NaN if unscored or without such a condition. Shape (questions,)."""
    rows = repeated_values(run, configuration, metric, condition, perturbation)
    return mean_of_repeats(rows)


def refusals_in(run: RunTables, configuration: str, questions: Bools, condition: str, perturbation: str = "") -> Refusals:
    """Count the refused and the given answers to some `questions` (q) in a condition, of all repeats."""
    refused, given = _refused(run, configuration, condition, perturbation)
    return Refusals(int(refused[questions].sum()), int(given[questions].sum()))


def refused_questions(run: RunTables, configuration: str, condition: str) -> Bools:
    """Whether any answer of a configuration to a question is refused in a condition. Shape (questions,)."""
    return _refused(run, configuration, condition, "")[0] > 0


@lru_cache(maxsize=64)
def _refused(run: RunTables, configuration: str, condition: str, perturbation: str) -> tuple[Ints, Ints]:
    """The numbers of refused and of given answers of each question, both (questions,)."""
    rows = answers_of(run, configuration)
    rows = rows[(rows["condition"] == condition) & (rows["variant"] == perturbation) & (rows["reason"] == "") & (rows["error"] == "")]
    asked, size = places(run, rows["query_id"]), len(run.questions)
    refused = asked[rows["refused"].to_numpy(np.bool_)]
    return np.bincount(refused, minlength=size), np.bincount(asked, minlength=size)


@lru_cache(maxsize=64)
def _repeats(run: RunTables, configuration: str, metric: str) -> dict[tuple[str, str, int], Floats]:
    """The values of each condition, perturbation and repeat. Shape (questions,) each."""
    table = run.of("queries", configuration)
    values: dict[tuple[str, str, int], Floats] = {}
    keys = ["condition", "variant", "repeat"]
    for (condition, variant, repeat), rows in table[table["metric"] == metric].groupby(keys, sort=False):
        row = np.full(len(run.questions), np.nan)
        row[places(run, rows["query_id"])] = rows["value"].to_numpy(np.float64)
        values[str(condition), str(variant), int(str(repeat))] = row
    return values
