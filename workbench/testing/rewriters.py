"""The laws of rewriters."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from workbench.components.retrieval.base import QueryBatch, Retriever, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.rewriting.base import ExpandedQueries, FeedbackRewriter, Rewriter, RewrittenText, TextRewriter, expanded_queries
from workbench.core.records import Query
from workbench.testing.law import SETTING_LAWS, Laws, every_setting_is_part_of_the_identity, given, shown
from workbench.testing.small_corpus import QUERIES, TEXTS, small_corpus, small_queries

_RETRIEVERS: tuple[Retriever, ...] = (BM25Retriever(), DenseRetriever())
_TOLERANCE = 1e-5
_DEPTH = SearchDepth(slices=5, tokens=0, documents=1)
# What is searched for one question: texts, or a vector or words by name.
Searched = Sequence[RewrittenText] | Mapping[str, float]


REWRITER_LAWS = Laws(Rewriter)


@REWRITER_LAWS
def every_question_has_texts_to_search(rewriter: Rewriter) -> Iterator[str]:
    """`rewrite` returns one or more texts for each question that are not blank, each with the role `query` or `document`."""
    if not isinstance(rewriter, TextRewriter):
        return
    rewritten = _rewritten(rewriter, QUERIES)
    if len(rewritten) != len(QUERIES):
        yield f"it returns {len(rewritten)} results for {len(QUERIES)} questions"
    for question, texts in zip(QUERIES, rewritten, strict=False):
        if not texts:
            yield f"the question {question!r} gets no text"
        for rewritten_text in texts:
            if not rewritten_text.text.strip() or rewritten_text.role not in ("query", "document"):
                yield f"the question {question!r} gets {shown(rewritten_text)}"


@REWRITER_LAWS
def a_retriever_searches_what_it_makes(rewriter: Rewriter) -> Iterator[str]:
    """A rewriter by feedback `fits` retrieval by words (`bm25`) if its role is `words`, by vectors (`dense`) if it is `vector`."""
    if isinstance(rewriter, FeedbackRewriter) and not rewriter.fits(_retriever(rewriter)):
        yield f"its role is {rewriter.role!r}, and it does not fit {_retriever(rewriter).kind}"


@REWRITER_LAWS
def expanded_queries_can_be_searched(rewriter: Rewriter) -> Iterator[str]:
    """`expand` keeps the texts and gives each query words with finite weights above 0, or a float32 vector of unit length."""
    for expanded in _expanded(rewriter, QUERIES):
        if list(expanded.queries.texts) != list(QUERIES):
            yield f"the texts become {shown(list(expanded.queries.texts))}"
        for question, searched in zip(QUERIES, _each(expanded.queries), strict=False):
            weights = np.array(list(searched.values()))
            if expanded.queries.words is None and not abs(np.linalg.norm(weights) - 1) <= _TOLERANCE:
                yield f"the vector of {question!r} has the length {np.linalg.norm(weights):.6g}"
            if expanded.queries.words is not None and not (np.isfinite(weights) & (weights > 0)).all():
                yield f"the words of {question!r} are {shown(dict(searched))}"
        if len(_each(expanded.queries)) != len(QUERIES):
            yield f"it returns {len(_each(expanded.queries))} results for {len(QUERIES)} queries"
        if expanded.queries.words is None and expanded.queries.vectors.dtype != np.float32:
            yield f"the vectors are {expanded.queries.vectors.dtype}, not float32"


@REWRITER_LAWS
def a_question_that_finds_nothing_is_searched_as_it_is(rewriter: Rewriter) -> Iterator[str]:
    """Without any chunk to learn from, a query keeps its vector, or its words and no other."""
    if not isinstance(rewriter, FeedbackRewriter):
        return
    retriever, queries = _retriever(rewriter), small_queries(QUERIES, True)
    corpus = small_corpus(range(len(TEXTS)), True)
    hits = retriever.retrieve(queries, corpus, _DEPTH).hits.iloc[:0]
    with given("for queries without hits"):
        after = rewriter.expand(queries, hits, retriever, corpus)
    if after.words is None:
        if not np.allclose(after.vectors, queries.vectors, atol=_TOLERANCE):
            yield "the vectors change"
        return
    for question, words, own in zip(QUERIES, after.words, BM25Retriever().words(QUERIES), strict=True):
        if set(words) != set(own):
            yield f"the words of {question!r} become {shown(dict(words))}"


@REWRITER_LAWS
def every_expanded_query_is_described(rewriter: Rewriter) -> Iterator[str]:
    """`describe` returns a text for each query."""
    for expanded in _expanded(rewriter, QUERIES):
        if len(expanded.texts) != len(QUERIES) or not all(isinstance(text, str) and text.strip() for text in expanded.texts):
            yield f"the descriptions are {shown(list(expanded.texts))}"


@REWRITER_LAWS
def the_same_question_is_rewritten_equally(rewriter: Rewriter) -> Iterator[str]:
    """A question is rewritten in the same way again, by an equal rewriter, in another order of questions and alone."""
    again = type(rewriter).model_validate(rewriter.model_dump())
    first, backwards = _searched(rewriter, QUERIES), _searched(again, QUERIES[::-1])[::-1]
    for number, (question, expected, reordered) in enumerate(zip(QUERIES, first, backwards, strict=True)):
        alone = _searched(again, QUERIES[number : number + 1])[0]
        for how, searched in (("in another order of the questions", reordered), ("alone", alone)):
            if not _equal(expected, searched):
                yield f"the question {question!r} becomes {shown(expected)}, and {how} {shown(searched)}"


REWRITER_LAWS.extend([*SETTING_LAWS, every_setting_is_part_of_the_identity])


def check_rewriter(rewriter: Rewriter) -> None:
    """Check that a rewriter keeps all of REWRITER_LAWS, on a few questions and a small corpus.

    Raises LawError for the first law that it breaks.
    """
    REWRITER_LAWS.check(rewriter)


def _retriever(rewriter: FeedbackRewriter) -> Retriever:
    return _RETRIEVERS[rewriter.role == "vector"]


def _rewritten(rewriter: TextRewriter, questions: Sequence[str]) -> list[Sequence[RewrittenText]]:
    with given(f"for the questions {shown(list(questions))}"):
        return rewriter.rewrite([Query(f"q{QUERIES.index(question)}", question) for question in questions])


def _expanded(rewriter: Rewriter, questions: Sequence[str]) -> list[ExpandedQueries]:
    """Return the queries expanded after a first search of the small corpus, none for a rewriter of texts."""
    if not isinstance(rewriter, FeedbackRewriter):
        return []
    corpus = small_corpus(range(len(TEXTS)), True)
    with given(f"for the questions {shown(list(questions))} in a corpus of {len(TEXTS)} documents"):
        return list(expanded_queries(rewriter, small_queries(questions, True), _retriever(rewriter), corpus))


def _searched(rewriter: Rewriter, questions: Sequence[str]) -> Sequence[Searched]:
    """Return the texts, words or vectors that each question is searched by."""
    if isinstance(rewriter, TextRewriter):
        return _rewritten(rewriter, questions)
    return [query for expanded in _expanded(rewriter, questions) for query in _each(expanded.queries)] or [{}] * len(questions)


def _each(queries: QueryBatch) -> Sequence[Mapping[str, float]]:
    """Return the words of each query, or the numbers of its vector by their positions."""
    if queries.words is not None:
        return queries.words
    return [{str(number): float(value) for number, value in enumerate(vector)} for vector in queries.vectors]


def _equal(one: Searched, other: Searched) -> bool:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one == other
    return one.keys() == other.keys() and all(abs(one[name] - other[name]) <= _TOLERANCE for name in one)
