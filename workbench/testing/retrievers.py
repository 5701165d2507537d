"""The laws of retrievers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.components.retrieval.base import Corpus, Ranking, Retriever, SearchDepth
from workbench.llm.models.tokenizers import Ints
from workbench.testing.law import SETTING_LAWS, Laws, every_setting_is_part_of_the_identity, given, shown
from workbench.testing.small_corpus import QUERIES, TEXTS, small_corpus, small_queries

_DOCUMENTS = tuple(range(len(TEXTS)))
_DEPTH = SearchDepth(slices=5, tokens=100, documents=3, listed=10)
_EVERYTHING = SearchDepth(slices=1_000, tokens=1_000_000, documents=1_000, listed=1_000)
_TOLERANCE = 1e-9


class _Table(NamedTuple):
    """A table of a ranking: its rows of (query, rank, item, score), the column of the items, their number and their tie breakers."""

    name: str
    rows: pd.DataFrame
    item: str
    breakers: Ints

    def by_query(self) -> Iterator[tuple[str, pd.DataFrame]]:
        for query, rows in self.rows.groupby("query"):
            yield f"for the query {QUERIES[int(str(query))]!r}, `{self.name}`", rows


RETRIEVER_LAWS = Laws(Retriever)


@RETRIEVER_LAWS
def rankings_have_these_tables(retriever: Retriever) -> Iterator[str]:
    """`searches` includes `evaluated`; every ranking has the tables `hits`, `ranking` and `queries` with their columns, positions in range."""
    searches = _searches(retriever, _DEPTH)
    if retriever.evaluated not in searches:
        yield f"searches are {sorted(searches)}, without {retriever.evaluated!r}"
    for search, ranking in searches.items():
        for table in _tables(ranking, small_corpus(_DOCUMENTS, False)):
            if (columns := list(table.rows.columns)) != ["query", "rank", table.item, "score"]:
                yield f"the search {search!r}, `{table.name}` has the columns {columns}, not query, rank, {table.item}, score"
            for column, most in (("query", len(QUERIES)), (table.item, len(table.breakers))):
                if not table.rows[column].between(0, most - 1).all():
                    yield f"the search {search!r}, `{table.name}` has a {column} outside [0, {most})"
            if table.rows.duplicated(["query", table.item]).any():
                yield f"the search {search!r}, `{table.name}` has a {table.item} twice for one query"
        if list(ranking.queries["query"]) != list(range(len(QUERIES))):
            yield f"the search {search!r}, `queries` has the queries {list(ranking.queries['query'])}, not all {len(QUERIES)} in order"


@RETRIEVER_LAWS
def ranks_count_from_1_and_scores_never_rise(retriever: Retriever) -> Iterator[str]:
    """For each query, ranks are 1, 2, 3, … and scores are finite and never rise."""
    for table in _every_table(retriever):
        for where, rows in table.by_query():
            if (ranks := rows["rank"].tolist()) != list(range(1, len(rows) + 1)):
                yield f"{where} has the ranks {shown(ranks)}"
            scores = rows["score"].to_numpy(np.float64)
            if not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
                yield f"{where} has the scores {shown(scores.tolist())}"


@RETRIEVER_LAWS
def ties_are_ordered_by_the_tie_breakers(retriever: Retriever) -> Iterator[str]:
    """Equal scores are ordered by `corpus.chunk_breakers` and `corpus.document_breakers`, ascending, as `rank_all` does."""
    for table in _every_table(retriever):
        for where, rows in table.by_query():
            tied = np.diff(rows["score"].to_numpy(np.float64)) == 0
            wrong = np.flatnonzero(tied & (np.diff(table.breakers[rows[table.item].to_numpy(np.int64)]) < 0))
            if len(wrong):
                rank = int(wrong[0]) + 1
                yield f"{where} has the ranks {rank} and {rank + 1} with the same score in the wrong order"


@RETRIEVER_LAWS
def a_document_is_ranked_by_its_best_chunk(retriever: Retriever) -> Iterator[str]:
    """A document's score is that of its best chunk."""
    corpus, ranking = small_corpus(_DOCUMENTS, False), _search(retriever, _EVERYTHING)
    best = ranking.hits.assign(doc=corpus.doc[ranking.hits["chunk"]]).groupby(["query", "doc"])["score"].max()
    for query, doc, score in ranking.ranking[["query", "doc", "score"]].itertuples(index=False):
        expected = best.get((query, doc), np.nan)
        if not abs(score - expected) <= _TOLERANCE:
            yield f"for the query {QUERIES[query]!r}, document {doc} has the score {score:.9g} and its best chunk {expected:.9g}"


@RETRIEVER_LAWS
def a_search_is_as_deep_as_required(retriever: Retriever) -> Iterator[str]:
    """`hits` reach `depth.slices` distinct slices and `depth.tokens` tokens, `ranking` `depth.documents`, if that many match."""
    corpus, shallow, whole = small_corpus(_DOCUMENTS, False), _search(retriever, _DEPTH), _search(retriever, _EVERYTHING)
    for query, text in enumerate(QUERIES):
        reached, matching = (_reached(corpus, ranking, query) for ranking in (shallow, whole))
        required = SearchDepth(_DEPTH.slices, _DEPTH.tokens, _DEPTH.documents)
        for what in ("slices", "tokens", "documents"):
            least = min(getattr(required, what), getattr(matching, what))
            if getattr(reached, what) < least:
                yield f"for the query {text!r} and {_DEPTH}, it found {getattr(reached, what)} {what} of {least}"


@RETRIEVER_LAWS
def a_deeper_search_begins_like_a_shallow_one(retriever: Retriever) -> Iterator[str]:
    """A deeper search only adds to the end of a ranking, unless `evaluated` is an approximate search."""
    if not _exact(retriever):
        return
    shallow, whole = _search(retriever, _DEPTH), _search(retriever, _EVERYTHING)
    for name, item in (("hits", "chunk"), ("ranking", "doc")):
        for query, text in enumerate(QUERIES):
            first, all_of_them = (_items(getattr(ranking, name), item, query) for ranking in (shallow, whole))
            if all_of_them[: len(first)] != first:
                yield f"for the query {text!r}, `{name}` begins with {shown(first)}, but with {shown(all_of_them)} in a deeper search"


@RETRIEVER_LAWS
def the_same_query_has_the_same_ranking(retriever: Retriever) -> Iterator[str]:
    """A query has the same ranking again, from an equal retriever, in another order of queries and alone, unless the search is approximate."""
    if not _exact(retriever):
        return
    first, again = _ranked(retriever, _DOCUMENTS, QUERIES), type(retriever).model_validate(retriever.model_dump())
    backwards = _ranked(again, _DOCUMENTS, QUERIES[::-1])[::-1]
    for text, expected, reordered in zip(QUERIES, first, backwards, strict=True):
        alone = _ranked(again, _DOCUMENTS, (text,))[0]
        for how, ranking in (("in another order of the queries", reordered), ("alone", alone)):
            if ranking != expected:
                yield f"the query {text!r} gets {shown(expected)}, and {how} {shown(ranking)}"


@RETRIEVER_LAWS
def the_order_of_documents_does_not_matter(retriever: Retriever) -> Iterator[str]:
    """The same documents in another order have the same ranking, also where scores are equal, unless the search is approximate."""
    if not _exact(retriever):
        return
    first, other = (_ranked(retriever, documents, QUERIES) for documents in (_DOCUMENTS, _DOCUMENTS[::-1]))
    for text, expected, ranking in zip(QUERIES, first, other, strict=True):
        if expected != ranking:
            yield f"the query {text!r} gets {shown(expected)}, and with the documents in the opposite order {shown(ranking)}"


@RETRIEVER_LAWS
def a_corpus_of_one_document_can_be_searched(retriever: Retriever) -> Iterator[str]:
    """A corpus smaller than `k` and the depth gives the chunks that match, each once."""
    for chunks in _ranked(retriever, _DOCUMENTS[:1], QUERIES, _EVERYTHING):
        if len(set(chunks)) != len(chunks) or len(chunks) > len(TEXTS[0]):
            yield f"a document of {len(TEXTS[0])} chunks gives the hits {shown(chunks)}"


RETRIEVER_LAWS.extend([*SETTING_LAWS, every_setting_is_part_of_the_identity])


def check_retriever(retriever: Retriever) -> None:
    """Check that a retriever keeps all of RETRIEVER_LAWS, on a small corpus with vectors if it uses them.

    Raises LawError for the first law that it breaks.
    """
    RETRIEVER_LAWS.check(retriever)


def _exact(retriever: Retriever) -> bool:
    """Test for an exact search. An approximate index misses a chunk now and then, and not always the same one."""
    return retriever.evaluated == "exact"


def _searches(
    retriever: Retriever, depth: SearchDepth, documents: Sequence[int] = _DOCUMENTS, queries: Sequence[str] = QUERIES
) -> dict[str, Ranking]:
    vectors = retriever.needs_vectors
    with given(f"for the queries {shown(list(queries))} in a corpus of {len(documents)} documents"):
        return retriever.searches(small_queries(queries, vectors), small_corpus(documents, vectors), depth)


def _search(retriever: Retriever, depth: SearchDepth) -> Ranking:
    return _searches(retriever, depth)[retriever.evaluated]


def _ranked(retriever: Retriever, documents: Sequence[int], queries: Sequence[str], depth: SearchDepth = _DEPTH) -> list[list[str]]:
    """Return the ids of each query's chunks."""
    ids = small_corpus(documents, False).ids
    hits = _searches(retriever, depth, documents, queries)[retriever.evaluated].hits
    return [[ids[chunk] for chunk in _items(hits, "chunk", query)] for query in range(len(queries))]


def _items(rows: pd.DataFrame, item: str, query: int) -> list[int]:
    return [int(place) for place in rows.loc[rows["query"] == query, item]]


def _tables(ranking: Ranking, corpus: Corpus) -> tuple[_Table, _Table]:
    return (
        _Table("hits", ranking.hits, "chunk", corpus.chunk_breakers),
        _Table("ranking", ranking.ranking, "doc", corpus.document_breakers),
    )


def _every_table(retriever: Retriever) -> Iterator[_Table]:
    for ranking in _searches(retriever, _DEPTH).values():
        yield from _tables(ranking, small_corpus(_DOCUMENTS, False))


def _reached(corpus: Corpus, ranking: Ranking, query: int) -> SearchDepth:
    """Return the distinct slices, their tokens and the documents that a query found."""
    slices = len(set(corpus.group[_items(ranking.hits, "chunk", query)].tolist()))
    return SearchDepth(slices, slices * int(corpus.tokens[0]), len(_items(ranking.ranking, "doc", query)))
