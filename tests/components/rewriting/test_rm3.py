"""RM3's weights of words equal a hand-worked example."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workbench.components.retrieval.base import DocumentFilters, QueryBatch, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.components.retrieval.search import search
from workbench.components.rewriting.base import expanded_queries
from workbench.components.rewriting.feedback import RM3Rewriter
from workbench.testing.small_corpus import TEXTS, small_corpus, small_queries

PLAIN = BM25Retriever(stopwords="none", stemmer="none")
CORPUS = replace(small_corpus([0], False), texts=["tide tide pilot crane", "tide berth", "ferry", "cargo", "buoy"])
# The first search found chunk 0 with the score 3 and chunk 1 with the score 1.
HITS = pd.DataFrame({"query": [0, 0], "rank": [1, 2], "chunk": [0, 1], "score": [3.0, 1.0]})


def words(hits: pd.DataFrame = HITS, text: str = "tide harbour", **settings: object) -> dict[str, float]:
    (expanded,) = RM3Rewriter(**settings).expand(QueryBatch([text]), hits, PLAIN, CORPUS).words
    return dict(expanded)


def test_weights_equal_a_hand_worked_example() -> None:
    # Chunks weigh 3/4 and 1/4. p(tide) = 3/4 · 2/4 + 1/4 · 1/2 = 1/2, p(pilot) = p(crane) = 3/4 · 1/4 = 3/16, p(berth) = 1/4 · 1/2 = 1/8.
    # The best three have the sum 7/8: tide 4/7, crane 3/14, pilot 3/14. The question gives tide 1/2 and harbour 1/2.
    expected = {
        "tide": 0.5 * 1 / 2 + 0.5 * 4 / 7,
        "harbour": 0.5 * 1 / 2,
        "crane": 0.5 * 3 / 14,
        "pilot": 0.5 * 3 / 14,
    }
    assert words(terms=3) == pytest.approx(expected)
    assert sum(expected.values()) == pytest.approx(1)


def test_of_words_with_equal_weights_the_first_in_the_alphabet_is_kept() -> None:
    assert set(words(terms=2)) == {"tide", "harbour", "crane"}


def test_the_weight_of_the_question_can_be_all_or_nothing() -> None:
    assert words(original=1) == {"tide": 0.5, "harbour": 0.5}
    assert words(original=0, terms=1) == {"tide": 1.0}


def test_a_repeated_word_counts_twice_and_a_question_without_hits_keeps_its_words() -> None:
    assert words(HITS[:0], "tide tide harbour") == pytest.approx({"tide": 2 / 3, "harbour": 1 / 3})


def test_bm25_of_weighted_words_is_the_weighted_sum_of_the_bm25_of_each_word() -> None:
    def scores(queries: QueryBatch) -> dict[int, float]:
        found = PLAIN.retrieve(queries, small_corpus(range(len(TEXTS)), False), SearchDepth(1_000, 0, 1)).hits
        return dict(zip(found["chunk"], found["score"], strict=True))

    pilot, tide = scores(QueryBatch(["pilot"])), scores(QueryBatch(["tide"]))
    both = scores(QueryBatch(["never read"], words=[{"pilot": 0.25, "tide": 2.0, "zyzzyva": 9.0}]))
    assert both.keys() == pilot.keys() | tide.keys()
    assert all(score == pytest.approx(0.25 * pilot.get(chunk, 0) + 2 * tide.get(chunk, 0), abs=2e-6) for chunk, score in both.items())


def test_a_hybrid_retriever_gets_expanded_words_for_its_lexical_member_alone() -> None:
    hybrid, corpus = HybridRetriever(pool=20), small_corpus(range(len(TEXTS)), True)
    queries = small_queries(["pilot tide", "ferry"], True)
    (member,) = expanded_queries(RM3Rewriter(), queries, hybrid, corpus)
    assert member.path == ("bm25",)
    (alone,) = expanded_queries(RM3Rewriter(), queries, BM25Retriever(), corpus)
    assert member.queries.words == alone.queries.words
    fused = hybrid.retrieve(queries.with_member(member.path, member.queries), corpus, SearchDepth(20, 0, 1)).sources
    assert _ranked(fused, "bm25") == _chunks(BM25Retriever().retrieve(alone.queries, corpus, SearchDepth(20, 0, 1)).hits)
    assert _ranked(fused, "dense") == _chunks(DenseRetriever().retrieve(queries, corpus, SearchDepth(20, 0, 1)).hits)
    assert _ranked(fused, "bm25") != _chunks(BM25Retriever().retrieve(queries, corpus, SearchDepth(20, 0, 1)).hits)


def test_a_filter_holds_in_the_first_search_and_for_the_expanded_query() -> None:
    corpus = small_corpus(range(len(TEXTS)), False)
    allowed = np.arange(len(TEXTS)) == 3
    filters = DocumentFilters(np.array([0, -1]), allowed[None, :])
    queries = replace(small_queries(["pilot tide", "pilot tide"], False), filters=filters)
    (expanded,) = expanded_queries(RM3Rewriter(original=0.5), queries, BM25Retriever(), corpus)
    own, free = expanded.queries.words
    inside = {word for words in BM25Retriever().words(TEXTS[3]) for word in words}
    assert set(own) <= inside | {"pilot", "tide"}
    assert own != free
    found = search(BM25Retriever(), expanded.queries, corpus, SearchDepth(20, 0, 1)).hits
    assert set(corpus.doc[found.loc[found["query"] == 0, "chunk"]]) == {3}
    assert len(set(corpus.doc[found.loc[found["query"] == 1, "chunk"]])) > 1


def _ranked(sources: pd.DataFrame, retriever: str) -> list[tuple[int, int]]:
    return _chunks(sources[sources["retriever"] == retriever])


def _chunks(rows: pd.DataFrame) -> list[tuple[int, int]]:
    rows = rows[rows["rank"] <= 20].sort_values(["query", "rank"])
    return list(zip(rows["query"].tolist(), rows["chunk"].tolist(), strict=True))
