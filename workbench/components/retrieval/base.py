"""The base of retrievers: a corpus to search, the depth of a search, and tables of rankings."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
from pydantic import Field

from workbench.components.retrieval.rank import NO_KEY, Bools, Floats, first_seen, order_keys, rounded, top
from workbench.core import batching
from workbench.core.errors import RunError
from workbench.core.records import TokenCut
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.formatting import plural
from workbench.llm.models.component import ModelComponent
from workbench.llm.models.tokenizers import Ints

T = TypeVar("T")
NO_SOURCES = pd.DataFrame(
    {
        name: pd.Series(dtype=dtype)
        for name, dtype in zip(("query", "chunk", "retriever", "rank", "score"), ("int64", "int64", "str", "int64", "float64"), strict=True)
    }
)
# Opens an index and gives a function that searches it for the query at a position, to measure the time of one query.
SingleSearch = Callable[[], AbstractContextManager[Callable[[int], object]]]


@dataclass(frozen=True)
class DocumentFilters:
    """The documents that queries may find: f filters as `masks` bool (f, documents), and each query's filter int64 (q), -1 for none."""

    numbers: Ints
    masks: Bools

    @cached_property
    def identity(self) -> list[str]:
        """Return hashes of both."""
        return [hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest() for array in (self.numbers, self.masks)]


@dataclass(frozen=True)
class QueryBatch:
    """The q queries: their texts, and their vectors float32 (q, dimension) if the retriever uses them.

    `filters` are applied by `retrieval.filtered`: a retriever gets queries without filters. A rewriter can give each query weighted `words`,
    which retrievers of words search in place of the text. `members` has the queries that it changed for members of a retriever, by name.
    """

    texts: Sequence[str]
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    filters: DocumentFilters | None = None
    words: Sequence[Mapping[str, float]] | None = None
    members: Mapping[str, "QueryBatch"] = field(default_factory=dict)

    def some(self, queries: Ints) -> "QueryBatch":
        """Return the queries at these positions."""
        places = queries.tolist()
        return replace(
            self,
            texts=[self.texts[query] for query in places],
            vectors=self.vectors[queries] if len(self.vectors) else self.vectors,
            filters=replace(self.filters, numbers=self.filters.numbers[queries]) if self.filters else None,
            words=None if self.words is None else [self.words[query] for query in places],
            members={name: batch.some(queries) for name, batch in self.members.items()},
        )

    def of(self, member: str) -> "QueryBatch":
        """Return the queries for a member of a retriever."""
        return self.members.get(member, self)

    def with_member(self, path: Sequence[str], queries: "QueryBatch") -> "QueryBatch":
        """Return the batch with the queries of a member, which is named by the path from the outermost retriever."""
        if not path:
            return queries
        return replace(self, members={**self.members, path[0]: self.of(path[0]).with_member(path[1:], queries)})


@dataclass(frozen=True)
class Corpus:
    """The n chunks to search, in order of their documents, with their ids and vectors.

    `doc` (int64, n) is each chunk's document; `group` (int64, n) numbers the slice that the chunk delivers, so that children
    of one parent share it; `tokens` (int64, n) is the slice's cost. The tie breakers order ids (chunks n, documents m). `texts` are
    the chunks' texts with their headers. Retrievers that use vectors get `vectors` (n, dimension) and Chroma's folder `index`.
    A part of a corpus has the `rows` (int64, n) of its chunks in the whole corpus, whose texts are `all_texts`.
    """

    ids: Sequence[str]
    doc: Ints
    group: Ints
    tokens: Ints
    chunk_breakers: Ints
    document_breakers: Ints
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    index: Path | None = None
    texts: Sequence[str] = ()
    all_texts: Sequence[str] = ()
    rows: Ints | None = None

    def part(self, rows: Ints) -> "Corpus":
        """Return the chunks at these positions, in order. `index` still contains the whole corpus."""
        indices = rows.tolist()
        return replace(
            self,
            ids=[self.ids[index] for index in indices],
            doc=self.doc[rows],
            group=self.group[rows],
            tokens=self.tokens[rows],
            chunk_breakers=self.chunk_breakers[rows],
            vectors=self.vectors[rows] if len(self.vectors) else self.vectors,
            texts=[self.texts[index] for index in indices] if len(self.texts) else (),
            all_texts=self.texts,
            rows=rows,
        )

    @cached_property
    def _by_hash(self) -> tuple[Ints, Ints]:
        hashes = _hashes(self.ids)
        order = np.argsort(hashes, kind="stable").astype(np.int64)
        return hashes[order], order

    def places(self, ids: Sequence[str]) -> Ints:
        """Return the positions of ids in the corpus: int64 (n)."""
        # Look up hashes: a table of the ids takes ten times the memory. Two of a million ids share a hash once in 37 million corpora.
        hashes, order = self._by_hash
        return order[np.searchsorted(hashes, _hashes(ids))]


def _hashes(ids: Sequence[str]) -> Ints:
    """Return Python's own hashes, valid only in this process but twenty times as fast as others: int64 (n)."""
    return np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))


@dataclass(frozen=True)
class SearchDepth:
    """The depth of a search: distinct delivered slices, tokens and documents, and `listed` documents if they cost no more.

    `queries` is how many queries of a batch are ranked, the first ones, or None for all: to time `Ranking.single`, few rankings are enough.
    """

    slices: int
    tokens: int
    documents: int
    listed: int = 0
    queries: int | None = None


@dataclass(frozen=True)
class Ranking:
    """The rankings of all queries.

    `hits`: query, rank (from 1), chunk, score. `ranking`: query, rank, doc, score, for distinct documents by their best chunk.
    `queries`: query, spread (standard deviation of the scores over what was searched), top (best score), tied (two of the
    first k chunks have the same score, so that only the tie breaker orders them). `single` searches for one of the queries, as deep as
    delivery and reranking need; None if the retriever has no such search apart from `retrieve`. `sources`: query, chunk, retriever, rank,
    score of each hit in each ranking that was fused.
    """

    hits: pd.DataFrame
    ranking: pd.DataFrame
    queries: pd.DataFrame
    single: SingleSearch | None = None
    sources: pd.DataFrame = field(default_factory=lambda: NO_SOURCES)


class Retriever(ModelComponent, ABC):
    """A way to rank chunks for a query. `k` chunks are delivered, or a number of tokens (`Configuration.delivery`)."""

    # Whether the retriever needs embedded and indexed chunks and queries.
    uses_vectors: ClassVar[bool] = False

    k: int = Field(default=10, ge=1, le=1000, description="The number of chunks to deliver, unless tokens are delivered.")
    deliver: TokenCut | None = Field(
        default=None,
        description="The tokens to deliver, such as `{tokens: 2000}`; by default those of a primary metric such as `span_recall@2000t`, else k chunks.",
    )
    neighbours: int = Field(
        default=0, ge=0, le=10, description="The number of chunks before and after each hit that are delivered with it, counted in k."
    )

    @property
    def members(self) -> Mapping[str, "Retriever"]:
        """Return the retrievers whose rankings this one combines, by name. They get their queries by `QueryBatch.of`."""
        return {}

    @property
    def needs_vectors(self) -> bool:
        """True if these settings need embedded and indexed chunks and queries."""
        return self.uses_vectors

    @property
    def fuses(self) -> bool:
        """True if rankings have `sources`: they are fused from those of several retrievers."""
        return False

    @property
    def fault(self) -> str:
        """Return why the settings do not fit each other, or an empty text."""
        return ""

    def identity(self) -> dict[str, Any]:
        # Rankings do not depend on `deliver`, and `neighbours` are added to them later.
        return {name: value for name, value in super().identity().items() if name not in ("deliver", "neighbours")}

    @property
    def evaluated(self) -> str:
        """Return the search used to evaluate the configuration: `exact`, or `ann` for an approximate index."""
        return "exact"

    @abstractmethod
    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        """Rank the chunks and documents for each query."""

    def searches(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
        """Return the rankings of all measured searches, including the chosen one."""
        return {self.evaluated: self.retrieve(queries, corpus, depth)}


class LexicalRetriever(Retriever):
    """A retriever that compares words, and searches the weighted words `queries.words` in place of the texts if a batch has them."""

    @abstractmethod
    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text in the form in which they are compared."""


def combined(
    searches: Sequence[SingleSearch | None], ask: Callable[[Sequence[Callable[[int], object]], int], object]
) -> SingleSearch | None:
    """Return the search that opens several searches and calls `ask` with them and the position of a query. None if one of them is not known."""
    known = [search for search in searches if search]

    @contextmanager
    def opened() -> Iterator[Callable[[int], object]]:
        with ExitStack() as stack:
            members = [stack.enter_context(search()) for search in known]
            yield lambda index: ask(members, index)

    return opened if len(known) == len(searches) else None


def singly(search: Callable[[T], object], queries: Sequence[T]) -> SingleSearch:
    """Return the search of single queries on an index that is loaded."""
    return lambda: nullcontext(lambda index: search(queries[index]))


def enough(positions: Ints, corpus: Corpus, depth: SearchDepth) -> Ints:
    """Count how many of each row's ranked chunks reach the depth: int64 (rows), or the row's width + 1 if they do not reach it."""
    fresh = first_seen(corpus.group[positions])
    slices = np.cumsum(fresh, axis=1)
    tokens = np.cumsum(np.where(fresh, corpus.tokens[positions], 0), axis=1)
    reached = (slices >= depth.slices) & (tokens >= depth.tokens)
    return np.asarray(np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, positions.shape[1] + 1))


def joined(parts: Sequence[Ranking]) -> Ranking:
    """Join the rankings of several groups of queries in the order of the queries. `single` stays None."""
    hits, ranking, queries, sources = (
        pd.concat([getattr(part, name) for part in parts]).sort_values("query", kind="stable", ignore_index=True)
        for name in ("hits", "ranking", "queries", "sources")
    )
    return Ranking(hits, ranking, queries, sources=sources)


def best_first(scored: pd.DataFrame, corpus: Corpus, queries: int, k: int, single: SingleSearch | None) -> Ranking:
    """Rank the chunks of a table query, chunk, score, each at most once for a query, and their documents by the best of them."""
    scored = scored.assign(score=rounded(scored["score"]), doc=corpus.doc[scored["chunk"].to_numpy(np.int64)])
    documents = scored.groupby(["query", "doc"])["score"].max().reset_index()
    hits = ordered(scored, "chunk", corpus.chunk_breakers)
    return Ranking(hits, ordered(documents, "doc", corpus.document_breakers), spreads(hits, queries, k), single)


def ordered(scored: pd.DataFrame, item: str, breakers: Ints) -> pd.DataFrame:
    """Return query, rank, item, score in descending order of score, ties by the tie breakers."""
    rows = scored[["query", item, "score"]]
    keys = order_keys(rows["score"].to_numpy(np.float64), breakers[rows[item].to_numpy(np.int64)])
    rows = rows.assign(key=-keys).sort_values(["query", "key"], ignore_index=True)
    return rows.assign(rank=rows.groupby("query").cumcount() + 1)[["query", "rank", item, "score"]]


def spreads(hits: pd.DataFrame, queries: int, k: int) -> pd.DataFrame:
    """Return the table `Ranking.queries` from the scores of ranked hits. A query without hits has the spread and the top 0."""
    by_query = hits.groupby("query")["score"]
    tied = (by_query.diff().eq(0) & (hits["rank"] <= k)).groupby(hits["query"]).any()
    table = pd.DataFrame({"spread": by_query.std(ddof=0), "top": by_query.max()}).reindex(range(queries), fill_value=0.0)
    return table.assign(tied=tied.reindex(range(queries), fill_value=False)).rename_axis("query").reset_index()


def about(queries: Ints, spread: Floats, scores: Floats, k: int) -> pd.DataFrame:
    """Return the table `Ranking.queries` of some queries from their best scores, float64 (queries, k or more)."""
    tied = (np.diff(scores[:, :k], axis=1) == 0).any(axis=1)
    return pd.DataFrame({"query": queries, "spread": spread, "top": scores[:, 0], "tied": tied})


def long_table(queries: Ints, columns: dict[str, Any], widths: Ints) -> pd.DataFrame:
    """Convert rectangular arrays (queries, depth) to rows of (query, rank, …), cutting each query's row at its width."""
    any_column = next(iter(columns.values()))
    inside = np.arange(any_column.shape[1])[None, :] < widths[:, None]
    rows, ranks = np.nonzero(inside)
    return pd.DataFrame({"query": queries[rows], "rank": ranks + 1} | {name: values[inside] for name, values in columns.items()})


# Bytes per score in a block: float64 scores, their keys and copies of both.
_BYTES_A_SCORE = 32
# Scores of the queries [first, last) for all chunks, float64 (last - first, chunks), with -inf for a chunk that does not match.
ScoreBlock = Callable[[int, int], Floats]


def rank_all(score: ScoreBlock, queries: int, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank every matching chunk for each query, in blocks of queries. `single` stays None."""
    parts = batching.blocks(queries, batching.rows(_BYTES_A_SCORE * len(corpus.doc)))
    scored = ((part, _checked(score(part.start, part.stop), (part.stop - part.start, len(corpus.doc)))) for part in parts)
    return joined([_block(part.start, scores, corpus, depth, k) for part, scores in scored])


def _checked(scores: Floats, shape: tuple[int, int]) -> Floats:
    """Return the scores. Raises RunError for an array of another shape, and for NaN and +inf, which would count as chunks that do not match."""
    if not isinstance(scores, np.ndarray) or scores.shape != shape or not np.issubdtype(scores.dtype, np.number):
        found = f"{scores.dtype} of the shape {scores.shape}" if isinstance(scores, np.ndarray) else f"a {type(scores).__name__}"
        what = f"the retriever's scores of {plural(shape[0], 'query', 'queries')} for {plural(shape[1], 'chunk')} are {found}"
        raise RunError(what, f"return numbers of the shape {shape}")
    if np.isnan(scores).any() or (scores == np.inf).any():
        what = f"the retriever gave a chunk the score {'NaN' if np.isnan(scores).any() else 'inf'}"
        raise RunError(what, "return a number, or -inf for a chunk that does not match")
    return scores


def _block(first: int, scored: Floats, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    matched = np.isfinite(scored)
    scores = rounded(np.where(matched, scored, 0.0))
    keys = np.where(matched, order_keys(scores, corpus.chunk_breakers), NO_KEY)
    matches = matched.sum(axis=1)
    width = depth.slices
    while True:
        width = min(max(2 * width, 64), scores.shape[1])
        positions = top(keys, width)
        widths = np.minimum(enough(positions, corpus, depth), matches)
        if (widths <= width).all():
            break
    best = np.take_along_axis(scores, positions, axis=1)
    queries = np.arange(len(best)) + first
    hits = long_table(queries, {"chunk": positions, "score": best}, widths)
    tied = (np.diff(best[:, :k], axis=1) == 0) & (np.arange(1, best[:, :k].shape[1]) < matches[:, None])
    columns = {"query": queries, "spread": scores.std(axis=1), "top": best[:, 0], "tied": tied.any(axis=1)}
    return Ranking(hits, _documents(queries, scores, matched, corpus, max(depth.documents, depth.listed)), pd.DataFrame(columns))


def _documents(queries: Ints, scores: Floats, matched: Bools, corpus: Corpus, wanted: int) -> pd.DataFrame:
    """Rank distinct documents by their best chunk. Chunks are in order of their documents, so a document is one run of columns."""
    starts = np.flatnonzero(np.diff(corpus.doc, prepend=-1))
    docs = corpus.doc[starts]
    lowest = scores.min(initial=0.0)
    best = np.maximum.reduceat(np.where(matched, scores, lowest), starts, axis=1)
    any_match = np.logical_or.reduceat(matched, starts, axis=1)
    order = top(np.where(any_match, order_keys(best, corpus.document_breakers[docs]), NO_KEY), wanted)
    columns = {"doc": docs[order], "score": np.take_along_axis(best, order, axis=1)}
    return long_table(queries, columns, np.minimum(any_match.sum(axis=1), order.shape[1]))
