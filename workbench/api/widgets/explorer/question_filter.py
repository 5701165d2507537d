"""Choose questions by words, by which configuration is better, by slice and by cause."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from workbench.core.memo import memoised
from workbench.measures.attribution.causes import CAUSES
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.report.analysis.values import places, slices
from workbench.report.results.run_tables import RETRIEVED, RunTables, retrieved_values

Outcome = Literal["all", "won", "lost", "different"]
# What each outcome means for the first configuration.
OUTCOMES: dict[Outcome, str] = {
    "all": "all questions",
    "won": "won: the first is better",
    "lost": "lost: the first is worse",
    "different": "won or lost",
}
# Smaller differences are rounding.
_LEAST = 1e-9


@dataclass(frozen=True)
class QuestionFilter:
    """The questions that contain all `words`, have an `outcome` by a metric, are in a `slice`, and in which a `cause` occurs.

    An empty `cause` is any or none, an empty `metric` the primary one.
    """

    words: str = ""
    outcome: Outcome = "all"
    slice: str = "all"
    cause: str = ""
    metric: str = ""


@memoised(256)
def question_values(run: RunTables, configuration: str, metric: str) -> Floats:
    """The value of each question, NaN without one. Shape (questions,). Reads no other configuration."""
    rows = run.of("queries", configuration)
    table = retrieved_values(rows[(rows["metric"] == metric) & (rows["condition"] == RETRIEVED)])
    values = np.full(len(run.questions), np.nan)
    values[places(run, table["query_id"])] = table["value"].to_numpy(np.float64)
    return values


@memoised(64)
def question_causes(run: RunTables, configuration: str) -> tuple[frozenset[str], ...]:
    """The causes of each question's misses and failed answers."""
    rows = run.of("causes", configuration)
    causes: list[set[str]] = [set() for _ in range(len(run.questions))]
    for place, cause in zip(places(run, rows["query_id"]).tolist(), rows["cause"].tolist(), strict=True):
        causes[place].add(cause)
    return tuple(map(frozenset, causes))


def causes_between(run: RunTables, first: str, second: str) -> list[str]:
    """The causes that occur in either configuration, in order of precedence."""
    present = frozenset[str]().union(*question_causes(run, first), *question_causes(run, second))
    known = [cause.name for cause in CAUSES]
    return sorted(present, key=lambda name: known.index(name) if name in known else len(known))


def chosen_questions(run: RunTables, first: str, second: str, chosen: QuestionFilter) -> Bools:
    """Which questions pass the filter. Shape (questions,)."""
    words = chosen.words.casefold().split()
    mask: Bools = np.array([all(word in text for word in words) for text in _folded(run)], dtype=np.bool_) & slices(run)[chosen.slice]
    if chosen.cause:
        pairs = zip(question_causes(run, first), question_causes(run, second), strict=True)
        mask &= np.array([chosen.cause in one | other for one, other in pairs], dtype=np.bool_)
    if chosen.outcome != "all":
        gain = gains(run, first, second, chosen.metric or str(run.primary))
        by_outcome = {"won": gain > _LEAST, "lost": gain < -_LEAST, "different": np.abs(gain) > _LEAST}
        mask &= by_outcome[chosen.outcome]
    return mask


def gains(run: RunTables, first: str, second: str, metric: str) -> Floats:
    """How much better the first configuration is, positive also for a metric that counts faults. Shape (questions,), NaN if unscored."""
    difference = question_values(run, first, metric) - question_values(run, second, metric)
    return difference if run.measures[metric].higher_is_better else -difference


def selection(run: RunTables, first: str, second: str, chosen: QuestionFilter) -> pd.DataFrame:
    """Tabulate the questions that pass the filter, with the values of both configurations and `difference`, the first minus the second."""
    metric = chosen.metric or str(run.primary)
    values = [question_values(run, name, metric) for name in (first, second)]
    causes = [[", ".join(sorted(each)) for each in question_causes(run, name)] for name in (first, second)]
    table = pd.DataFrame(
        {
            "query_id": run.questions["query_id"],
            "question": run.questions["text"],
            "first": values[0],
            "second": values[1],
            "difference": values[0] - values[1],
            "first_causes": pd.Series(causes[0], dtype="str"),
            "second_causes": pd.Series(causes[1], dtype="str"),
        }
    )
    table = table[chosen_questions(run, first, second, chosen)].reset_index(drop=True)
    table.attrs |= {"metric": metric, "first": first, "second": second}
    return table


@memoised(1)
def _folded(run: RunTables) -> tuple[str, ...]:
    pairs = zip(run.questions["query_id"], run.questions["text"], strict=True)
    return tuple(f"{query_id} {text}".casefold() for query_id, text in pairs)
