"""The causes of misses, in order of precedence."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """Why something was missed: the layer to blame, what it means, a clause after "because", and what it means of a whole document."""

    name: str
    layer: str
    meaning: str
    because: str
    of_documents: str = ""


CAUSES: tuple[Cause, ...] = (
    Cause("dropped", "chunking", "the splitter left text of the evidence out of every chunk", "no chunk holds it"),
    Cause(
        "window",
        "embedding",
        "text of the evidence lies beyond the embedder's window in every chunk that holds it: it was never embedded",
        "it lies beyond the embedder's window",
        "a chunk of the relevant document is longer than the embedder's window: part of its text was never embedded",
    ),
    Cause(
        "boundary",
        "chunking",
        "no chunk, as it is delivered, holds the evidence whole, and a chunk with a part of it was delivered",
        "a chunk boundary cuts it",
    ),
    Cause(
        "duplicate",
        "retrieval",
        "a chunk holds the evidence whole and would be delivered if none of the hits before it repeated another's text",
        "repeated text takes its place",
    ),
    Cause(
        "budget",
        "context",
        "a chunk that holds the evidence whole is among the k hits, but the tokens were spent before the end of the evidence",
        "the budget ends before it",
    ),
    Cause(
        "rank",
        "retrieval",
        "the evidence was embedded, and the chunks that hold it rank too low",
        "it ranks too low",
        "the relevant document ranks too low",
    ),
)
NAMES = tuple(cause.name for cause in CAUSES)


def earliest(names: Iterable[str]) -> str:
    """The first in precedence of some causes; empty where there is none."""
    return min(names, key=NAMES.index, default="")
