"""Document metrics against the formulas of their papers, from the scores of chunks, and rankings of documents from hits of every kind."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.measures.metrics.reference import FORMULAS, hard_negatives, irrelevant, ranked
from workbench.components.retrieval.base import Corpus, Ranking, SearchDepth, best_first, rank_all
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.records import Document, TargetHit
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Retrieved
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.stages.responses import responses_of
from workbench.systems.asking import TargetReply
from workbench.systems.callable.target import PythonTarget
from workbench.testing.small_results import labels_of, retrieved_of

# Two chunks of each of ten documents. The last two documents are not in the dataset.
DOCUMENTS, IDS = 8, [f"d{doc}" for doc in range(10)]
CHUNKS = [(chunk // 2, 4 * (chunk % 2), 4 * (chunk % 2) + 4) for chunk in range(20)]
PLACES = np.arange(20)
CORPUS = Corpus([], PLACES // 2, PLACES, np.ones(20, dtype=np.int64), tie_breakers([str(chunk) for chunk in PLACES]), tie_breakers(IDS))

GRADES = st.dictionaries(st.integers(0, DOCUMENTS - 1), st.integers(-1, 3))
SCORES = st.dictionaries(st.integers(0, 19), st.sampled_from([-0.5, 0.0, 0.5]), max_size=12)
QUESTIONS = st.lists(st.tuples(GRADES, SCORES), min_size=1, max_size=4)
HITS = st.lists(st.lists(st.integers(10, 19), max_size=12), min_size=1, max_size=3)


def searched(questions: list[dict[int, float]]) -> Ranking:
    """The ranking of a search that gives these scores to chunks."""
    scores = np.array([[scored.get(chunk, -np.inf) for chunk in range(20)] for scored in questions])
    return rank_all(lambda first, last: scores[first:last], len(scores), CORPUS, SearchDepth(20, 0, 10), 1)


def fused(questions: list[dict[int, float]]) -> Ranking:
    """The ranking of a fusion that gives these scores to chunks."""
    rows = [(query, chunk, score) for query, scored in enumerate(questions) for chunk, score in scored.items()]
    table = pd.DataFrame(rows, columns=["query", "chunk", "score"]).astype({"query": "int64", "chunk": "int64", "score": "float64"})
    return best_first(table, CORPUS, len(questions), 1, None)


def expected(scores: dict[int, float]) -> list[str]:
    return ranked((IDS[chunk // 2], score) for chunk, score in scores.items())


def evaluated(questions: list, metrics: list[Metric]) -> tuple[pd.DataFrame, list[dict[str, int]], list[list[str]]]:
    """The table of the metrics, with the grades and the ranking of each question."""
    ranking = searched([scores for _, scores in questions])
    ranked = ranking.ranking.assign(doc=ranking.ranking["doc"].where(ranking.ranking["doc"] < DOCUMENTS, -1))
    retrieved = Retrieved(retrieved_of(CHUNKS).chunks, ranking.hits, ranked, ranking.queries["spread"].to_numpy())
    labels = labels_of(["some text"] * DOCUMENTS, *({"qrels": grades} for grades, _ in questions))
    judgements = [{IDS[doc]: grade for doc, grade in grades.items()} for grades, _ in questions]
    return evaluate(labels, retrieved, metrics), judgements, [expected(scores) for _, scores in questions]


@settings(max_examples=50)
@given(questions=QUESTIONS, depths=st.sets(st.integers(1, 12), min_size=1, max_size=2))
def test_document_metrics_equal_their_formulas(questions: list, depths: set[int]) -> None:
    table, judgements, rankings = evaluated(questions, [Metric(name, k=k) for name in FORMULAS for k in depths])
    for query, metric, value, state, attainable in table[["query", "metric", "value", "state", "attainable"]].itertuples(index=False):
        name, k, grades, ranking = metric.split("@")[0], int(metric.split("@")[1]), judgements[query], rankings[query]
        assert state == ("scored" if max(grades.values(), default=0) >= 1 else "not_applicable")
        if state == "scored":
            best = sorted(grades, key=lambda doc: -grades[doc])
            assert (metric, value) == (metric, pytest.approx(FORMULAS[name](ranking, grades, k), abs=1e-12))
            assert (metric, attainable) == (metric, pytest.approx(FORMULAS[name](best, grades, k), abs=1e-12))


@pytest.mark.parametrize(
    ("docs", "judged", "margin"), [([-1, 0], 0.5, -1.0), ([0, -1], 0.5, 1.0), ([0, 1], 0.5, 1.0), ([-1, -1, 0], 1 / 3, -2.0)]
)
def test_a_document_outside_the_dataset_is_one_without_a_judgement(docs: list[int], judged: float, margin: float) -> None:
    # Scores fall by 1 with each rank.
    rows = [(0, rank, doc, 9.0 - rank) for rank, doc in enumerate(docs, 1)]
    ranking = pd.DataFrame(rows, columns=["query", "rank", "doc", "score"])
    retrieved = Retrieved(retrieved_of(CHUNKS).chunks, retrieved_of(CHUNKS, []).hits, ranking, np.ones(1))
    table = evaluate(labels_of(["some text"] * 2, {"qrels": {0: 1}}), retrieved, [Metric("judged", k=3), Metric("margin")])
    assert table["value"].tolist() == pytest.approx([judged, margin])


@settings(max_examples=25)
@given(questions=QUESTIONS, k=st.integers(1, 12))
def test_irrelevant_finds_hard_negatives(questions: list, k: int) -> None:
    table, judgements, rankings = evaluated(questions, [Metric("irrelevant", k=k)])
    negatives = hard_negatives(judgements)
    assert table["state"].tolist() == ["scored" if docs else "not_applicable" for docs in negatives]
    for query, value in table.loc[table["state"] == "scored", ["query", "value"]].itertuples(index=False):
        assert value == irrelevant(rankings[query], negatives[query], k)


@pytest.mark.parametrize("rank", [searched, fused])
@settings(max_examples=25)
@given(questions=st.lists(SCORES, min_size=1, max_size=4))
def test_documents_are_ranked_by_their_best_chunk(rank, questions: list[dict[int, float]]) -> None:
    rows = rank(questions).ranking[["query", "rank", "doc"]].to_numpy().tolist()
    assert rows == [[query, place, int(doc[1:])] for query, scores in enumerate(questions) for place, doc in enumerate(expected(scores), 1)]


def by_first_hit(hits: list[list[int]]) -> list[list[int]]:
    """Query, rank and document for hits by rank."""
    return [[query, rank, doc] for query, row in enumerate(hits) for rank, doc in enumerate(dict.fromkeys(chunk // 2 for chunk in row), 1)]


@settings(max_examples=20)
@given(hits=HITS)
@example(hits=[[16, 18, 10]])
def test_hits_of_a_target_rank_documents_by_their_first_hit(hits: list[list[int]]) -> None:
    labels = labels_of(["some text"] * DOCUMENTS, *({} for _ in hits))
    found = [[TargetHit(IDS[chunk // 2], start=4 * (chunk % 2), end=4 * (chunk % 2) + 4) for chunk in row] for row in hits]
    target, documents = PythonTarget(name="mine", match="id", search=len), [Document(doc, "some text") for doc in IDS[:DOCUMENTS]]
    responses = responses_of(target, {"search": [TargetReply(tuple(row)) for row in found]}, documents, labels)
    rows = responses.table("exact_ranking")[["query", "rank", "doc"]].to_numpy().tolist()
    assert rows == [[query, rank, doc if doc < DOCUMENTS else -1] for query, rank, doc in by_first_hit(hits)]
