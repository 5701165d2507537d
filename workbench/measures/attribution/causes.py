"""The causes of a failure in order of precedence: if several apply to a question, the one of the earliest layer counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Layer = Literal["indexing", "chunking", "embedding", "retrieval", "packing", "answering", "judging"]


@dataclass(frozen=True)
class Cause:
    """A cause: its layer, its meaning, and `because`, which completes "misses evidence because …".

    `name` is the value in tables, `words` its name on pages. `of_documents` is the meaning if only relevant documents are labelled. Empty if the
    cause can be identified only from evidence.
    """

    name: str
    words: str
    layer: Layer
    meaning: str
    because: str
    of_documents: str = ""


# The one cause that only targets have, whose index nobody sees.
NOT_RETURNED = "not_returned"
CAUSES: tuple[Cause, ...] = (
    Cause(
        "not_indexed",
        "not indexed",
        "indexing",
        "text of the evidence is in no chunk: its document was not indexed, or the splitter left the text out",
        "no chunk holds it",
        "no chunk of the relevant document is in the index",
    ),
    Cause(
        "boundary",
        "split over chunks",
        "chunking",
        "no delivered chunk contains all of the evidence, and a part of it was delivered",
        "a chunk boundary cuts it",
    ),
    Cause(
        "window",
        "beyond the embedder's window",
        "embedding",
        "text of the evidence is beyond the embedder's window in every chunk that contains it: it was never embedded",
        "it is beyond the embedder's window",
        "a chunk of the relevant document is longer than the embedder's window: part of its text was never embedded",
    ),
    Cause(
        "duplicate",
        "displaced by repeated text",
        "retrieval",
        "the evidence would be delivered without the hits that repeat the text of an earlier one",
        "repeated text takes its place",
    ),
    Cause(
        NOT_RETURNED,
        "not returned by the target",
        "retrieval",
        "the target returned text of the evidence for no question: it was not indexed, or it ranks too low",
        "the target never returned it",
        "the target returned the relevant document for no question: it was not indexed, or it ranks too low",
    ),
    Cause(
        "rank",
        "ranked too low",
        "retrieval",
        "the evidence is in the index, but the chunks that contain it rank too low",
        "the evidence ranks too low",
        "the relevant document ranks too low",
    ),
    Cause(
        "budget",
        "cut by the token budget",
        "packing",
        "the chunks retrieved for the context contain all of the evidence, but the token budget cuts it off",
        "the token budget cuts it off",
    ),
    Cause("empty", "empty answer", "answering", "the answer has no word", "the answer is empty"),
    Cause(
        "refusal",
        "refused despite the evidence",
        "answering",
        "the context contains all evidence or the expected answer, and the answer is a refusal",
        "the answer is a refusal",
    ),
    Cause(
        "contradiction", "contradicts the context", "answering", "the context contradicts the answer", "the answer contradicts the context"
    ),
    Cause(
        "unsupported",
        "not supported by the context",
        "answering",
        "the answer makes a claim that the context does not contain",
        "the context does not support the answer",
    ),
    Cause(
        "truncated",
        "cut at the token limit",
        "answering",
        "the answer was cut off at the token limit, and the rest is unknown",
        "the token limit cuts the answer off",
    ),
    Cause(
        "off_topic",
        "misses the question",
        "answering",
        "the context supports the answer, but it does not answer the question",
        "the answer misses the question",
    ),
    Cause(
        "unused",
        "evidence not used",
        "answering",
        "the context contains all evidence or the expected answer, and supports the answer, which is not the expected one",
        "the answer does not use the evidence",
    ),
    Cause(
        "unrefused", "should have refused", "answering", "only a refusal was right, and an answer was given", "it should have been refused"
    ),
    Cause(
        "unsure",
        "cause unknown",
        "judging",
        "the question failed, and nothing shows why: a judge failed or only scores, the question has no labelled evidence, the target names no "
        "source, or the answer may correct the question",
        "nothing shows why",
    ),
)
CAUSE_NAMES = tuple(cause.name for cause in CAUSES)
# How pages name each cause.
CAUSE_WORDS = {cause.name: cause.words for cause in CAUSES}
# The causes of the pipelines of Workbench, which faults are planted in.
OWN_CAUSES = tuple(name for name in CAUSE_NAMES if name != NOT_RETURNED)
_LATER: tuple[Layer, ...] = ("answering", "judging")
# The causes that keep evidence out of the context. The others occur later.
EVIDENCE_CAUSES = tuple(cause for cause in CAUSES if cause.layer not in _LATER)
ANSWER_CAUSES = tuple(cause for cause in CAUSES if cause.layer in _LATER)


def earliest(names: Iterable[str]) -> str:
    """The cause that takes precedence, or an empty string."""
    return min((name for name in names if name), key=CAUSE_NAMES.index, default="")


def causes_by_query(misses: pd.DataFrame, queries: int) -> NDArray[np.object_]:
    """The earliest cause of each query's misses (`query`, `cause`). Shape (queries,), an empty string if it misses nothing."""
    codes = np.full(queries, len(CAUSE_NAMES), dtype=np.int64)
    np.minimum.at(codes, misses["query"].to_numpy(np.int64), misses["cause"].map(CAUSE_NAMES.index).to_numpy(np.int64))
    return np.array([*CAUSE_NAMES, ""], dtype=object)[codes]
