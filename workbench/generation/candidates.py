"""A candidate for a question, and why candidates are dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from workbench.generation.settings import QuestionKind
from workbench.records import Chunk, Span

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
