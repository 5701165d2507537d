"""The causes of a run's misses and of its failed answers: their meanings, the cause of each question's miss, and counts by configuration."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.context.conditions import CONDITIONS, RETRIEVED
from workbench.core.memo import memoised
from workbench.measures.attribution import causes
from workbench.measures.attribution.answer_causes import ATTRIBUTED
from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSES, EVIDENCE_CAUSES, Cause
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
