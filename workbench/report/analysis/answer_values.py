"""The answers of a run by configuration, question, condition and repeat: their scores, refusals and missing values."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.components.context.conditions import CLEAN_TWINS, CONDITIONS, GOLD_DISTRACTORS, RETRIEVED
from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.core.text.formatting import listed, meant
from workbench.llm.replies.answers import REASONING_ALONE
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.summary import mean_interval, mean_of_repeats
from workbench.report.analysis.standings import Mean, mean_of, standings
from workbench.report.analysis.values import clusters, places
from workbench.report.results.run_tables import RunTables

# The reason of a metric that says nothing about answers that are copied from the context.
VERBATIM = "verbatim by construction"
# The conditions that can lose what the evidence alone gains, in reading order.
_LOSING = (RETRIEVED, GOLD_DISTRACTORS, *CLEAN_TWINS)
# Fewer cut answers are those of unusual questions.
_FEW = 0.05
_MOST_REASONS = 2


@memoised(1)
def answering(run: RunTables) -> tuple[str, ...]:
    """Return the finished configurations that have answers, in the order of the ranking, then those that are not ranked."""
    present = set(run.answers["configuration"])
    return tuple(standing.name for standing in standings(run).finished if standing.name in present)


@memoised(64)
def answers_of(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return a configuration's rows of `answers`. Callers must not change them."""
    return run.of("answers", configuration)


@memoised(64)
def is_verbatim(run: RunTables, configuration: str) -> bool:
    """Check that the answers are copied from the context, so that they can neither be unfaithful nor obey it."""
    return bool((run.of("queries", configuration)["reason"] == VERBATIM).any())


def question_share(run: RunTables, rows: pd.DataFrame, happened: "pd.Series[bool]") -> Interval | None:
    """Return the share of answers in which something `happened`, the mean over questions with its interval. None without rows.

    Repeats and variants of a question are averaged first.
    """
    shares = happened.astype(np.float64).groupby(rows["query_id"], sort=False).mean()
    values = np.full(len(run.questions), np.nan)
    values[places(run, pd.Series(shares.index, dtype="str"))] = shares.to_numpy(np.float64)
    return mean_interval(values, clusters(run), True)


class Refusals(NamedTuple):
    """The refused ones `of` given answers."""

    refused: int
    of: int

    @property
    def share(self) -> float:
        """The refused share, 0 without answers."""
        return self.refused / self.of if self.of else 0.0


def answer_measure(run: RunTables, metric: str) -> Metric:
    """Return an answer metric of the run. Raises InputError if the run has none of this name."""
    known = [name for name, measure in run.measures.items() if measure.of_answers]
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
    return mean_of_repeats(repeated_values(run, configuration, metric, condition, perturbation))


def refusals_in(run: RunTables, configuration: str, questions: Bools, condition: str, perturbation: str = "") -> Refusals:
    """Count the refused and the given answers to some `questions` (q) in a condition, of all repeats."""
    refused, given = refused_answers(run, configuration, condition, perturbation)
    return Refusals(int(refused[questions].sum()), int(given[questions].sum()))


@memoised(64)
def refused_answers(run: RunTables, configuration: str, condition: str, perturbation: str = "") -> tuple[Ints, Ints]:
    """Count the refused and the given answers to each question in a condition, of all repeats. Both have the shape (questions,)."""
    rows = answers_of(run, configuration)
    rows = rows[(rows["condition"] == condition) & (rows["variant"] == perturbation) & (rows["reason"] == "") & (rows["error"] == "")]
    asked, size = places(run, rows["query_id"]), len(run.questions)
    refused = asked[rows["refused"].to_numpy(np.bool_)]
    return np.bincount(refused, minlength=size), np.bincount(asked, minlength=size)


@memoised(64)
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


def answer_score(run: RunTables) -> Metric | None:
    """Return the metric that the report compares answers by: the first metric of the answer's content in the run's order.

    In a run without one it is the judged correctness.
    """
    comparing = sorted((measure for measure in run.measures.values() if measure.compares), key=lambda measure: measure.judged)
    return next(iter(comparing), None)


@memoised(64)
def condition_scores(run: RunTables, configuration: str) -> tuple[ConditionScore, ...]:
    """Return a row for each condition of a configuration's answers, in the order of `CONDITIONS`."""
    measure, scores, by_order = answer_score(run), run.of("queries", configuration), list[ConditionScore]()
    by_condition = dict(list(answers_of(run, configuration).groupby("condition", sort=False)))
    scores = scores[scores["metric"] == str(measure)]
    for condition in (condition for condition in CONDITIONS if condition in by_condition):
        rows, of_condition = by_condition[condition], scores[scores["condition"] == condition]
        asked, apart = rows[rows["reason"] == ""], rows[rows["reason"] != ""].drop_duplicates("query_id")
        given, errors = asked[asked["error"] == ""], asked.loc[asked["error"] != "", "error"]
        # Reasons of the metric, not those of the context or the answer, for questions without any score.
        scored = of_condition.loc[of_condition["state"] == "scored", "query_id"]
        without = of_condition[~of_condition["query_id"].isin(scored) & ~of_condition["reason"].isin({*apart["reason"], *errors})]
        reasons = without.drop_duplicates("query_id")["reason"]
        score = ConditionScore(
            configuration,
            condition,
            condition_mean(run, configuration, str(measure), condition) if measure else None,
            question_share(run, given, given["refused"]),
            asked["query_id"].nunique(),
            *(dict(Counter(column.tolist()).most_common()) for column in (apart["reason"], errors, reasons)),
        )
        by_order.append(score)
    return tuple(by_order)


def condition_mean(run: RunTables, configuration: str, metric: str, condition: str) -> Mean | None:
    """Return the mean of an answer metric over all questions in a condition, None if it never applies there."""
    return _means(run).get((configuration, condition, metric))


@memoised(1)
def _means(run: RunTables) -> Mapping[tuple[str, str, str], Mean]:
    answers = [name for name, measure in run.measures.items() if measure.of_answers]
    table = run.metrics
    rows = table[(table["slice"] == "all") & table["metric"].isin(answers)]
    return {(str(row["configuration"]), str(row["condition"]), str(row["metric"])): mean_of(row) for _, row in rows.iterrows()}


def missing_answers(run: RunTables, configuration: str) -> tuple[int, Mapping[str, int]]:
    """Return the number of answers that a configuration was asked for, and of those that failed by reason, the most frequent first.

    Questions to which a condition does not apply are not asked.
    """
    rows = answers_of(run, configuration)
    asked = rows[rows["reason"] == ""]
    failed = asked.loc[asked["error"] != "", "error"]
    return len(asked), dict(Counter(failed.tolist()).most_common())


def cut_answers(run: RunTables) -> list[tuple[str, int, int, bool]]:
    """Return each configuration with more than a few answers that were cut off: its name, their number, and that of given answers.

    The last value says that the texts may be reasoning in place of answers: all were cut, and no mark of reasoning is in any.
    """
    configurations = list[tuple[str, int, int, bool]]()
    if not run.answers["truncated"].eq(True).any():
        # To rank the configurations takes longer than all else in a repeated sweep.
        return configurations
    for name in answering(run):
        rows = answers_of(run, name)
        rows = rows[rows["reason"] == ""]
        given = rows[rows["error"] == ""]
        cut = int(given["truncated"].eq(True).sum())
        # Tables of earlier versions do not say whether the model reasoned.
        plain = given["reasoned"].eq(False).fillna(False).all() and not rows["error"].str.startswith(REASONING_ALONE).any()
        if cut > _FEW * len(given):
            configurations.append((name, cut, len(given), bool(plain) and cut == len(given)))
    return configurations


def reasons_without(run: RunTables, metric: str, configuration: str = "") -> str:
    """Say why a configuration has no value of a metric for retrieved text, or why no configuration has one in any condition.

    It has values under other conditions only, its answers are copied, or else the most frequent reasons. Empty if there are values.
    """
    means, scores = (run.of(name, configuration) if configuration else run.table(name) for name in ("metrics", "queries"))
    scored = means[(means["metric"] == metric) & (means["slice"] == "all") & (means["n"] > 0)]
    conditions = scored["condition"].unique().tolist()
    if RETRIEVED in conditions or (conditions and not configuration):
        return ""
    if conditions:
        return f"only under {listed(conditions)}"
    reasons = scores.loc[(scores["metric"] == metric) & (scores["reason"] != ""), "reason"].value_counts().index.tolist()
    # Other reasons are about questions and conditions that the metric is not for.
    return VERBATIM if VERBATIM in reasons else "; ".join(reasons[:_MOST_REASONS]) or "no question has a value"
