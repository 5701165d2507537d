"""Faults of a chunking that can be counted without asking a question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from workbench.attribution.evidence_state import whole_needs
from workbench.chunking.text.outline import outline
from workbench.metrics.coverage import Bools, Ints, Union
from workbench.metrics.inputs import Labels
from workbench.records import Dataset

# A short sentence; below it a chunk says little of its own.
FEWEST_TOKENS = 16
# The share of a chunk's characters from which a second section counts.
SECOND_TOPIC = 0.2
_EXAMPLES = 3


@dataclass(frozen=True)
class ChunkFault:
    """A fault: how many of how many things have it, how it is defined, and the first of them."""

    name: str
    found: int
    of: int
    unit: str
    definition: str
    examples: tuple[str, ...] = ()


def chunk_faults(
    labels: Labels, dataset: Dataset, chunks: pd.DataFrame, inputs: Sequence[str], lengths: Ints, window: int | None
) -> list[ChunkFault]:
    """All faults of a configuration's chunks.

    `inputs` (chunks) is what is embedded of each chunk, and `lengths` (chunks) its tokens before the embedder's `window` cut it; no window
    where nothing is embedded, or all of it.
    """
    table = _ChunkTable(dataset, chunks)
    return [
        *(_window(table, lengths, window) if window is not None else ()),
        *_cut_evidence(labels, table),
        *_sizes(labels, table),
        _duplicates(table, inputs),
        _left_out(labels, table),
    ]


@dataclass(frozen=True)
class _ChunkTable:
    """The chunks of a dataset."""

    dataset: Dataset
    chunks: pd.DataFrame

    def examples(self, chosen: Bools) -> tuple[str, ...]:
        """The first chosen chunks, as `doc_id:start-end`."""
        rows = self.chunks[chosen][:_EXAMPLES]
        ids = [self.dataset.documents[doc].doc_id for doc in rows["doc"]]
        return tuple(f"{doc_id}:{start}-{end}" for doc_id, start, end in zip(ids, rows["start"], rows["end"], strict=True))


def _window(table: _ChunkTable, lengths: Ints, window: int) -> Iterator[ChunkFault]:
    beyond = np.maximum(lengths - window, 0)
    told = f"the input with special tokens and header has more than the embedder's {window} tokens"
    many = int((beyond > 0).sum())
    yield ChunkFault("longer than the window", many, len(lengths), "chunks", told, table.examples(beyond > 0))
    total = int(lengths.sum())
    yield ChunkFault("tokens never embedded", int(beyond.sum()), total, "tokens", "what lies beyond the window is never seen")


def _cut_evidence(labels: Labels, table: _ChunkTable) -> Iterator[ChunkFault]:
    needs = table.dataset.needs
    if not needs:
        return
    split = np.flatnonzero(~whole_needs(labels, table.chunks))
    asked = dict.fromkeys(needs[place].query_id for place in split)
    told = "no chunk, as it is delivered, holds any of the need's alternatives whole"
    yield ChunkFault("evidence cut by a boundary", len(split), len(needs), "needs", told, tuple(asked)[:_EXAMPLES])


def _sizes(labels: Labels, table: _ChunkTable) -> Iterator[ChunkFault]:
    chunks = table.chunks
    offsets = labels.offsets[chunks["doc"].to_numpy()]
    borders = [np.searchsorted(labels.token_starts, offsets + chunks[side].to_numpy()) for side in ("start", "end")]
    small = borders[1] - borders[0] < FEWEST_TOKENS
    told = f"fewer than {FEWEST_TOKENS} tokens of text, header not counted"
    yield ChunkFault("too small", int(small.sum()), len(chunks), "chunks", told, table.examples(small))
    several = _several_topics(labels, chunks)
    if several is None:
        yield ChunkFault("several topics", 0, 0, "chunks", "not counted: no document has headings that would tell topics apart")
        return
    told = f"two or more headed sections each hold at least {SECOND_TOPIC:.0%} of the chunk's characters"
    yield ChunkFault("several topics", int(several.sum()), len(chunks), "chunks", told, table.examples(several))


def _several_topics(labels: Labels, chunks: pd.DataFrame) -> Bools | None:
    """(chunks) whether a chunk covers several sections; None where no document has headings."""
    found = np.zeros(len(chunks), dtype=np.bool_)
    any_headings = False
    docs = chunks["doc"].to_numpy()
    places, firsts = np.unique(docs, return_index=True)
    # The chunks of a document stand together.
    for place, rows in zip(places.tolist(), np.split(np.arange(len(docs)), firsts[1:]), strict=True):
        borders = _sections(labels)[place]
        any_headings = any_headings or len(borders) > 2
        if len(borders) > 2:
            starts, ends = (chunks[side].to_numpy()[rows][:, None] for side in ("start", "end"))
            held = np.diff(np.clip(borders[None, :], starts, ends), axis=1)
            second = np.sort(held, axis=1)[:, -2]
            found[rows] = second >= SECOND_TOPIC * (ends - starts)[:, 0]
    return found if any_headings else None


@lru_cache(maxsize=4)
def _sections(labels: Labels) -> tuple[Ints, ...]:
    """The section borders of every document: they are the same for every configuration."""
    return tuple(section_borders(text) for text in labels.texts)


def section_borders(text: str) -> Ints:
    """Where the sections of a text begin, and its end; a heading with nothing under it belongs to the section that follows."""
    borders, headed = [0], False
    for heading in outline(text):
        above = text[borders[-1] : heading.start]
        # Below its first line, if that is a heading.
        if (above.lstrip().partition("\n")[2] if headed else above).strip():
            borders.append(heading.start)
        headed = True
    return np.array([*borders, len(text)], dtype=np.int64)


def _duplicates(table: _ChunkTable, inputs: Sequence[str]) -> ChunkFault:
    again = pd.Series(list(inputs)).duplicated().to_numpy()
    told = "the embedded text equals that of an earlier chunk, so that only the tie breaker orders them"
    return ChunkFault("exact duplicates", int(again.sum()), len(again), "chunks", told, table.examples(again))


def _left_out(labels: Labels, table: _ChunkTable) -> ChunkFault:
    chunks = table.chunks
    starts, ends = (labels.offsets[chunks["doc"].to_numpy()] + chunks[side].to_numpy() for side in ("start", "end"))
    # The empty position after each document counts as held, so that no gap reaches from one into the next.
    held = Union.of(np.concatenate([starts, labels.offsets[1:] - 1]), np.concatenate([ends, labels.offsets[1:]]))
    lows, highs = np.concatenate([labels.offsets[:1], held.ends[:-1]]), held.starts
    docs = np.searchsorted(labels.offsets, lows, side="right") - 1
    gaps = zip(docs.tolist(), (lows - labels.offsets[docs]).tolist(), (highs - labels.offsets[docs]).tolist(), strict=True)
    outside = [(doc, many) for doc, low, high in gaps if (many := _solid(labels.texts[doc][low:high]))]
    lost, total = sum(many for _, many in outside), sum(_solid(text) for text in labels.texts)
    examples = [table.dataset.documents[doc].doc_id for doc in dict.fromkeys(doc for doc, _ in outside)]
    told = "characters other than blanks that the splitter left out of every chunk: no question can find them"
    return ChunkFault("text in no chunk", lost, total, "characters", told, tuple(examples[:_EXAMPLES]))


def _solid(text: str) -> int:
    """How many characters are not blank."""
    return sum(map(len, text.split()))
