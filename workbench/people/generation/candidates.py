"""The settings of a generation, a candidate for a question, and why candidates are dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.records import Chunk, Span

QuestionKind = Literal["factoid", "multi_hop", "unanswerable"]

# Why a candidate is dropped, in the order of the checks.
REASONS: Mapping[str, str] = {
    "failed": "a call of the model failed; run again to make it again",
    "malformed": "the reply did not fit its JSON schema",
    "no_question": "the model found nothing to ask",
    "refers_to_text": "the question speaks of a passage or a document, which nobody who asks has seen",
    "quote_not_found": "the document does not contain the quoted evidence",
    "quote_length": "the quoted evidence is too short to be found in one place only, or longer than evidence should be",
    "duplicate": "the question is nearly the same as another",
    "not_from_evidence": "asked with the evidence only, the model does not give the same answer",
    "one_hop": "one of the two pieces of evidence is enough",
    "answered_elsewhere": "other passages answer the question too, and their text could not be added as an alternative",
    "ambiguous": "other passages give another answer",
    "answerable": "passages answer the question, which should be unanswerable",
    "no_reference": "the most similar documents do not contain an answer to the question",
}


class GenerationSettings(BaseModel):
    """Settings of a generation: numbers and kinds of questions, and thresholds of their checks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int = Field(default=50, ge=1, le=100_000)
    seed: int = Field(default=0, ge=0)
    # Shares of the questions. The rest are factoid.
    multi_hop: float = Field(default=0.1, ge=0, le=1)
    unanswerable: float = Field(default=0.1, ge=0, le=1)
    # How many candidates are made for each question that is requested, at most.
    tries: int = Field(default=3, ge=1, le=20)
    # Size of a passage in the embedder's tokens.
    passage_tokens: int = Field(default=256, ge=64, le=512)
    # Passages found by search that must not answer the question, besides the neighbours.
    retrieved: int = Field(default=4, ge=0, le=20)
    # Places besides the evidence that may answer a question. With more, it is dropped.
    alternatives: int = Field(default=2, ge=0, le=10)
    # Cosine from which two questions are near-duplicates.
    duplicate_cosine: float = Field(default=0.9, gt=0, le=1)
    # Documents that the reference answer is written from, and passages of each.
    reference_documents: int = Field(default=4, ge=3, le=5)
    reference_passages: int = Field(default=6, ge=1, le=20)
    # Tokens of a reply.
    max_tokens: int = Field(default=512, ge=64, le=8192)

    @property
    def targets(self) -> dict[QuestionKind, int]:
        """Return how many questions of each kind are wanted."""
        unanswerable = round(self.questions * self.unanswerable)
        multi_hop = min(self.questions - unanswerable, round(self.questions * self.multi_hop))
        return {"factoid": self.questions - unanswerable - multi_hop, "multi_hop": multi_hop, "unanswerable": unanswerable}


@dataclass(frozen=True)
class WrittenReference:
    """The reference answer of a question, empty if the documents do not contain one, with the passages that the model read.

    `documents` maps each document, the most relevant first, to its cosine and the slices that were read. `agrees` says whether it agrees with the
    answer of the question, or is empty for a question without one.
    """

    text: str
    agrees: bool
    documents: Mapping[str, tuple[float, tuple[tuple[int, int], ...]]]


@dataclass(frozen=True)
class Candidate:
    """A question that is being made. `needs` are the pieces of evidence, each with its alternatives; `dropped` is a key of REASONS, or empty.

    `query_id` is set for a question that a dataset has already, which only gets a reference answer.
    """

    kind: QuestionKind
    sources: tuple[Chunk, ...]
    question: str = ""
    answer: str = ""
    quotes: tuple[str, ...] = ()
    needs: tuple[tuple[Span, ...], ...] = ()
    reference: WrittenReference | None = None
    model: str = ""
    dropped: str = ""
    detail: str = ""
    query_id: str = ""

    def drop(self, reason: str, detail: str = "") -> Self:
        """Return the candidate as dropped, with a key of REASONS."""
        assert reason in REASONS
        return replace(self, dropped=reason, detail=detail)
