"""Search with filters: each query finds only the documents that its filter allows, whatever the retriever."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from workbench.components.retrieval.base import Corpus, DocumentFilters, QueryBatch, Ranking, Retriever, SearchDepth, combined, joined
from workbench.llm.models.tokenizers import Ints


def search(retriever: Retriever, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
    """Rank the chunks and documents that each query may find, by the search that is evaluated."""
    if queries.filters is None:
        return retriever.retrieve(queries, corpus, depth)
    groups = _groups(queries, queries.filters, corpus)
    return _joined([(_renumbered(retriever.retrieve(some, part, depth), *places), places[0]) for some, part, places in groups])


def searches(retriever: Retriever, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
    """Rank the chunks and documents that each query may find, by every search that is measured."""
    if queries.filters is None:
        return retriever.searches(queries, corpus, depth)
    found = [
        {name: (_renumbered(ranking, *places), places[0]) for name, ranking in retriever.searches(some, part, depth).items()}
        for some, part, places in _groups(queries, queries.filters, corpus)
    ]
    return {name: _joined([rankings[name] for rankings in found]) for name in found[0]}


def _groups(queries: QueryBatch, filters: DocumentFilters, corpus: Corpus) -> Iterator[tuple[QueryBatch, Corpus, tuple[Ints, Ints]]]:
    """Yield the queries of each filter and the part of the corpus that they search, with the positions of both in the whole."""
    for number in np.unique(filters.numbers).tolist():
        members = np.flatnonzero(filters.numbers == number)
        rows = np.flatnonzero(filters.masks[number][corpus.doc]) if number >= 0 else np.arange(len(corpus.doc))
        yield replace(queries.some(members), filters=None), corpus.part(rows) if number >= 0 else corpus, (members, rows)


def _renumbered(ranking: Ranking, queries: Ints, chunks: Ints) -> Ranking:
    """Return a ranking of a part with the positions of queries and chunks in the whole."""

    def placed(table: pd.DataFrame) -> pd.DataFrame:
        columns = {"query": queries[table["query"].to_numpy(np.int64)]}
        if "chunk" in table:
            columns["chunk"] = chunks[table["chunk"].to_numpy(np.int64)]
        return table.assign(**columns)

    hits, documents, about, sources = (placed(table) for table in (ranking.hits, ranking.ranking, ranking.queries, ranking.sources))
    return Ranking(hits, documents, about, ranking.single, sources)


def _joined(groups: Sequence[tuple[Ranking, Ints]]) -> Ranking:
    """Join the rankings of several groups of queries, each with the positions of its queries."""
    indices = {query: (group, index) for group, (_, members) in enumerate(groups) for index, query in enumerate(members.tolist())}
    single = combined([ranking.single for ranking, _ in groups], lambda opened, query: opened[indices[query][0]](indices[query][1]))
    return replace(joined([ranking for ranking, _ in groups]), single=single)
