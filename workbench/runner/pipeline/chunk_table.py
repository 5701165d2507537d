"""A table of chunks for later stages. Records, ids and inputs are made on reading, since lists of them would take gigabytes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

import numpy as np
import pandas as pd

from workbench.components.chunking.base import Chunker
from workbench.core.records import Chunk, Document
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, Ints, Tokens, groups, tokenise

T = TypeVar("T", covariant=True)
_BLOCK = 4_096


class LazySequence(Sequence[T]):
    """A sequence of `length` items that calls `make` for the items of a slice."""

    def __init__(self, length: int, make: Callable[[slice], list[T]]) -> None:
        self._length, self._make = length, make

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
        for first in range(0, self._length, _BLOCK):
            yield from self._make(slice(first, min(first + _BLOCK, self._length)))


class Chunks(LazySequence[Chunk]):
    """The chunk records of a table."""

    def __init__(self, documents: Sequence[Document], table: pd.DataFrame) -> None:
        columns: list[Ints] = [table[name].to_numpy(np.int64) for name in ("doc", "start", "end", "delivered_start", "delivered_end")]
        # Most chunks have no header, or the same one as their neighbours.
        header_numbers, distinct = pd.factorize(table["header"])
        headers: list[str] = list(distinct)

        # The closure does not refer to the object, which would then survive until the garbage collector runs.
        def records(rows: slice) -> list[Chunk]:
            values = zip(*(column[rows].tolist() for column in [*columns, header_numbers]), strict=True)
            return [
                Chunk(documents[doc], start, end, headers[header], (low, high) if (low, high) != (start, end) else None)
                for doc, start, end, low, high, header in values
            ]

        super().__init__(len(table), records)

    @property
    def ids(self) -> Sequence[str]:
        return LazySequence(len(self), lambda rows: [chunk.chunk_id for chunk in self[rows]])

    @property
    def inputs(self) -> Sequence[str]:
        """Return the texts to embed: each chunk's header and slice."""
        return LazySequence(len(self), lambda rows: [chunk.embedded_text for chunk in self[rows]])


def slice_numbers(table: pd.DataFrame) -> Ints:
    """Number the slice that each chunk delivers, with equal numbers for equal slices: int64 (chunks)."""
    return np.asarray(table.groupby(["doc", "delivered_start", "delivered_end"], sort=False).ngroup(), dtype=np.int64)


def chunk_tables(documents: Sequence[Document], chunker: Chunker) -> Iterator[pd.DataFrame]:
    """Yield the table `chunks` in parts, one for each group of documents that are tokenised together."""
    for group in groups(enumerate(documents), lambda numbered: len(numbered[1].text)):
        texts = [document.text for _, document in group]
        tokenise(texts, chunker.vocabulary)
        budget = tokenise(texts, BUDGET_VOCABULARY)
        chunks = [chunker.split(document) for _, document in group]
        yield _chunk_table([place for place, _ in group], chunks, budget)


def _chunk_table(places: list[int], chunks_of: list[list[Chunk]], budget: list[Tokens]) -> pd.DataFrame:
    chunks = [chunk for group in chunks_of for chunk in group]
    edges = np.array([(chunk.start, chunk.end, *chunk.delivered) for chunk in chunks], dtype=np.int64).reshape(-1, 4)
    counts = [len(group) for group in chunks_of]
    delivered = np.split(edges[:, 2:], np.cumsum(counts)[:-1])
    tokens = [text.before(part[:, 1]) - text.before(part[:, 0]) for text, part in zip(budget, delivered, strict=True)]
    return pd.DataFrame(
        {
            "doc": np.repeat(np.array(places, dtype=np.int64), counts),
            **dict(zip(("start", "end", "delivered_start", "delivered_end"), edges.T, strict=True)),
            "header": pd.array([chunk.header for chunk in chunks], dtype="str"),
            "tokens": np.concatenate(tokens),
        }
    )
