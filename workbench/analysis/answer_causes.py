"""The causes of failed answers by configuration and condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from workbench.analysis.answer_values import answering, answers_of, question_share
from workbench.analysis.misses import meanings_of
from workbench.attribution.answer_causes import ATTRIBUTED
from workbench.attribution.causes import CAUSES, Cause
from workbench.context.conditions import CONDITIONS, RETRIEVED
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval

_ANSWER = ["query_id", "condition", "variant", "repeat"]


class CauseCount(NamedTuple):
    """A cause of failed answers, and their number."""

    cause: Cause
    answers: int


@dataclass(frozen=True)
class FailureCauses:
    """The failed answers of a configuration in a condition.

    `given` answers exist, `missing` ones are of failed calls. `causes` are those that occur, in order of precedence; every failed answer has one.
    """

    configuration: str
    condition: str
    given: int
    missing: int
    causes: tuple[CauseCount, ...]

    @property
    def failed(self) -> int:
        """The number of failed answers."""
        return sum(count.answers for count in self.causes)

    @property
    def by_frequency(self) -> list[CauseCount]:
        """The most frequent cause first. Of equally frequent ones, the one that takes precedence comes first."""
        return sorted(self.causes, key=lambda each: -each.answers)

    def of(self, cause: str) -> int:
        """Return the number of answers that failed by a cause."""
        return next((each.answers for each in self.causes if each.cause.name == cause), 0)


def attributed_conditions(run: RunTables) -> tuple[str, ...]:
    """Return the conditions whose failures have causes, in the order of `CONDITIONS`. Empty without judges."""
    judging = run.manifest.get("judging")
    if not judging:
        return ()
    conditions = set(run.manifest["conditions"]) & set(judging["conditions"] or CONDITIONS)
    return tuple(condition for condition in CONDITIONS if condition in conditions and condition in ATTRIBUTED)


def answer_cause_meanings(run: RunTables) -> Mapping[str, str]:
    """Return the meaning of every cause in this run, in order of precedence."""
    return meanings_of(CAUSES, bool(run.dataset["needs"]))


def failed_answers(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return the rows of `causes` about failed answers, without those about missed evidence."""
    rows = run.of("causes", configuration)
    return rows[rows["subject"] == "answer"].reset_index(drop=True)


@lru_cache(maxsize=256)
def failures_of(run: RunTables, configuration: str, condition: str = RETRIEVED) -> FailureCauses | None:
    """Count the causes of a configuration's failed answers in a condition. None if they were not examined. Repeats count as answers."""
    if condition not in attributed_conditions(run) or configuration not in answering(run):
        return None
    answers = answers_of(run, configuration)
    asked = int(((answers["condition"] == condition) & (answers["reason"] == "")).sum())
    given, counts = len(_given(run, configuration, condition)), _with_causes(run, configuration, condition)["cause"].value_counts()
    causes = tuple(CauseCount(cause, int(counts[cause.name])) for cause in CAUSES if cause.name in counts.index)
    return FailureCauses(configuration, condition, given, asked - given, causes)


def failures_by_condition(run: RunTables, configuration: str) -> tuple[FailureCauses, ...]:
    """Count the causes of a configuration's failed answers in every examined condition that has answers."""
    found = (failures_of(run, configuration, condition) for condition in attributed_conditions(run))
    return tuple(each for each in found if each and each.given)


def unrefused_answers(run: RunTables, configuration: str) -> tuple[int, int]:
    """Count the retrieved contexts of unanswerable questions whose answer is no refusal, and all that were answered or refused. Needs no judge."""
    given = _given(run, configuration, RETRIEVED)
    unanswerable = ~given["query_id"].map(run.questions.set_index("query_id")["answerable"]).astype(bool)
    return int((unanswerable & ~given["refused"]).sum()), int(unanswerable.sum())


def failed_share(run: RunTables, failures: FailureCauses) -> Interval | None:
    """Return the share of failed answers, the mean over questions with its interval. None without answers."""
    rows = _with_causes(run, failures.configuration, failures.condition).drop_duplicates(_ANSWER)
    return question_share(run, rows, rows["cause"].notna()) if len(rows) else None


def _given(run: RunTables, configuration: str, condition: str) -> pd.DataFrame:
    rows = answers_of(run, configuration)
    return rows[(rows["condition"] == condition) & (rows["reason"] == "") & (rows["error"] == "")]


def _with_causes(run: RunTables, configuration: str, condition: str) -> pd.DataFrame:
    """The given answers of a condition with the `cause` of failed ones."""
    return _given(run, configuration, condition).merge(failed_answers(run, configuration)[[*_ANSWER, "cause"]], on=_ANSWER, how="left")
