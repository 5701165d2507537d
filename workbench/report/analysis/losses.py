"""Losses of a run since a baseline: documents, evidence and answers of single questions, as values and as the table `lost`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal

import pandas as pd

from workbench.core.schemas import SCHEMAS
from workbench.measures.attribution.causes import CAUSES

# The causes of a loss beside those of a miss, each with the phrase that completes "it was lost because …".
_OTHER_CAUSES = {
    "removed": "its document was removed from the corpus",
    "changed": "the text of its document changed",
    "displaced": "new or changed documents rank ahead of it",
    "error": "the call failed",
}
LOSS_CAUSES: Mapping[str, str] = {**_OTHER_CAUSES, **{cause.name: cause.because for cause in CAUSES}}
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
