"""Questions whose answers have a lower value than in a baseline, with the cause of the failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.analysis.answer_values import answer_score
from workbench.attribution.causes import CAUSES
from workbench.gate.losses.lost_pieces import paired_values
from workbench.gate.rules import Subject
from workbench.results.run_tables import RETRIEVED, RunTables

_BECAUSE = {cause.name: cause.because for cause in CAUSES}
_SMALLEST_DROP = 1e-9


@dataclass(frozen=True)
class WorseAnswer:
    """A question whose answer got worse by a metric: its values, the answer of the run, and the cause."""

    query_id: str
    subject: Subject
    before: float
    after: float
    answer: str
    cause: str
    explanation: str


def worse_answers(run: RunTables, configuration: str, values: pd.DataFrame, subjects: Sequence[Subject]) -> list[WorseAnswer]:
    """List the answers with a lower value, or for a metric of faults a higher one, for the metrics of answers among `subjects`.

    Without one: by the run's first metric of the content of answers, under the condition retrieved if it was asked.
    """
    worse: dict[tuple[str, str], WorseAnswer] = {}
    for subject in _subjects(run, configuration, subjects):
        pairs = paired_values(run, configuration, values, subject.metric, subject.condition)
        sign = 1 if run.measures[subject.metric].higher_is_better else -1
        dropped = pairs[sign * (pairs["before"] - pairs["after"]) > _SMALLEST_DROP]
        answers = _answers(run, configuration, subject.condition)
        causes = _causes(run, configuration, subject.condition)
        for query_id, before, after in zip(dropped.index, dropped["before"], dropped["after"], strict=True):
            row = answers.get(query_id, {})
            cause, why = causes.get(query_id) or _observed(row)
            answer = WorseAnswer(query_id, subject, before, after, str(row.get("answer", "")), cause, why)
            worse.setdefault((query_id, subject.condition), answer)
    return list(worse.values())


def _subjects(run: RunTables, configuration: str, subjects: Sequence[Subject]) -> list[Subject]:
    """The metrics of answers to compare, each with its condition."""
    names = [name for name, measure in run.measures.items() if measure.of_answers]
    given = [subject for subject in subjects if subject.metric in names]
    if given:
        return list(dict.fromkeys(Subject(subject.metric, condition=subject.condition) for subject in given))
    measure = answer_score(run)
    if measure is None:
        return []
    queries = run.of("queries", configuration)
    scored = set(queries.loc[(queries["metric"] == str(measure)) & (queries["state"] == "scored"), "condition"])
    conditions = dict.fromkeys([RETRIEVED, *run.of("answers", configuration)["condition"]])
    return [Subject(str(measure), condition=condition) for condition in conditions if condition in scored][:1]


def _answers(run: RunTables, configuration: str, condition: str) -> Mapping[str, Mapping[Any, Any]]:
    """The first repeat of each answer without perturbation, by question."""
    rows = run.of("answers", configuration)
    rows = rows[(rows["condition"] == condition) & (rows["variant"] == "")].sort_values("repeat", kind="stable").drop_duplicates("query_id")
    columns = rows[["query_id", "answer", "refused", "error", "gold"]]
    return {row["query_id"]: row for row in columns.to_dict("records")}


def _causes(run: RunTables, configuration: str, condition: str) -> Mapping[str, tuple[str, str]]:
    """The attributed cause of each failed answer with its reason, by question: that of the first repeat that has one."""
    rows = run.of("causes", configuration)
    rows = rows[(rows["subject"] == "answer") & (rows["condition"] == condition) & (rows["variant"] == "")]
    rows = rows.sort_values("repeat", kind="stable").drop_duplicates("query_id")
    return {query_id: (cause, _BECAUSE[cause]) for query_id, cause in zip(rows["query_id"], rows["cause"], strict=True)}


def _observed(answer: Mapping[Any, Any]) -> tuple[str, str]:
    """What an answer shows by itself where no judge attributed its failure."""
    if answer.get("error"):
        return "error", f"the call failed: {answer['error']}"
    if answer.get("refused"):
        return "refusal", _BECAUSE["refusal"]
    return "unsure", "no cause was attributed: the answer was not judged, or it counts as correct"
