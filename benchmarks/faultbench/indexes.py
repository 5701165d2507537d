"""Sound pipelines on a dataset, and their broken indexes, each with one stage up to the search broken for all queries."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.faultbench.pipeline import BenchPipeline
from benchmarks.faultbench.run import Bench, BenchIndex, BrokenChunker, WindowedBM25Retriever
from workbench.components.chunking.base import Chunker
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.core.records import Dataset, Document, Span

DEEPEST = 20
_BATCHES = 6
_FRACTIONS = {"third": 1 / 3, "half": 1 / 2, "two-thirds": 2 / 3, "last-word": 1.0}
_WINDOWS = (16, 32, 64, 128)
_COPIES = 3
# The depth that the largest k needs with copies of every chunk.
LISTED = DEEPEST * _COPIES
_SOUND = BM25Retriever(k=DEEPEST)
# Unchanged words and raw term counts, like a naive hand-written search.
_WORSE = {
    "words-as-they-stand": BM25Retriever(k=DEEPEST, stopwords="none", stemmer="none"),
    "raw-counts": BM25Retriever(k=DEEPEST, stopwords="none", stemmer="none", k1=100.0, b=0.0),
}


class Base(NamedTuple):
    """A sound pipeline, named by its chunks and k, and the broken indexes, by cause and variant, that can replace its index."""

    name: str
    sound: BenchPipeline
    broken: Mapping[str, Mapping[str, BenchIndex]]


def bases_of(dataset: Dataset, chunkers: Sequence[Chunker], depths: Sequence[int], seed: int) -> list[Base]:
    """Build a base for each chunker and each k in `depths`.

    not_indexed: a random sixth of the documents is left out. boundary: every evidence span is cut at a share of its length. window:
    only the first tokens of a chunk are searched. duplicate: every chunk occurs three times. rank: a worse search over the same chunks.
    """
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(dataset, Path(folder), LISTED)
        indexed = [(chunker.name, bench.index(chunker, _SOUND), _broken(bench, chunker, seed)) for chunker in chunkers]
    return [Base(f"{name}-k{k}", BenchPipeline(sound, k), broken) for k in depths for name, sound, broken in indexed]


def _broken(bench: Bench, chunker: Chunker, seed: int) -> dict[str, dict[str, BenchIndex]]:
    batches = enumerate(_batches(bench.dataset.documents, seed))
    chunkers = {
        "not_indexed": {f"batch-{number}": BrokenChunker(chunker=chunker, left_out=frozenset(batch)) for number, batch in batches},
        "boundary": {name: BrokenChunker(chunker=chunker, cuts=_cuts(bench.dataset, share)) for name, share in _FRACTIONS.items()},
        "duplicate": {f"{_COPIES}-copies": BrokenChunker(chunker=chunker, copies=_COPIES)},
    }
    windows = {f"{window}-tokens": WindowedBM25Retriever(k=DEEPEST, window=window) for window in _WINDOWS}
    broken = {cause: {name: bench.index(variant, _SOUND) for name, variant in variants.items()} for cause, variants in chunkers.items()}
    for cause, retrievers in (("window", windows), ("rank", _WORSE)):
        broken[cause] = {name: bench.index(chunker, retriever) for name, retriever in retrievers.items()}
    return broken


def _batches(documents: Sequence[Document], seed: int) -> list[set[str]]:
    ids = sorted(document.doc_id for document in documents)
    random.Random(f"{seed} batches").shuffle(ids)
    count = min(_BATCHES, len(ids))
    return [set(ids[first::count]) for first in range(count)] if count > 1 else []


def _cuts(dataset: Dataset, share: float) -> frozenset[tuple[str, int]]:
    texts = {document.doc_id: document.text for document in dataset.documents}
    spans = [span for need in dataset.needs for span in need.alternatives if span.end - span.start > 1]
    return frozenset((span.doc_id, _inside(texts[span.doc_id], span, share)) for span in spans)


def _inside(text: str, span: Span, share: float) -> int:
    """A position inside a span, at a share of its length or at the last blank before it."""
    position = span.start + max(1, int((span.end - span.start) * share))
    blank = text.rfind(" ", span.start + 1, position)
    return position if blank < 0 else blank
