"""The causes of failed answers by configuration and condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from workbench.analysis.answer_values import answering, answers_of, question_share
from workbench.analysis.misses import meanings_of
from workbench.attribution.answer_causes import ATTRIBUTED
from workbench.attribution.causes import CAUSES, EVIDENCE_CAUSES, Cause
from workbench.context.conditions import CONDITIONS
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.intervals import Interval

_ANSWER = ["query_id", "condition", "variant", "repeat"]
_KEYS = ["variant", "repeat", "query_id"]


@dataclass(frozen=True)
class CauseCount:
    """A cause of failed answers: their number, their share of all given answers (the mean over questions), and their questions in order."""

    cause: Cause
    answers: int
    share: Interval | None
    query_ids: tuple[str, ...]


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
    def sides(self) -> Mapping[str, int]:
        """The numbers of failed answers by side: `retrieval` (everything before the answer), `answering` and `judging`."""
        retrieval = {cause.name for cause in EVIDENCE_CAUSES}
        sides = dict.fromkeys(("retrieval", "answering", "judging"), 0)
        for count in self.causes:
            sides["retrieval" if count.cause.name in retrieval else count.cause.layer] += count.answers
        return sides


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


def failure_causes(run: RunTables, configuration: str, condition: str) -> FailureCauses:
    """Count the causes of a configuration's failed answers in a condition. Repeats count as answers."""
    answers = answers_of(run, configuration)
    asked = answers[(answers["condition"] == condition) & (answers["reason"] == "")]
    given = asked[asked["error"] == ""]
    found = failed_answers(run, configuration)[[*_ANSWER, "cause"]]
    rows = given.merge(found, on=_ANSWER, how="left")
    present = set(rows["cause"].dropna())
    counts = tuple(_count(run, rows, cause) for cause in CAUSES if cause.name in present)
    return FailureCauses(configuration, condition, len(given), len(asked) - len(given), counts)


def _count(run: RunTables, rows: pd.DataFrame, cause: Cause) -> CauseCount:
    happened = rows["cause"] == cause.name
    query_ids = tuple(dict.fromkeys(rows.loc[happened, "query_id"].tolist()))
    return CauseCount(cause, int(happened.sum()), question_share(run, rows, happened), query_ids)


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


def unrefused_answers(run: RunTables, configuration: str) -> tuple[int, int]:
    """Count the retrieved contexts of unanswerable questions whose answer is no refusal, and all that were answered or refused. Needs no judge."""
    answers = answers_of(run, configuration)
    given = answers[(answers["condition"] == RETRIEVED) & (answers["reason"] == "") & (answers["error"] == "")]
    answerable = given["query_id"].map(run.questions.set_index("query_id")["answerable"])
    return int((~answerable.astype(bool) & ~given["refused"]).sum()), int((~answerable.astype(bool)).sum())


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
