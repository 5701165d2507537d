"""The distinct slices that the chunks of a configuration deliver, as passages of their documents, and the neighbours of hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.components.context.packing import Ints
from workbench.components.context.question_labels import missing_characters, passage_of
from workbench.core.records import Document, Passage


def with_neighbours(hits: pd.DataFrame, doc: Ints, neighbours: int) -> pd.DataFrame:
    """Return query, rank, chunk, score with each hit followed by its neighbours, the nearest first and of these the preceding one.

    `doc` (int64, chunks) is each chunk's document; its chunks are consecutive. A neighbour has the score of its hit. A chunk that is already
    in the query's ranking is not repeated.
    """
    hits = hits.sort_values(["query", "rank"], kind="stable", ignore_index=True)
    offsets = np.array([0, *(side * distance for distance in range(1, neighbours + 1) for side in (-1, 1))])
    own = hits["chunk"].to_numpy(np.int64)[:, None]
    chunks = own + offsets
    inside = (chunks >= 0) & (chunks < len(doc))
    inside &= doc[np.where(inside, chunks, own)] == doc[own]
    rows = hits.iloc[np.nonzero(inside)[0]].assign(chunk=chunks[inside])
    rows = rows.drop_duplicates(["query", "chunk"], ignore_index=True)
    return rows.assign(rank=rows.groupby("query").cumcount() + 1)[["query", "rank", "chunk", "score"]]


@dataclass(frozen=True, eq=False)
class DeliveredSlices:
    """The s slices, sorted by document and start: `doc`, `start`, `end` (s). `first` (documents + 1) is the row of each document's first."""

    documents: Sequence[Document]
    doc: Ints
    start: Ints
    end: Ints
    first: Ints

    @classmethod
    def of(cls, documents: Sequence[Document], chunks: pd.DataFrame) -> "DeliveredSlices":
        """Read a chunk table with `doc`, `delivered_start`, `delivered_end`."""
        columns = [chunks[name].to_numpy(np.int64) for name in ("doc", "delivered_start", "delivered_end")]
        doc, start, end = np.unique(np.stack(columns, axis=1).reshape(-1, 3), axis=0).T
        return cls(documents, doc, start, end, np.searchsorted(doc, np.arange(len(documents) + 1)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.doc)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {document.doc_id: index for index, document in enumerate(self.documents)}

    def passage(self, row: int) -> Passage:
        return passage_of(self.documents[self.doc[row]], int(self.start[row]), int(self.end[row]))

    def around(self, span: Passage) -> list[Passage]:
        """Return the slices that share a character with a span, by start."""
        place = self._places[span.doc_id]
        rows = slice(self.first[place], self.first[place + 1])
        shared = np.flatnonzero((self.start[rows] < span.end) & (span.start < self.end[rows])) + self.first[place]
        return [self.passage(row) for row in shared.tolist()]

    def of_document(self, doc_id: str) -> list[Passage]:
        """Return the slices of a document, by start."""
        place = self._places[doc_id]
        return [self.passage(row) for row in range(self.first[place], self.first[place + 1])]


def fewest_covering(span: Passage, slices: Sequence[Passage]) -> list[Passage]:
    """Return the fewest slices that contain what they can of a span, without blanks. `slices` share characters with it and are sorted by start.

    Of several slices that contain all of it, this is the one with the most text on both sides.
    """
    whole = [slice_ for slice_ in slices if missing_characters(span, [slice_]) == 0]
    if whole:
        return [max(whole, key=lambda slice_: min(span.start - slice_.start, slice_.end - span.end))]
    chosen: list[Passage] = []
    for slice_ in slices:
        # An earlier choice is not needed if its neighbours meet without it.
        while len(chosen) > 1 and _meet(chosen[-2], slice_, span):
            chosen.pop()
        if not chosen or slice_.end > chosen[-1].end:
            chosen.append(slice_)
    return chosen


def _meet(one: Passage, other: Passage, span: Passage) -> bool:
    gap = span.text[max(one.end - span.start, 0) : max(other.start - span.start, 0)]
    return not gap.strip()
