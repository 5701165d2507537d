"""Hybrid retrieval: its settings, its members' ranks, and the deepest chunk it ranks."""

import numpy as np
import pytest

from workbench.components.registry import RETRIEVERS
from workbench.components.retrieval.base import Ranking, Retriever, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.errors import InputError
from workbench.runner.experiment.components import component
from workbench.testing.small_corpus import QUERIES, TEXTS, small_corpus, small_queries

CORPUS = small_corpus(tuple(range(len(TEXTS))), vectors=True)
BATCH = small_queries(QUERIES, vectors=True)
DEEP = SearchDepth(1_000, 1_000_000, 1_000, 1_000)


def ranked(retriever: Retriever) -> Ranking:
    return retriever.retrieve(BATCH, CORPUS, DEEP)


def chunks(ranking: Ranking, query: int) -> list[int]:
    return ranking.hits.loc[ranking.hits["query"] == query, "chunk"].tolist()


def test_retrievers_are_made_from_settings_whose_name_is_their_kind() -> None:
    made = HybridRetriever(retrievers={"dense": {"search": "ann"}, "words": {"kind": "bm25", "k1": 0.9}})
    assert made.retrievers == (("dense", DenseRetriever(search="ann")), ("words", BM25Retriever(k1=0.9)))
    assert made.evaluated == "ann"
    assert made.settings() == {
        "kind": "hybrid",
        "retrievers": {"dense": {"kind": "dense", "search": "ann"}, "words": {"kind": "bm25", "k1": 0.9}},
    }


def test_an_unknown_kind_among_the_retrievers_is_one_line() -> None:
    with pytest.raises(InputError, match=r"no kind 'bm52' \(did you mean 'bm25'\?\)"):
        HybridRetriever(retrievers={"dense": {}, "bm52": {}})


def test_only_retrievers_with_vectors_need_an_embedder() -> None:
    assert HybridRetriever().needs_vectors
    assert not HybridRetriever(retrievers={"a": BM25Retriever(), "b": BM25Retriever(k1=0.9)}).needs_vectors


def test_every_retrievers_rank_and_score_of_a_hit_is_kept() -> None:
    retriever = HybridRetriever(pool=10, weights={"dense": 2.0})
    fused, sources = ranked(retriever), ranked(retriever).sources
    parts = {"dense": ranked(DenseRetriever()), "bm25": ranked(BM25Retriever())}
    for name, part in parts.items():
        best = part.hits[part.hits["rank"] <= 10].reset_index(drop=True)
        kept = sources[sources["retriever"] == name].reset_index(drop=True)
        assert kept[["query", "rank", "chunk", "score"]].equals(best[["query", "rank", "chunk", "score"]])
    weighted = sources.assign(part=np.where(sources["retriever"] == "dense", 2.0, 1.0) * 61 / (60 + sources["rank"]))
    expected = weighted.groupby(["query", "chunk"])["part"].sum()
    found = fused.hits.set_index(["query", "chunk"])["score"]
    assert found.to_numpy() == pytest.approx(expected.reindex(found.index).to_numpy(), abs=1e-6)


def test_chunks_in_no_pool_are_not_ranked() -> None:
    fused = ranked(HybridRetriever(k=3, pool=3))
    for query in range(len(QUERIES)):
        assert set(chunks(fused, query)) == {c for r in (DenseRetriever(), BM25Retriever()) for c in chunks(ranked(r), query)[:3]}


def test_a_question_without_words_of_the_corpus_is_ranked_by_the_vectors_alone() -> None:
    query = QUERIES.index("zyzzyva quagga")
    assert chunks(ranked(HybridRetriever()), query)[:20] == chunks(ranked(DenseRetriever()), query)[:20]


def test_settings_that_do_not_fit_each_other_are_one_line(wording) -> None:
    wording(
        lambda settings: HybridRetriever.model_validate(settings).fault,
        [
            {"retrievers": {"bm25": {}}},
            {"retrievers": {}},
            {"pool": 5, "k": 10},
            {"fusion": "weighted", "constant": 10},
            {"weights": {"denes": 0.5}},
            {"retrievers": {"dense": {"k": 50}, "bm25": {}}},
            {"retrievers": {"dense": {}, "bm25": {"neighbours": 1}}},
            {"retrievers": {"a": {"kind": "hybrid", "retrievers": {"bm25": {}}}, "bm25": {}}},
        ],
        None,
    )


def test_a_faulty_member_is_one_line_and_no_other_follows_from_it(wording) -> None:
    def fault_of(settings: dict[str, object]) -> str:
        faults: list[str] = []
        assert component("retrieval", settings | {"kind": "hybrid"}, RETRIEVERS, faults) is None
        return " | ".join(faults)

    wording(
        fault_of,
        [
            {"retrievers": "dense"},
            {"retrievers": {"dense": {}, "bm25": {"k1": "low"}}},
            {"weights": {"dense": -1}},
            {"weights": {"dense": True}},
            {"retrievers": {"vec": {}, "bm25": {}}},
        ],
        None,
    )


def test_a_member_without_settings_has_the_usual_ones() -> None:
    faults: list[str] = []
    assert component("retrieval", {"kind": "hybrid", "retrievers": {"dense": None, "bm25": None}}, RETRIEVERS, faults) == HybridRetriever()
    assert not faults
