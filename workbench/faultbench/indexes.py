"""The sound index of a dataset and the broken ones: each has one stage before the search done wrong, for all queries alike."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.chunking.base import Chunker, embedded_text
from workbench.faultbench.cases import IndexedChunk
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.records import Chunk, Dataset, Document, Span
from workbench.retrieval.base import Corpus, QueryBatch, SearchDepth
from workbench.retrieval.bm25 import Bm25Retriever
from workbench.retrieval.rank import tie_breakers

DEEPEST = 20
_BATCHES = 6
_FRACTIONS = {"third": 1 / 3, "half": 1 / 2, "two-thirds": 2 / 3}
_WINDOWS = (16, 32, 64, 128)
_SOUND = Bm25Retriever(k=DEEPEST)
# Words as they stand, and a word counts as often as it occurs: the ranking of somebody's own first search.
_WORSE = {
    "words-as-they-stand": Bm25Retriever(k=DEEPEST, stopwords="none", stemmer="none"),
    "raw-counts": Bm25Retriever(k=DEEPEST, stopwords="none", stemmer="none", k1=100.0, b=0.0),
}


@dataclass(frozen=True)
class Index:
    """Documents, their chunks as they are searched, and for each query_id the best chunks: (place in entries, score), at most 20."""

    documents: Mapping[str, str]
    entries: tuple[IndexedChunk, ...]
    window: int | None
    best: Mapping[str, tuple[tuple[int, float], ...]]


@dataclass(frozen=True)
class Indexes:
    """One chunking's sound index, and by cause and variant the broken ones."""

    name: str
    sound: Index
    broken: Mapping[str, Mapping[str, Index]]


def indexes_of(dataset: Dataset, chunker: Chunker, seed: int) -> Indexes:
    """All indexes of a dataset by one chunker.

    not_indexed: a sixth of the documents, by lot, was left out. boundary: every evidence span is cut at a share of its length. window:
    only the first tokens of a chunk are searched. rank: a worse search over the same chunks.
    """
    documents = dataset.documents
    chunks = [chunk for document in documents for chunk in chunker.split(document)]
    batches = enumerate(_batches(documents, seed))
    broken = {
        "not_indexed": {f"batch-{number}": _without(dataset, chunks, batch) for number, batch in batches},
        "boundary": {name: build(dataset, documents, _cut(dataset, chunks, share)) for name, share in _FRACTIONS.items()},
        "window": {f"{window}-tokens": build(dataset, documents, chunks, window=window) for window in _WINDOWS},
        "rank": {name: build(dataset, documents, chunks, retriever=worse) for name, worse in _WORSE.items()},
    }
    return Indexes(chunker.name, build(dataset, documents, chunks), broken)


def build(
    dataset: Dataset,
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    window: int | None = None,
    retriever: Bm25Retriever = _SOUND,
) -> Index:
    """The index of some documents' chunks, searched for all queries; `window` counts tokens of a chunk without its header."""
    texts = {document.doc_id: document for document in documents}
    starts = dict(zip(texts, (tokens.starts for tokens in tokenise([each.text for each in documents], BUDGET_VOCABULARY)), strict=True))
    entries = tuple(_entry(chunk, starts[chunk.doc_id], window) for chunk in chunks)
    seen = [Chunk(entry.chunk.doc_id, entry.chunk.start, entry.seen_end, entry.chunk.header) for entry in entries]
    searched = [embedded_text(texts[chunk.doc_id], chunk) for chunk in seen]
    best = _search(dataset, list(texts), [entry.chunk for entry in entries], searched, retriever)
    return Index({doc_id: document.text for doc_id, document in texts.items()}, entries, window, best)


def _entry(chunk: Chunk, token_starts: "np.typing.NDArray[np.int64]", window: int | None) -> IndexedChunk:
    first, last = (int(place) for place in np.searchsorted(token_starts, [chunk.start, chunk.end]))
    unseen = window is not None and last - first > window
    return IndexedChunk(chunk, int(token_starts[first + (window or 0)]) if unseen else chunk.end, last - first)


def _search(
    dataset: Dataset, doc_ids: list[str], chunks: Sequence[Chunk], texts: Sequence[str], retriever: Bm25Retriever
) -> dict[str, tuple[tuple[int, float], ...]]:
    places = {doc_id: place for place, doc_id in enumerate(doc_ids)}
    ids = [chunk.chunk_id for chunk in chunks]
    searchable = Corpus(
        ids=ids,
        doc=np.array([places[chunk.doc_id] for chunk in chunks], dtype=np.int64),
        group=np.arange(len(chunks)),
        tokens=np.ones(len(chunks), dtype=np.int64),
        chunk_breakers=tie_breakers(ids),
        document_breakers=tie_breakers(doc_ids),
        texts=texts,
    )
    asked = QueryBatch([query.text for query in dataset.queries])
    hits = retriever.retrieve(asked, searchable, SearchDepth(DEEPEST, 0, 1)).hits
    hits = hits[hits["rank"] <= DEEPEST]
    found: dict[str, list[tuple[int, float]]] = {query.query_id: [] for query in dataset.queries}
    for query, chunk, score in zip(hits["query"].tolist(), hits["chunk"].tolist(), hits["score"].tolist(), strict=True):
        found[dataset.queries[query].query_id].append((chunk, score))
    return {query_id: tuple(best) for query_id, best in found.items()}


def _batches(documents: Sequence[Document], seed: int) -> list[set[str]]:
    """The documents by lot in at most six batches; none where there is but one document."""
    ids = sorted(document.doc_id for document in documents)
    random.Random(f"{seed} batches").shuffle(ids)
    count = min(_BATCHES, len(ids))
    return [set(ids[first::count]) for first in range(count)] if count > 1 else []


def _without(dataset: Dataset, chunks: Sequence[Chunk], dropped: set[str]) -> Index:
    kept = [document for document in dataset.documents if document.doc_id not in dropped]
    return build(dataset, kept, [chunk for chunk in chunks if chunk.doc_id not in dropped])


def _cut(dataset: Dataset, chunks: Sequence[Chunk], share: float) -> list[Chunk]:
    """The chunks, cut once more inside every evidence span that they reach into."""
    texts = {document.doc_id: document.text for document in dataset.documents}
    cuts: dict[str, set[int]] = {doc_id: set() for doc_id in texts}
    for need in dataset.needs:
        for span in need.alternatives:
            if span.end - span.start > 1:
                cuts[span.doc_id].add(_inside(texts[span.doc_id], span, share))
    return [part for chunk in chunks for part in _parts(texts[chunk.doc_id], chunk, cuts[chunk.doc_id])]


def _inside(text: str, span: Span, share: float) -> int:
    """A position inside a span, at a share of its length or at the last blank before that."""
    position = span.start + max(1, int((span.end - span.start) * share))
    blank = text.rfind(" ", span.start + 1, position)
    return position if blank < 0 else blank


def _parts(text: str, chunk: Chunk, cuts: set[int]) -> list[Chunk]:
    edges = [chunk.start, *sorted(cut for cut in cuts if chunk.start < cut < chunk.end), chunk.end]
    parts = [(start, end) for start, end in itertools.pairwise(edges) if text[start:end].strip()]
    return [Chunk(chunk.doc_id, start, end, chunk.header if start == chunk.start else "") for start, end in parts]
