"""The causes of failed answers, counted by configuration and condition."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from workbench.analysis.answers.answered import answering, answers_of, question_share
from workbench.analysis.questions.miss_causes import cause_meanings
from workbench.attribution.causes import ANSWER_CAUSES, CAUSE_NAMES
from workbench.context.conditions import CONDITIONS
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.intervals import Interval

_KEYS = ["variant", "repeat", "query_id"]


@dataclass(frozen=True)
class AnswerFailures:
    """The failed answers of a configuration in a condition.

    `causes` are counts by cause, the most frequent first, and `of` the answers that were given, of all variants and repeats. `share` is the share of
    failed answers, the mean over questions, None without answers. `missing` answers were asked for and not given.
    """

    configuration: str
    condition: str
    causes: Mapping[str, int]
    of: int
    share: Interval | None
    missing: int

    @property
    def failed(self) -> int:
        """Return the number of failed answers."""
        return sum(self.causes.values())


class FailedAnswer(NamedTuple):
    """A failed answer with its cause, and what shows it: the text of a claim, a piece of evidence, or nothing."""

    query_id: str
    cause: str
    evidence: str


def has_answer_causes(run: RunTables) -> bool:
    """Whether the answers of the run were examined for causes. A run with judges has none only if no answer failed."""
    return len(run.judges) > 0 or bool((run.causes["subject"] == "answer").any())


def failures_of(run: RunTables, configuration: str, condition: str = RETRIEVED) -> AnswerFailures | None:
    """Count the failed answers of a configuration in a condition by cause. None if they were not examined."""
    if not has_answer_causes(run) or configuration not in answering(run) or condition not in _judged_conditions(run):
        return None
    return _failures(run, configuration, condition)


def failures_by_condition(run: RunTables, configuration: str) -> tuple[AnswerFailures, ...]:
    """Count the failed answers of a configuration in every judged condition."""
    found = (failures_of(run, configuration, condition) for condition in CONDITIONS if condition in run.manifest.get("conditions", ()))
    return tuple(each for each in found if each and each.of)


def failed_answers(run: RunTables, configuration: str, condition: str = RETRIEVED) -> list[FailedAnswer]:
    """Return the failed answers of a condition in the order of the questions."""
    rows = _cause_rows(run, configuration)
    rows = rows[rows["condition"] == condition]
    return [FailedAnswer(*each) for each in rows[["query_id", "cause", "evidence"]].itertuples(index=False, name=None)]


def failure_meanings(run: RunTables) -> Mapping[str, str]:
    """The meaning of each cause of a failed answer, in order of precedence."""
    return {**cause_meanings(run), **{cause.name: cause.meaning for cause in ANSWER_CAUSES}}


def _judged_conditions(run: RunTables) -> tuple[str, ...]:
    """The conditions whose answers are judged, all of the run by default."""
    judged = (run.manifest.get("judging") or {}).get("conditions") or run.manifest.get("conditions", ())
    return tuple(judged)


@lru_cache(maxsize=256)
def _failures(run: RunTables, configuration: str, condition: str) -> AnswerFailures:
    answers, rows = answers_of(run, configuration), _cause_rows(run, configuration)
    asked = answers[(answers["condition"] == condition) & (answers["reason"] == "")]
    given = asked[asked["error"] == ""]
    rows = rows[rows["condition"] == condition]
    counts = Counter(rows["cause"].tolist())
    ordered = sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])
    failed = pd.MultiIndex.from_frame(given[_KEYS]).isin(pd.MultiIndex.from_frame(rows[_KEYS]))
    share = question_share(run, given, pd.Series(failed, index=given.index)) if len(given) else None
    return AnswerFailures(configuration, condition, {cause: counts[cause] for cause in ordered}, len(given), share, len(asked) - len(given))


@lru_cache(maxsize=64)
def _cause_rows(run: RunTables, configuration: str) -> pd.DataFrame:
    rows = run.of("causes", configuration)
    return rows[rows["subject"] == "answer"].reset_index(drop=True)
