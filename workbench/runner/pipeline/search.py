"""The queries that retrieval searches: the questions, or what a rewriter made of them. Written by one stage and read by others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workbench.components.embedding.base import Role
from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, Retriever, SearchDepth
from workbench.components.retrieval.chroma_index import ensure_index
from workbench.components.retrieval.hybrid import fused_by_question, pooled
from workbench.components.retrieval.rank import tie_breakers
from workbench.components.retrieval.search import search, searches
from workbench.components.rewriting.base import ExpandedQueries
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.core.text.formatting import encodable
from workbench.llm.models.tokenizers import Ints
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.chunk_table import slice_numbers
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage_results import StageResults

_LISTED = 100

REWRITES = "rewrites"


@dataclass(frozen=True)
class SearchedQueries:
    """The queries to search, and the question (int64, queries) of each if a question has several. `roles` are those of rewritten texts."""

    batch: QueryBatch
    question: Ints | None = None
    roles: Sequence[Role] = ()

    def searches(self, retriever: Retriever, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
        """Rank chunks and documents for each question by every search that is measured. The rankings of a question's texts are fused."""
        ranked = searches(retriever, self.batch, corpus, self._depth(retriever, depth))
        return {name: self._fused(ranking, retriever, corpus) for name, ranking in ranked.items()}

    def search(self, retriever: Retriever, corpus: Corpus, depth: SearchDepth) -> Ranking:
        """Rank chunks and documents for each question by the search that is evaluated."""
        return self._fused(search(retriever, self.batch, corpus, self._depth(retriever, depth)), retriever, corpus)

    def _depth(self, retriever: Retriever, depth: SearchDepth) -> SearchDepth:
        return depth if self.question is None else pooled(depth, retriever.k)

    def _fused(self, ranking: Ranking, retriever: Retriever, corpus: Corpus) -> Ranking:
        return ranking if self.question is None else fused_by_question(ranking, self.question, corpus, retriever.k)

    def first(self, count: int) -> "SearchedQueries":
        """Return the queries of the first questions."""
        number = np.arange(len(self.batch.texts)) if self.question is None else self.question
        places = np.flatnonzero(number < count)
        question = None if self.question is None else self.question[places]
        return SearchedQueries(self.batch.some(places), question, self.roles[: len(places)])

    def of(self, question: int) -> QueryBatch:
        """Return the queries of the question at a position."""
        return self.batch.some(self._places(question))

    def texts_of(self, question: int) -> dict[Role, list[str]]:
        """Return the rewritten texts of the question at a position by their role."""
        texts: dict[Role, list[str]] = {}
        for place in self._places(question).tolist():
            texts.setdefault(self.roles[place], []).append(self.batch.texts[place])
        return texts

    def _places(self, question: int) -> Ints:
        return np.array([question]) if self.question is None else np.flatnonzero(self.question == question)


def original_queries(results: StageResults) -> QueryBatch:
    """Return the questions with their filters, and with their vectors if the configuration embeds them."""
    batch = QueryBatch([query.text for query in results.run.dataset.queries], filters=results.run.filters)
    return replace(batch, vectors=np.asarray(results.entry("queries").array("vectors"))) if "queries" in results.entries else batch


def searched_queries(results: StageResults) -> SearchedQueries:
    """Return the queries of the stages `rewritten` or `feedback`, else the questions."""
    if "rewritten" in results.entries:
        return _rewritten(results)
    queries = original_queries(results)
    return SearchedQueries(_expanded(results.entry("feedback"), queries) if "feedback" in results.entries else queries)


def _rewritten(results: StageResults) -> SearchedQueries:
    rows, filters = results.entry("rewritten").table(REWRITES), results.run.filters
    question = rows["query"].to_numpy(np.int64)
    batch = QueryBatch(rows["text"].tolist(), filters=replace(filters, numbers=filters.numbers[question]) if filters else None)
    if "rewritten_vectors" in results.entries:
        batch = replace(batch, vectors=np.asarray(results.entry("rewritten_vectors").array("vectors")))
    return SearchedQueries(batch, question if (rows["number"] > 0).any() else None, rows["role"].tolist())


def write_expanded(writer: ResultWriter, members: Sequence[ExpandedQueries]) -> None:
    """Store expanded queries: values `members`, and for each of them a table `words_*` (query, word, weight) or an array `vectors_*`."""
    for number, member in enumerate(members):
        if member.queries.words is None:
            writer.array(f"vectors_{number}", member.queries.vectors)
        else:
            rows = [(query, word, weight) for query, words in enumerate(member.queries.words) for word, weight in words.items()]
            writer.table(f"words_{number}", pd.DataFrame(rows, columns=["query", "word", "weight"]))
    writer.values("members", [{"path": list(member.path), "words": member.queries.words is not None} for member in members])


def _expanded(entry: StoredResult, queries: QueryBatch) -> QueryBatch:
    expanded = queries
    for number, member in enumerate(entry.values("members")):
        if member["words"]:
            words: list[dict[str, float]] = [{} for _ in queries.texts]
            for query, word, weight in entry.table(f"words_{number}").itertuples(index=False):
                words[query][word] = weight
            changed = replace(queries, words=words)
        else:
            changed = replace(queries, vectors=np.asarray(entry.array(f"vectors_{number}")))
        expanded = expanded.with_member(member["path"], changed)
    return expanded


def rewrites_table(results: StageResults) -> pd.DataFrame:
    """Tabulate what was searched for each question in place of its text."""
    rows = next(entry for entry in results.parts("rewritten", "feedback")).table(REWRITES)
    return rows.assign(query_id=results.run.query_ids[rows["query"]], text=[encodable(text) for text in rows["text"]])


def metric_depth(metrics: Sequence[Metric]) -> SearchDepth:
    """Return the distinct slices, tokens and documents of a ranking that metrics read."""
    ranked = [metric for metric in metrics if not metric.of_answers]
    slices = [metric.k or 0 for metric in ranked if metric.bounded_by_k]
    documents = [metric.k or 0 for metric in ranked if metric.family == "documents"]
    tokens = [metric.tokens or 0 for metric in ranked]
    return SearchDepth(max(slices, default=0), max(tokens, default=0), max(documents, default=0))


def search_depth(configuration: Configuration, run: RunContext) -> SearchDepth:
    """Return the search depth that metrics and delivery require. 100 documents are listed, for margins and run files."""
    read, pool = metric_depth(run.metrics), configuration.rerank.pool if configuration.rerank else 0
    delivered = configuration.delivery(run.primary).tokens or 0 if run.primary else 0
    return SearchDepth(max(configuration.k, pool, read.slices), max(delivered, read.tokens), max(1, read.documents), listed=_LISTED)


def corpus_of(results: StageResults) -> Corpus:
    """Return the chunks to search from the finished stages `chunks` and, for retrieval with vectors, `vectors` and `index`.

    A damaged index is rebuilt.
    """
    run, stored, table = results.run, results.entries, results.chunks_table
    chunks = run.chunks(results.entry("chunks"))
    vectors = np.asarray(results.entry("vectors").array("vectors")) if "vectors" in stored else np.zeros((0, 0), dtype=np.float32)
    index = results.entry("index").folder if "index" in stored else None
    if index is not None:
        ensure_index(index, chunks, vectors)
    return Corpus(
        ids=chunks.ids,
        doc=table["doc"].to_numpy(np.int64),
        group=slice_numbers(table),
        tokens=table["tokens"].to_numpy(np.int64),
        chunk_breakers=tie_breakers(chunks.ids),
        document_breakers=tie_breakers([document.doc_id for document in run.dataset.documents]),
        texts=chunks.inputs,
        index=index,
        vectors=vectors,
    )
