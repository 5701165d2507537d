"""The bases of rewriters, which change the query that is searched for a question. A reranker always gets the original question."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import pandas as pd
from pydantic import Field

from workbench.components.embedding.base import Role
from workbench.components.retrieval.base import Corpus, QueryBatch, Retriever, SearchDepth
from workbench.components.retrieval.search import search
from workbench.core.records import Query
from workbench.llm.models.component import ModelComponent


@dataclass(frozen=True)
class RewrittenText:
    """A text to search for a question. It is embedded as a query, or as a document if it resembles an answer."""

    text: str
    role: Role = "query"


class Rewriter(ModelComponent, ABC):
    """A way to change the query that is searched for a question."""

    def fault(self, retriever: Retriever) -> str:
        """Return why a retriever cannot search what the rewriter makes, or an empty text."""
        return ""


class TextRewriter(Rewriter):
    """A rewriter that replaces a question by texts. The rankings of several texts are fused by reciprocal ranks."""

    # Whether `rewrite` takes as long as for a new question.
    is_live: ClassVar[bool] = True

    def check_questions(self, questions: Sequence[Query]) -> None:
        """Raise InputError if a dataset with these questions cannot be rewritten. Called before a sweep computes anything."""

    @abstractmethod
    def rewrite(self, questions: Sequence[Query]) -> list[Sequence[RewrittenText]]:
        """Return one or more texts for each question, in the order of the questions."""


class FeedbackRewriter(Rewriter):
    """A rewriter that expands a query by the best chunks of a first search, as if they were relevant."""

    # What the expanded query consists of.
    role: ClassVar[Literal["words", "vector"]]

    documents: int = Field(default=10, ge=1, le=1000, description="The number of best chunks of the first search to learn from.")

    @abstractmethod
    def fits(self, retriever: Retriever) -> bool:
        """Return True if a retriever searches what the rewriter makes. A retriever with members is not asked, its members are."""

    @abstractmethod
    def expand(self, queries: QueryBatch, hits: pd.DataFrame, retriever: Retriever, corpus: Corpus) -> QueryBatch:
        """Return the queries with expanded words or vectors.

        `hits` are the first search's best chunks: query, rank, chunk, score. A query without any is searched as it is.
        """

    @abstractmethod
    def describe(self, expanded: QueryBatch, hits: pd.DataFrame, corpus: Corpus) -> list[str]:
        """Return a text for each expanded query, for people to read."""

    def fault(self, retriever: Retriever) -> str:
        if any(self.fits(member) for _, member in members_of(retriever)):
            return ""
        what = {
            "words": "words, which retrieval {} does not search; use bm25",
            "vector": "vectors, which retrieval {} does not search; use dense",
        }
        return f"rewrite {self.kind!r} expands {what[self.role].format(repr(retriever.kind))} or hybrid, or remove rewrite"


def members_of(retriever: Retriever, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Retriever]]:
    """Yield each retriever that searches by itself, with the names that lead to it: a retriever without members has none."""
    for name, member in retriever.members.items():
        yield from members_of(member, (*path, name))
    if not retriever.members:
        yield path, retriever


@dataclass(frozen=True)
class ExpandedQueries:
    """The expanded queries of one member of a retriever, the names that lead to it, and a text for each query."""

    path: tuple[str, ...]
    queries: QueryBatch
    texts: Sequence[str]


def expanded_queries(rewriter: FeedbackRewriter, queries: QueryBatch, retriever: Retriever, corpus: Corpus) -> Iterator[ExpandedQueries]:
    """Yield the expanded queries of each member of a retriever that searches them, by a first search of this member alone."""
    for path, member in members_of(retriever):
        if rewriter.fits(member):
            hits = search(member, queries, corpus, SearchDepth(rewriter.documents, 0, 1)).hits
            best = hits[hits["rank"] <= rewriter.documents]
            expanded = rewriter.expand(queries, best, member, corpus)
            yield ExpandedQueries(path, expanded, rewriter.describe(expanded, best, corpus))
