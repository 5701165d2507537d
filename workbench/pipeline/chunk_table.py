"""A table of chunks as what later stages ask of it: records, ids and embedder inputs, each made when it is asked for.

A corpus of a million chunks is a few arrays and its documents; a list of a million records or texts would be gigabytes.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

import numpy as np
import pandas as pd

from workbench.chunking.base import Chunker, embedded_text
from workbench.models.tokenizers import BUDGET_VOCABULARY, Ints, Tokens, groups, tokenise
from workbench.records import Chunk, Document

T = TypeVar("T", covariant=True)
_COLUMNS = ("doc", "start", "end", "delivered_start", "delivered_end")
_AT_ONCE = 4_096


class _Made(Sequence[T]):
    """A sequence whose items are made a slice at a time."""

    def __init__(self, length: int) -> None:
        self._length = length

    @abstractmethod
    def _make(self, rows: slice) -> list[T]:
        """The items of these rows."""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return self._make(place)
        place = range(self._length)[place]
        return self._make(slice(place, place + 1))[0]

    def __iter__(self) -> Iterator[T]:
        for first in range(0, self._length, _AT_ONCE):
            yield from self._make(slice(first, min(first + _AT_ONCE, self._length)))


class Chunks(_Made[Chunk]):
    """The records of a table of chunks."""

    def __init__(self, documents: Sequence[Document], table: pd.DataFrame) -> None:
        super().__init__(len(table))
        self._documents = documents
        self._columns: list[Ints] = [table[name].to_numpy(np.int64) for name in _COLUMNS]
        # Most chunks have no header, or that of their neighbours.
        self._header, names = pd.factorize(table["header"])
        self._headers: list[str] = list(names)

    def _make(self, rows: slice) -> list[Chunk]:
        found = zip(*(column[rows].tolist() for column in self._columns), self._header[rows].tolist(), strict=True)
        return [
            Chunk(self._documents[doc].doc_id, start, end, self._headers[header], (low, high) if (low, high) != (start, end) else None)
            for doc, start, end, low, high, header in found
        ]

    def documents_of(self, rows: slice) -> list[Document]:
        """The document of each of some chunks."""
        return [self._documents[doc] for doc in self._columns[0][rows].tolist()]


class Ids(_Made[str]):
    """The ids of chunks."""

    def __init__(self, chunks: Chunks) -> None:
        super().__init__(len(chunks))
        self._chunks = chunks

    def _make(self, rows: slice) -> list[str]:
        return [chunk.chunk_id for chunk in self._chunks[rows]]


class EmbedderInputs(_Made[str]):
    """What is embedded for each chunk: its header and its slice."""

    def __init__(self, chunks: Chunks) -> None:
        super().__init__(len(chunks))
        self._chunks = chunks

    def _make(self, rows: slice) -> list[str]:
        pairs = zip(self._chunks.documents_of(rows), self._chunks[rows], strict=True)
        return [embedded_text(document, chunk) for document, chunk in pairs]


def chunk_tables(documents: Sequence[Document], chunker: Chunker) -> Iterator[pd.DataFrame]:
    """The parts of the table `chunks`, each of as many documents as are tokenised together."""
    for group in groups(enumerate(documents), lambda numbered: len(numbered[1].text)):
        texts = [document.text for _, document in group]
        tokenise(texts, chunker.vocabulary)
        budget = tokenise(texts, BUDGET_VOCABULARY)
        found = [chunker.split(document) for _, document in group]
        yield _chunk_table([place for place, _ in group], found, budget)


def _chunk_table(places: list[int], found_in: list[list[Chunk]], budget: list[Tokens]) -> pd.DataFrame:
    found = [chunk for chunks in found_in for chunk in chunks]
    edges = np.array([(chunk.start, chunk.end, *chunk.delivered) for chunk in found], dtype=np.int64).reshape(-1, 4)
    many = [len(chunks) for chunks in found_in]
    delivered = np.split(edges[:, 2:], np.cumsum(many)[:-1])
    counts = [tokens.before(part[:, 1]) - tokens.before(part[:, 0]) for tokens, part in zip(budget, delivered, strict=True)]
    return pd.DataFrame(
        {
            "doc": np.repeat(np.array(places, dtype=np.int64), many),
            **dict(zip(("start", "end", "delivered_start", "delivered_end"), edges.T, strict=True)),
            "header": pd.array([chunk.header for chunk in found], dtype="str"),
            "tokens": np.concatenate(counts),
        }
    )
