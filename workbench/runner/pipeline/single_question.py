"""Rank the chunks of an indexed corpus for one question, and answer it, with every stage that a sweep runs for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workbench.components.answering.base import AnswerRequest, prompt_tokens
from workbench.components.answering.refusals import is_refusal
from workbench.components.context.context_packing import ContextPacking, pack_context
from workbench.components.context.delivered_slices import with_neighbours
from workbench.components.context.question_labels import passage_of
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.retrieval.base import Corpus, DocumentFilters, QueryBatch, SearchDepth
from workbench.components.retrieval.search import reranked
from workbench.components.rewriting.base import FeedbackRewriter, TextRewriter, expanded_queries
from workbench.core.errors import InputError, RunError
from workbench.core.records import Answer, Hit, Passage, Query, Variant
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.display import excerpt, table_html
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.search import SearchedQueries


def ranked_chunks(
    question: Query, configuration: PipelineConfiguration, corpus: Corpus, depth: SearchDepth, filters: DocumentFilters | None = None
) -> pd.DataFrame:
    """Return the table query, rank, chunk, score of a question, which is query 0."""
    retriever, reranker = configuration.retrieval, configuration.rerank
    original = QueryBatch([question.text], _vectors([question.text], configuration.embedding), filters)
    searched = _searched(question, original, configuration, corpus)
    pool = reranker.pool if reranker else 0
    ranking = searched.search(retriever, corpus, replace(depth, slices=max(depth.slices, pool)))
    if reranker:
        ranking = reranked(ranking, original, corpus, reranker, MemoryVectorCache(), retriever.k)
    return with_neighbours(ranking.hits, corpus.doc, retriever.neighbours)


def _searched(question: Query, original: QueryBatch, configuration: PipelineConfiguration, corpus: Corpus) -> SearchedQueries:
    """Return the queries of a question: those of its rewriter, or the question itself."""
    rewriter = configuration.rewrite
    if isinstance(rewriter, TextRewriter):
        (texts,) = rewriter.rewrite([question])
        vectors = [_vectors([each.text], configuration.embedding, document=each.role == "document") for each in texts]
        numbers = np.zeros(len(texts), dtype=np.int64)
        filters = replace(original.filters, numbers=original.filters.numbers[numbers]) if original.filters else None
        batch = QueryBatch([each.text for each in texts], np.concatenate(vectors), filters)
        return SearchedQueries(batch, numbers if len(texts) > 1 else None)
    if isinstance(rewriter, FeedbackRewriter):
        for member in expanded_queries(rewriter, original, configuration.retrieval, corpus):
            original = original.with_member(member.path, member.queries)
    return SearchedQueries(original)


def _vectors(texts: list[str], embedder: Embedder | None, document: bool = False) -> Vectors:
    return embedder.encode(texts, "document" if document else "query") if embedder else np.zeros((0, 0), dtype=np.float32)


_SHOWN_CHARACTERS = 400


@dataclass(frozen=True, repr=False)
class SingleAnswer(Answer):
    """An answer to one question, with its context.

    `passages` are the context in the order of the prompt, and `citations` those that the answer cites. `refused` says whether it refuses to
    answer. `confidence` is between 0 and 1, None if the generator reports none. Tokens are those that the model counted, and `cost` is in USD;
    None if they are not known. `seconds` is the duration of the call that made it, and `cached` whether that call was made before.
    """

    # A person reads passages, in place of their numbers.
    citations: tuple[Passage, ...] = ()  # type: ignore[assignment]
    question: str = ""
    passages: tuple[Passage, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"SingleAnswer({excerpt(self.text)!r}, refused={self.refused}, citations={len(self.citations)}, passages={len(self.passages)})"
        )

    def _repr_html_(self) -> str:
        rows = [
            {
                "passage": number,
                "cited": "yes" if passage in self.citations else "",
                "document": passage.doc_id,
                "characters": f"{passage.start}–{passage.end}",
                "text": excerpt(passage.text, _SHOWN_CHARACTERS),
            }
            for number, passage in enumerate(self.passages, 1)
        ]
        return table_html(self.text, rows)


def single_answer(question: Query, hits: Sequence[Hit], configuration: PipelineConfiguration, run: RunContext) -> SingleAnswer:
    """Pack the hits into the context of a question, and answer it."""
    generator = configuration.answering
    if generator is None:
        raise InputError("the pipeline answers no questions", "give it answering=, such as wb.ExtractiveGenerator()")
    candidates = [passage_of(hit.document, hit.start, hit.end) for hit in hits]
    prompt = prompt_tokens(generator, generator.overhead(question.text))
    packed = pack_context(candidates, configuration.context or ContextPacking(), prompt)
    request = AnswerRequest(question, packed.passages, Variant())
    ((_, answer),) = generator.answer([request], run.answer_resources)
    if answer.error:
        raise RunError(f"the question has no answer: {answer.error}")
    refused = is_refusal(answer.text, question=question.text) if answer.refused is None else answer.refused
    cited = tuple(packed.passages[number] for number in answer.citations)
    return SingleAnswer(**vars(answer) | {"citations": cited, "refused": refused}, question=question.text, passages=packed.passages)
