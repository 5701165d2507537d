"""The chunks of one document, the evidence that they cut, and those that an embedder would truncate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from workbench.api.chunk_marks import EvidenceMark
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import NO_WINDOW, Embedder
from workbench.core.errors import InputError
from workbench.core.records import Chunk, Dataset, Document, Need
from workbench.core.text.formatting import count, plural
from workbench.llm.models.tokenizers import Tokens, special_tokens, tokenise
from workbench.measures.attribution.evidence_state import whole_alternatives, whole_needs
from workbench.measures.metrics.coverage import Bools, Ints
from workbench.measures.metrics.inputs import Labels

# Where a word is cut, or a header or prompt comes first, an input can have other tokens than its text has within the document.
_TOKENS_APART, _SHARE_APART = 16, 0.15
# One token in every vocabulary.
_WORD = "a"
_TITLE = 200


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The chunks of a document with its evidence.

    `cut_needs` of `needs` pieces of evidence are in no chunk whole, as delivered. `beyond` has the numbers of the chunks with more tokens
    than the embedder's `window`, None without a window.
    """

    document: Document
    chunker: Chunker
    chunks: Sequence[Chunk]
    evidence: Sequence[EvidenceMark]
    needs: int
    cut_needs: int
    beyond: Sequence[int]
    window: int | None

    @property
    def counts(self) -> str:
        """The counts in one line."""
        longest = max((chunk.end - chunk.start for chunk in self.chunks), default=0)
        evidence = f"{count(self.cut_needs)} of {plural(self.needs, 'piece')} of evidence cut" if self.needs else "no evidence here"
        window = f"{count(len(self.beyond))} beyond the window of {plural(self.window, 'token')}" if self.window else "no window"
        return f"{self.chunker.name}: {plural(len(self.chunks), 'chunk')}, the longest of {plural(longest, 'character')} · {evidence} · {window}"


@dataclass(frozen=True, eq=False)
class LabelledDocument:
    """A document with the evidence that a dataset has in it."""

    document: Document
    dataset: Dataset

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The pieces of evidence with an alternative in the document, without their alternatives elsewhere."""
        inside = (
            Need(need.query_id, tuple(span for span in need.alternatives if span.doc_id == self.document.doc_id))
            for need in self.dataset.needs
        )
        return tuple(need for need in inside if need.alternatives)

    def marks(self, chunks: Sequence[Chunk]) -> tuple[list[EvidenceMark], int]:
        """Return the evidence with whether these chunks cut it, and the number of pieces that are cut.

        Whole is what the diagnosis of a sweep calls so: a delivered slice contains it, apart from blanks at its borders.
        """
        edges = np.array([chunk.delivered for chunk in chunks], dtype=np.int64).reshape(-1, 2)
        table = pd.DataFrame({"doc": np.zeros(len(edges), dtype=np.int64), "delivered_start": edges[:, 0], "delivered_end": edges[:, 1]})
        spans = [(span, need.query_id) for need in self.needs for span in need.alternatives]
        whole = whole_alternatives(self._labels, table).tolist() if spans else []
        marks = [
            EvidenceMark(span.start, span.end, not kept, f"{query_id}: {self._questions[query_id]}"[:_TITLE])
            for (span, query_id), kept in zip(spans, whole, strict=True)
        ]
        return marks, int((~whole_needs(self._labels, table)).sum()) if spans else 0

    @cached_property
    def _questions(self) -> dict[str, str]:
        return {query.query_id: query.text for query in self.dataset.queries}

    @cached_property
    def _labels(self) -> Labels:
        asked = {need.query_id for need in self.needs}
        queries = tuple(query for query in self.dataset.queries if query.query_id in asked)
        return Labels.of(Dataset(self.dataset.name, (self.document,), queries, (), self.needs))


@dataclass(frozen=True, eq=False)
class BoundaryModel:
    """The documents of a dataset, cut by any chunker. `embedding` has the window, None for none."""

    dataset: Dataset
    embedding: Embedder | None = None

    @cached_property
    def documents(self) -> dict[str, Document]:
        """The documents by id, without those that are missing or blank."""
        return {document.doc_id: document for document in self.dataset.corpus if document.text.strip()}

    @cached_property
    def evidence_counts(self) -> dict[str, int]:
        """The number of pieces of evidence in each document that has any."""
        counts: dict[str, int] = {}
        for need in self.dataset.needs:
            for doc_id in {span.doc_id for span in need.alternatives}:
                counts[doc_id] = counts.get(doc_id, 0) + 1
        return counts

    @cached_property
    def first(self) -> str:
        """The id of the first document with evidence, or of the first. Raises InputError if no document has text."""
        if not self.documents:
            raise InputError(f"no document of {self.dataset.name} has text", "add a document")
        return next((doc_id for doc_id in self.documents if doc_id in self.evidence_counts), next(iter(self.documents)))

    @cached_property
    def window(self) -> int | None:
        """The window of the embedder."""
        window = self.embedding.chunk_window() if self.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None

    def found(self, words: str, most: int) -> tuple[list[str], int]:
        """Return the ids of the first documents whose id or title contains the words, and how many there are in all."""
        wanted = words.casefold().split()
        names = [
            doc_id for doc_id, document in self.documents.items() if all(word in f"{doc_id} {document.title}".casefold() for word in wanted)
        ]
        return names[:most], len(names)

    def cut(self, doc_id: str, chunker: Chunker) -> Boundaries:
        """Cut a document as a sweep does. Its tokens are counted once for each vocabulary."""
        labelled = self._labelled(doc_id)
        chunks = chunker.split(labelled.document)
        marks, cut_needs = labelled.marks(chunks)
        beyond = self._beyond(labelled.document, chunks)
        return Boundaries(labelled.document, chunker, chunks, marks, len(labelled.needs), cut_needs, beyond, self.window)

    @cached_property
    def _labelled(self) -> Callable[[str], LabelledDocument]:
        return lru_cache(maxsize=8)(lambda doc_id: LabelledDocument(self.documents[doc_id], self.dataset))

    def _beyond(self, document: Document, chunks: Sequence[Chunk]) -> list[int]:
        """Return the numbers of the chunks whose input is longer than the window.

        The tokens of the document decide wherever they can. Other inputs near the window are tokenised, which takes most of the time.
        """
        if self.embedding is None or self.window is None or not chunks:
            return []
        least, most = _bounds(document, chunks, self.embedding, self._added)
        beyond = least > self.window
        unsure = np.flatnonzero(~beyond & (most > self.window))
        if len(unsure):
            inputs = [chunks[place].embedded_text for place in unsure.tolist()]
            beyond[unsure] = self.embedding.lengths(inputs, "document") > self.window
        return [int(place) for place in np.flatnonzero(beyond)]

    @cached_property
    def _added(self) -> int:
        """The tokens that the embedder adds to a text: special tokens and a prompt."""
        return int(self.embedding.lengths([_WORD], "document")[0]) - 1 if self.embedding else 0


def _bounds(document: Document, chunks: Sequence[Chunk], embedding: Embedder, added: int) -> tuple[Ints, Ints]:
    """Bound the number of tokens of each input. Both bounds are equal where a chunk without header is cut between words, without a prompt."""
    tokens = tokenise([document.text], embedding.vocabulary)[0]
    starts, ends = (np.array([getattr(chunk, side) for chunk in chunks], dtype=np.int64) for side in ("start", "end"))
    inside = tokens.before(ends) - tokens.before(starts) + added
    headers = np.array([len(chunk.header) for chunk in chunks], dtype=np.int64)
    exact = _between_words(tokens, starts) & _between_words(tokens, ends) & (headers == 0) & (added == special_tokens(embedding.vocabulary))
    apart = np.where(exact, 0, (_SHARE_APART * inside).astype(np.int64) + _TOKENS_APART)
    return inside - apart, inside + apart + headers


def _between_words(tokens: Tokens, positions: Ints) -> Bools:
    """Mark the positions where a cut leaves all tokens as they are (`Tokens`)."""
    place = tokens.before(positions)
    before, after = np.maximum(place - 1, 0), np.minimum(place, len(tokens.starts) - 1)
    apart = (tokens.words[before] != tokens.words[after]) | (place == len(tokens.starts))
    return np.asarray((place == 0) | (apart & (tokens.ends[before] <= positions)), dtype=np.bool_)
