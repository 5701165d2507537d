"""The causes of a run's misses and of its failed answers: their meanings, the cause of each question's miss, and counts by configuration."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.context.conditions import ATTRIBUTED, CONDITIONS, RETRIEVED
from workbench.core.memo import memoised
from workbench.core.schemas import SCHEMAS
from workbench.measures.attribution import causes
from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSE_WORDS, CAUSES, EVIDENCE_CAUSES, Cause
from workbench.measures.statistics.intervals import Interval
from workbench.report.analysis.answer_values import answering, answers_of, question_share
from workbench.report.analysis.standings import Mean, mean_of, slice_means
from workbench.report.analysis.values import FEWEST_QUERIES, detail, per_query, places
from workbench.report.results.run_tables import RunTables

_ANSWER = ["query_id", "condition", "variant", "repeat"]


def explains_text(run: RunTables) -> bool:
    """Check that the primary metric is over spans or chunks, and so misses evidence rather than whole documents."""
    return run.primary.of_text and bool(run.dataset["needs"])


def cause_meanings(run: RunTables) -> Mapping[str, str]:
    """The meaning of each cause in this run, in order of precedence."""
    return meanings_of(EVIDENCE_CAUSES, explains_text(run))


def meanings_of(causes: Sequence[Cause], of_text: bool) -> Mapping[str, str]:
    """The meaning of each cause for misses of evidence, or else of whole documents."""
    return {cause.name: cause.meaning if of_text else cause.of_documents or cause.meaning for cause in causes}


def possible_causes(run: RunTables) -> Mapping[str, str]:
    """The possible causes of misses in this run, with their meanings. Without evidence only some can be identified."""
    of_text, meanings = explains_text(run), cause_meanings(run)
    return {cause.name: meanings[cause.name] for cause in EVIDENCE_CAUSES if of_text or cause.of_documents}


def missed_evidence(run: RunTables, configuration: str) -> pd.DataFrame:
    """The rows of `causes` about evidence and documents that a configuration missed, without those about answers."""
    rows = run.of("causes", configuration)
    return rows[rows["subject"] == "evidence"].reset_index(drop=True)


@memoised(64)
def causes_by_query(run: RunTables, configuration: str) -> NDArray[np.object_]:
    """The earliest cause of each query's misses. Shape (queries,), an empty string for a query that misses nothing."""
    misses = missed_evidence(run, configuration)
    return causes.causes_by_query(misses.assign(query=places(run, misses["query_id"])), len(run.questions))


@dataclass(frozen=True)
class FailureSummary:
    """Queries that miss something by each cause, of `of` scored ones: (queries, share), the most frequent first.

    `weakest` is the slice (`field=value`) with the worst mean, the first of equal ones, among those with at least 20 scored queries; None without one. Of the queries that miss something, `beyond_k` have more relevant documents than the
    primary metric, one of documents, reads: they miss some in every ranking. `known` is False for a target that does not say what it retrieved.
    """

    of: int
    causes: dict[str, tuple[int, float]]
    weakest: tuple[str, Mean] | None
    beyond_k: int = 0
    known: bool = True


def faults_of(run: RunTables, configuration: str) -> FailureSummary:
    """The faults of a configuration by the primary metric."""
    scored = ~np.isnan(per_query(run, configuration, str(run.primary)))
    by_query = causes_by_query(run, configuration)
    counts, of = Counter(by_query[scored].tolist()), int(scored.sum())
    ordered = sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])
    by_cause = {cause: (counts[cause], counts[cause] / of) for cause in ordered}
    beyond_k = int((scored & (by_query != "") & _beyond_k(run)).sum())
    asked = "targets" in run.sources and configuration in set(run.targets["configuration"])
    known = bool(ordered) or not asked or not np.isnan(detail(run, configuration, "judged")[scored]).all()
    table = slice_means(run, configuration)
    large = table[(table.index != "all") & (table["n"] >= FEWEST_QUERIES)]
    ordered_slices = large.sort_values("value", ascending=run.primary.higher_is_better, kind="stable")
    weakest = next(((str(name), mean_of(row)) for name, row in ordered_slices.head(1).iterrows()), None)
    return FailureSummary(of, by_cause, weakest, beyond_k, known)


def _beyond_k(run: RunTables) -> NDArray[np.bool_]:
    """Mark the queries with more relevant documents than the primary metric reads. Shape (queries,)."""
    if run.primary.family != "documents" or run.primary.k is None:
        return np.zeros(len(run.questions), dtype=np.bool_)
    relevant = run.table("judgements")[run.table("judgements")["relevance"] > 0].drop_duplicates(["query_id", "doc_id"])
    return np.asarray(np.bincount(places(run, relevant["query_id"]), minlength=len(run.questions)) > run.primary.k)


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


@memoised(256)
def failures_of(run: RunTables, configuration: str, condition: str = RETRIEVED) -> FailureCauses | None:
    """Count the causes of a configuration's failed answers in a condition. None if they were not examined. Repeats count as answers."""
    if condition not in attributed_conditions(run) or configuration not in answering(run):
        return None
    answers = answers_of(run, configuration)
    asked = int(((answers["condition"] == condition) & (answers["reason"] == "")).sum())
    given, counts = len(_given(run, configuration, condition)), _with_causes(run, configuration, condition)["cause"].value_counts()
    causes = tuple(CauseCount(cause, int(counts[cause.name])) for cause in CAUSES if cause.name in counts.index)
    return FailureCauses(configuration, condition, given, asked - given, causes)


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


# The causes of a loss beside those of a miss, each with the phrase that completes "it was lost because …".
_OTHER_CAUSES = {
    "removed": "its document was removed from the corpus",
    "changed": "the text of its document changed",
    "displaced": "new or changed documents rank ahead of it",
    "error": "the call failed",
}
LOSS_CAUSES: Mapping[str, str] = {**_OTHER_CAUSES, **{cause.name: cause.because for cause in CAUSES}}
# How pages name them.
LOSS_WORDS: Mapping[str, str] = {
    "removed": "document removed",
    "changed": "document changed",
    "displaced": "behind new documents",
    "error": "failed call",
    **CAUSE_WORDS,
}
# rank, doc_id, start, end, text (the beginning, empty if the run does not have it) and relevant.
HitRow = Mapping[str, Any]
# The losses of each question by its id, the worst question first.
LossesByQuestion = Mapping[str, Sequence["QuestionLoss"]]


@dataclass(frozen=True)
class QuestionLoss:
    """A document or a piece of evidence that a question found in the baseline and does not find in the run, or an answer that got worse.

    `missing` names it: `doc_id`, `doc_id:start-end`, or the metric of the answer. Ranks are those of the metric: of documents if it counts
    documents, else of slices; 0 if it is not among the hits. `cause` is a key of LOSS_CAUSES, and `explanation` a sentence about it.
    `displaced_by` are new or changed documents that rank ahead. `metric` shows the loss by its values of this question (NaN if unknown).
    `before` and `after` are the first hits of both sides, and `answer` is the answer of the run.
    """

    query_id: str
    question: str
    subject: Literal["document", "evidence", "answer"]
    missing: str
    rank_before: int
    rank_after: int
    cause: str
    before: Sequence[HitRow]
    after: Sequence[HitRow]
    explanation: str = ""
    displaced_by: Sequence[str] = ()
    metric: str = ""
    value_before: float = nan
    value_after: float = nan
    answer: str = ""

    @property
    def drop(self) -> float:
        """The drop of the metric, 0 if it is unknown."""
        drop = abs(self.value_before - self.value_after)
        return 0.0 if isnan(drop) else drop

    @property
    def document(self) -> str:
        """The document that is lost, or whose evidence is."""
        return self.missing if self.subject == "document" else self.missing.rpartition(":")[0]


_JSON = ("displaced_by", "before", "after")


def lost_table(configuration: str, losses: Sequence[QuestionLoss]) -> pd.DataFrame:
    """Tabulate the losses of a configuration, in their order."""
    if not losses:
        return SCHEMAS["lost"].empty()
    rows = [
        vars(loss) | {"configuration": configuration} | {name: json.dumps(list(getattr(loss, name)), ensure_ascii=False) for name in _JSON}
        for loss in losses
    ]
    return SCHEMAS["lost"].conform(pd.DataFrame(rows))


def losses_in(table: pd.DataFrame, questions: Mapping[str, str]) -> list[QuestionLoss]:
    """Read the losses of a table `lost`. `questions` are the texts of questions by id."""
    names = [name for name in QuestionLoss.__dataclass_fields__ if name != "question"]
    rows = ({str(name): value for name, value in row.items()} for row in table[names].to_dict("records"))
    read = ({**row, **{name: json.loads(row[name]) for name in _JSON}} for row in rows)
    return [QuestionLoss(question=questions.get(row["query_id"], ""), **row) for row in read]


def by_question(losses: Sequence[QuestionLoss]) -> LossesByQuestion:
    """Group losses by question, in order of each question's first one."""
    groups: dict[str, list[QuestionLoss]] = {}
    for loss in losses:
        groups.setdefault(loss.query_id, []).append(loss)
    return groups


def by_cause(losses: Sequence[QuestionLoss]) -> Mapping[str, Sequence[str]]:
    """List the questions that lost something by each cause, the most frequent cause first."""
    groups: dict[str, dict[str, None]] = {}
    for loss in losses:
        groups.setdefault(loss.cause, {})[loss.query_id] = None
    return {cause: list(ids) for cause, ids in sorted(groups.items(), key=lambda item: -len(item[1]))}
