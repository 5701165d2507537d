"""The failures of answers as the report shows them: of judged conditions, the most frequent cause first."""

from functools import lru_cache

import pandas as pd

from workbench.analysis.answers.answered import answering, answers_of, question_share
from workbench.analysis.answers.causes import CauseCount, FailureCauses, attributed_conditions, failed_answers, failure_causes
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.intervals import Interval

_KEYS = ["variant", "repeat", "query_id"]


@lru_cache(maxsize=256)
def failures_of(run: RunTables, configuration: str, condition: str = RETRIEVED) -> FailureCauses | None:
    """Count the causes of a configuration's failed answers in a condition. None if they were not examined."""
    if condition not in attributed_conditions(run) or configuration not in answering(run):
        return None
    return failure_causes(run, configuration, condition)


def failures_by_condition(run: RunTables, configuration: str) -> tuple[FailureCauses, ...]:
    """Count the causes of a configuration's failed answers in every examined condition that has answers."""
    found = (failures_of(run, configuration, condition) for condition in attributed_conditions(run))
    return tuple(each for each in found if each and each.given)


def by_frequency(failures: FailureCauses) -> list[CauseCount]:
    """Return the causes with the most frequent first. Of equally frequent ones, the one that takes precedence comes first."""
    return sorted(failures.causes, key=lambda each: -each.answers)


def failed_share(run: RunTables, failures: FailureCauses) -> Interval | None:
    """Return the share of failed answers, the mean over questions with its interval. None without answers."""
    answers, rows = answers_of(run, failures.configuration), failed_answers(run, failures.configuration)
    given = answers[(answers["condition"] == failures.condition) & (answers["reason"] == "") & (answers["error"] == "")]
    rows = rows[rows["condition"] == failures.condition]
    failed = pd.MultiIndex.from_frame(given[_KEYS]).isin(pd.MultiIndex.from_frame(rows[_KEYS]))
    return question_share(run, given, pd.Series(failed, index=given.index)) if len(given) else None
