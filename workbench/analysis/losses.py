"""What a gate found lost since its baseline, by question."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.attribution.causes import CAUSES

# The causes of a loss beside those of a miss, each with the phrase that completes "it was lost because …".
_OTHER_CAUSES = {
    "removed": "its document was removed from the corpus",
    "changed": "the text of its document changed",
    "displaced": "new or changed documents rank ahead of it",
    "error": "the call failed",
}
LOSS_CAUSES: Mapping[str, str] = {**_OTHER_CAUSES, **{cause.name: cause.because for cause in CAUSES}}


@dataclass(frozen=True)
class BaselineLoss:
    """A document, a piece of evidence or the value of an answer that a question lost. Fields as in the table `lost`."""

    subject: str
    missing: str
    rank_before: int
    rank_after: int
    cause: str
    explanation: str
    metric: str
    value_before: float
    value_after: float


@dataclass(frozen=True)
class ComparedHit:
    """A hit of the baseline or of the run. `role` is `lost`, `new` for one that took its place, or empty."""

    rank: int
    doc_id: str
    start: int
    end: int
    text: str
    relevant: bool
    role: str


@dataclass(frozen=True)
class BrokenQuestion:
    """A question with its losses, the worst first, the hits before and after, and the answer of the run (empty if it is not worse)."""

    query_id: str
    text: str
    losses: Sequence[BaselineLoss]
    before: Sequence[ComparedHit]
    after: Sequence[ComparedHit]
    answer: str


def broken_questions(lost: pd.DataFrame, texts: Mapping[str, str]) -> list[BrokenQuestion]:
    """Group the rows of the table `lost` by question, the worst first. `texts` are the questions by id."""
    groups = lost.groupby("query_id", sort=False)
    return [_question(str(query_id), texts.get(str(query_id), ""), rows.to_dict("records")) for query_id, rows in groups]


def losses_by_cause(questions: Sequence[BrokenQuestion]) -> Mapping[str, Sequence[str]]:
    """The questions that lost something by each cause, the most frequent cause first."""
    found: dict[str, dict[str, None]] = {}
    for question in questions:
        for loss in question.losses:
            found.setdefault(loss.cause, {})[question.query_id] = None
    return {cause: list(ids) for cause, ids in sorted(found.items(), key=lambda item: -len(item[1]))}


def _question(query_id: str, text: str, rows: Sequence[Mapping[Any, Any]]) -> BrokenQuestion:
    losses = [BaselineLoss(*(row[name] for name in BaselineLoss.__dataclass_fields__)) for row in rows]
    with_hits = [row for row in rows if row["subject"] != "answer"]
    # Ranks of documents and of slices do not mix, so the hits are those of the first loss.
    before, after = (json.loads(with_hits[0][name]) if with_hits else [] for name in ("before", "after"))
    missing = {row["missing"] if row["subject"] == "document" else row["missing"].rpartition(":")[0] for row in with_hits}
    new = {name for row in with_hits for name in json.loads(row["displaced_by"])}
    answer = next((str(row["answer"]) for row in rows if row["subject"] == "answer"), "")
    shown = [[ComparedHit(**hit, role=_role(hit["doc_id"], missing, new)) for hit in side] for side in (before, after)]
    return BrokenQuestion(query_id, text, losses, shown[0], shown[1], answer)


def _role(doc_id: str, missing: set[Any], new: set[Any]) -> str:
    return "lost" if doc_id in missing else "new" if doc_id in new else ""
