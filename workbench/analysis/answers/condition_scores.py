"""The score of a configuration's answers in each condition, with refusals and the questions that are not scored."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from workbench.analysis.answers.answered import answers_of, question_share
from workbench.analysis.standings import Mean, mean_of
from workbench.context.conditions import CONDITIONS
from workbench.results.run_tables import Measure, RunTables
from workbench.statistics.intervals import Interval

# Metrics of the answer's content, which a condition can lower. The first of a run is its answer score.
# These compare words, so that a right answer in other words counts as wrong.
LEXICAL = ("answer_recall", "token_f1", "exact_match")
_OF_CONTENT = ("labelled_correctness", *LEXICAL, "answer_similarity")
# The judged one takes their place in a run without them.
_JUDGED = ("answer_correctness",)


@dataclass(frozen=True)
class ConditionScore:
    """A configuration's answers in a condition.

    `mean` is the answer score, None if it never applies. `refused` is the share of the given answers that are refusals, None without answers.
    `asked` questions have a context, `inapplicable` (reason: questions) have none, and `failed` (reason: answers) were asked without an answer.
    To `unscored` questions (reason: questions) the answer score does not apply, although they were answered.
    """

    configuration: str
    condition: str
    mean: Mean | None
    refused: Interval | None
    asked: int
    inapplicable: Mapping[str, int]
    failed: Mapping[str, int]
    unscored: Mapping[str, int]


def answer_score(run: RunTables) -> Measure | None:
    """Return the metric that the report compares answers by: the first metric of the answer's content in the run's order.

    In a run without one it is the judged correctness.
    """
    of_answers = [measure for measure in run.measures.values() if measure.family == "answers"]
    return next((measure for names in (_OF_CONTENT, _JUDGED) for measure in of_answers if measure.name in names), None)


@lru_cache(maxsize=64)
def condition_scores(run: RunTables, configuration: str) -> tuple[ConditionScore, ...]:
    """Return a row for each condition of a configuration's answers, in the order of `CONDITIONS`."""
    answers = answers_of(run, configuration)
    by_condition = dict(list(answers.groupby("condition", sort=False)))
    present = [condition for condition in CONDITIONS if condition in by_condition]
    return tuple(_score(run, configuration, condition, by_condition[condition]) for condition in present)


def condition_mean(run: RunTables, configuration: str, metric: str, condition: str) -> Mean | None:
    """Return the mean of an answer metric over all questions in a condition, None if it never applies there."""
    return _means(run).get((configuration, condition, metric))


def _score(run: RunTables, configuration: str, condition: str, rows: pd.DataFrame) -> ConditionScore:
    measure = answer_score(run)
    asked = rows[rows["reason"] == ""]
    given = asked[asked["error"] == ""]
    apart = rows[rows["reason"] != ""].drop_duplicates("query_id")
    errors = asked.loc[asked["error"] != "", "error"]
    return ConditionScore(
        configuration,
        condition,
        condition_mean(run, configuration, str(measure), condition) if measure else None,
        question_share(run, given, given["refused"]),
        asked["query_id"].nunique(),
        dict(Counter(apart["reason"].tolist()).most_common()),
        dict(Counter(errors.tolist()).most_common()),
        _unscored(run, configuration, condition, {*apart["reason"], *errors}) if measure else {},
    )


def _unscored(run: RunTables, configuration: str, condition: str, known: Set[str]) -> dict[str, int]:
    """Count the questions without any score for a reason of the metric, not for a `known` one of the context or the answer."""
    rows = _score_rows(run, configuration)
    rows = rows[rows["condition"] == condition]
    scored = rows.loc[rows["state"] == "scored", "query_id"]
    apart = rows[~rows["query_id"].isin(scored) & ~rows["reason"].isin(known)].drop_duplicates("query_id")
    return dict(Counter(apart["reason"].tolist()).most_common())


@lru_cache(maxsize=4)
def _score_rows(run: RunTables, configuration: str) -> pd.DataFrame:
    rows = run.of("queries", configuration)
    return rows[rows["metric"] == str(answer_score(run))]


@lru_cache(maxsize=4)
def _means(run: RunTables) -> Mapping[tuple[str, str, str], Mean]:
    answers = [name for name, measure in run.measures.items() if measure.family == "answers"]
    table = run.metrics
    rows = table[(table["slice"] == "all") & table["metric"].isin(answers)]
    return {(str(row["configuration"]), str(row["condition"]), str(row["metric"])): mean_of(row) for _, row in rows.iterrows()}
