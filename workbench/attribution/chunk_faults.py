"""Faults of a chunking that can be counted without asking a question."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from workbench.chunking.text.outline import outline
from workbench.execution.local import Result
from workbench.metrics.coverage import Bools, Ints, Union
from workbench.metrics.inputs import Labels
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import embedder_inputs

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


def diagnose(bench: RunContext, result: Result) -> list[ChunkFault]:
    """All faults of a configuration's chunks."""
    chunks = result.chunks.table("chunks")
    return [
        *_window(bench, result, chunks),
        *_cut_evidence(bench, chunks),
        *_sizes(bench, chunks),
        _duplicates(bench, chunks),
        _dropped(bench, chunks),
    ]


def _window(bench: RunContext, result: Result, chunks: pd.DataFrame) -> Iterator[ChunkFault]:
    if result.window is None:
        return
    beyond = result.truncated
    told = f"the input with special tokens and header has more than the embedder's {result.window} tokens"
    yield ChunkFault("longer than the window", int((beyond > 0).sum()), len(chunks), "chunks", told, _ids(bench, chunks, beyond > 0))
    total = int(result.lengths.sum())
    yield ChunkFault("tokens never embedded", int(beyond.sum()), total, "tokens", "what lies beyond the window is never seen")


def _cut_evidence(bench: RunContext, chunks: pd.DataFrame) -> Iterator[ChunkFault]:
    needs = bench.dataset.needs
    if not needs:
        return
    split = np.flatnonzero(~whole_needs(bench, chunks))
    asked = dict.fromkeys(needs[place].query_id for place in split)
    told = "no chunk, as it is delivered, holds any of the need's alternatives whole"
    yield ChunkFault("evidence cut by a boundary", len(split), len(needs), "needs", told, tuple(asked)[:_EXAMPLES])


def whole_needs(bench: RunContext, chunks: pd.DataFrame) -> Bools:
    """(needs) whether some delivered slice holds one of the need's alternatives whole, blanks at its borders aside."""
    labels = bench.labels
    held: Bools = np.bincount(labels.alternative_need[whole_alternatives(labels, chunks)], minlength=len(labels.need_query)) > 0
    return held


def whole_alternatives(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """(alternatives) whether some delivered slice holds the alternative whole, blanks at its borders aside."""
    offsets = labels.offsets[chunks["doc"].to_numpy()]
    starts = labels.solid(offsets + chunks["delivered_start"].to_numpy())
    ends = labels.solid(offsets + chunks["delivered_end"].to_numpy())
    order = np.argsort(starts, kind="stable")
    # Of all slices that start at or before a span, the one that reaches farthest decides.
    reach = np.concatenate([[-1], np.maximum.accumulate(ends[order])])
    before = np.searchsorted(starts[order], labels.solid(labels.alternative_start), side="right")
    whole: Bools = reach[before] >= labels.solid(labels.alternative_end)
    return whole


def _sizes(bench: RunContext, chunks: pd.DataFrame) -> Iterator[ChunkFault]:
    labels = bench.labels
    offsets = labels.offsets[chunks["doc"].to_numpy()]
    borders = [np.searchsorted(labels.token_starts, offsets + chunks[side].to_numpy()) for side in ("start", "end")]
    small = borders[1] - borders[0] < FEWEST_TOKENS
    told = f"fewer than {FEWEST_TOKENS} tokens of text, header not counted"
    yield ChunkFault("too small", int(small.sum()), len(chunks), "chunks", told, _ids(bench, chunks, small))
    several = _several_topics(bench, chunks)
    if several is None:
        yield ChunkFault("several topics", 0, 0, "chunks", "not counted: no document has headings that would tell topics apart")
        return
    told = f"two or more headed sections each hold at least {SECOND_TOPIC:.0%} of the chunk's characters"
    yield ChunkFault("several topics", int(several.sum()), len(chunks), "chunks", told, _ids(bench, chunks, several))


def _several_topics(bench: RunContext, chunks: pd.DataFrame) -> Bools | None:
    """(chunks) whether a chunk covers several sections; None where no document has headings."""
    found = np.zeros(len(chunks), dtype=np.bool_)
    any_headings = False
    docs = chunks["doc"].to_numpy()
    places, firsts = np.unique(docs, return_index=True)
    # The chunks of a document stand together.
    for place, rows in zip(places.tolist(), np.split(np.arange(len(docs)), firsts[1:]), strict=True):
        borders = _sections(bench.labels)[place]
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


def _duplicates(bench: RunContext, chunks: pd.DataFrame) -> ChunkFault:
    again = pd.Series(list(embedder_inputs(bench, chunks))).duplicated().to_numpy()
    told = "the embedded text equals that of an earlier chunk, so that only the tie breaker orders them"
    return ChunkFault("exact duplicates", int(again.sum()), len(chunks), "chunks", told, _ids(bench, chunks, again))


def _dropped(bench: RunContext, chunks: pd.DataFrame) -> ChunkFault:
    labels = bench.labels
    starts, ends = (labels.offsets[chunks["doc"].to_numpy()] + chunks[side].to_numpy() for side in ("start", "end"))
    # The empty position after each document counts as held, so that no gap reaches from one into the next.
    held = Union.of(np.concatenate([starts, labels.offsets[1:] - 1]), np.concatenate([ends, labels.offsets[1:]]))
    lows, highs = np.concatenate([labels.offsets[:1], held.ends[:-1]]), held.starts
    docs = np.searchsorted(labels.offsets, lows, side="right") - 1
    gaps = zip(docs.tolist(), (lows - labels.offsets[docs]).tolist(), (highs - labels.offsets[docs]).tolist(), strict=True)
    outside = [(doc, many) for doc, low, high in gaps if (many := _solid(labels.texts[doc][low:high]))]
    lost, total = sum(many for _, many in outside), sum(_solid(text) for text in labels.texts)
    examples = [bench.dataset.documents[doc].doc_id for doc in dict.fromkeys(doc for doc, _ in outside)]
    told = "characters other than blanks that the splitter left out of every chunk: no question can find them"
    return ChunkFault("text in no chunk", lost, total, "characters", told, tuple(examples[:_EXAMPLES]))


def _solid(text: str) -> int:
    """How many characters are not blank."""
    return sum(map(len, text.split()))


def _ids(bench: RunContext, chunks: pd.DataFrame, chosen: Bools) -> tuple[str, ...]:
    rows = chunks[chosen][:_EXAMPLES]
    ids = [bench.dataset.documents[doc].doc_id for doc in rows["doc"]]
    return tuple(f"{doc_id}:{start}-{end}" for doc_id, start, end in zip(ids, rows["start"], rows["end"], strict=True))
