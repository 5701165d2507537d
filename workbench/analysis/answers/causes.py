"""The causes of failed answers by configuration and condition: counts, shares, and examples to read."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workbench.analysis.answers.answered import answers_of, question_share
from workbench.attribution.answer_causes import ATTRIBUTED
from workbench.attribution.causes import CAUSES, EVIDENCE_CAUSES, Cause
from workbench.context.conditions import CONDITIONS
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval

_ANSWER = ["query_id", "condition", "variant", "repeat"]


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
        """Return the number of failed answers."""
        return sum(count.answers for count in self.causes)

    @property
    def sides(self) -> Mapping[str, int]:
        """Return the numbers of failed answers by side: `retrieval` (everything before the answer), `answering` and `judging`."""
        retrieval = {cause.name for cause in EVIDENCE_CAUSES}
        sides = dict.fromkeys(("retrieval", "answering", "judging"), 0)
        for count in self.causes:
            sides["retrieval" if count.cause.name in retrieval else count.cause.layer] += count.answers
        return sides


@dataclass(frozen=True)
class FailedAnswer:
    """A failed answer with what shows its cause: the text of a claim, a piece of missed evidence, or nothing."""

    query_id: str
    question: str
    expected: str
    answer: str
    repeat: int
    evidence: str


def attributed_conditions(run: RunTables) -> tuple[str, ...]:
    """Return the conditions whose failures have causes, in the order of `CONDITIONS`. Empty without judges."""
    judging = run.manifest.get("judging")
    if not judging:
        return ()
    conditions = set(run.manifest["conditions"]) & set(judging["conditions"] or CONDITIONS)
    return tuple(condition for condition in CONDITIONS if condition in conditions and condition in ATTRIBUTED)


def answer_cause_meanings(run: RunTables) -> Mapping[str, str]:
    """Return the meaning of every cause in this run, in order of precedence."""
    of_text = bool(run.dataset["needs"])
    return {cause.name: cause.meaning if of_text else cause.of_documents or cause.meaning for cause in CAUSES}


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


def examples(run: RunTables, configuration: str, condition: str, cause: str, most: int = 3) -> list[FailedAnswer]:
    """Return up to `most` failed answers with a cause, of different questions, in the order of the questions."""
    found = failed_answers(run, configuration)
    chosen = found[(found["condition"] == condition) & (found["cause"] == cause)].drop_duplicates("query_id")
    questions = run.questions[["query_id", "text", "answer"]].rename(columns={"answer": "expected"})
    rows = questions.merge(chosen[[*_ANSWER, "evidence"]], on="query_id").head(most)
    texts = rows.merge(answers_of(run, configuration)[[*_ANSWER, "answer"]], on=_ANSWER)
    columns = texts[["query_id", "text", "expected", "answer", "repeat", "evidence"]].fillna("")
    return [FailedAnswer(*values) for values in columns.itertuples(index=False, name=None)]
