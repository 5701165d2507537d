"""Labelling in the order of the labeller decides a comparison sooner than labelling in a random order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.core.records import Qrel
from workbench.people.labelling.pooling import document_rankings, pool_of_run
from workbench.people.labelling.priority import deciding_metric, leading_bounds, queue, rivals

pytestmark = pytest.mark.soak

RANDOM_ORDERS = 200


@pytest.mark.parametrize(("metric", "seed"), [("precision@5", 1), ("ndcg@10", 2), ("mrr@10", 3), ("recall@5", 4)])
def test_the_bounds_of_the_leading_difference_shrink_faster_than_in_random_orders(metric: str, seed: int, tmp_path: Path) -> None:
    truth = wb.load_dataset(Path(__file__).parents[2] / "experiments" / "handbook")
    rng = np.random.default_rng(seed)
    # One relevant document of each question is known, and a fifth of the other judgements, unevenly over the questions.
    share = dict(zip((query.query_id for query in truth.queries), rng.beta(0.5, 2, len(truth.queries)), strict=True))
    known, first = set[str](), []
    for qrel in truth.qrels:
        if (qrel.relevance > 0 and qrel.query_id not in known) or rng.random() < share[qrel.query_id]:
            first.append(qrel)
            known |= {qrel.query_id} if qrel.relevance > 0 else set()
    partial = wb.save_dataset(replace(truth, qrels=tuple(first)), tmp_path / "partial")
    sweep = {"chunking": [wb.FixedChunker(size=64), wb.WholeChunker()]}
    experiment = wb.Experiment("order", partial, pipeline=wb.Pipeline(retrieval=wb.BM25Retriever(k=20)), sweep=sweep, metrics=[metric])
    results = wb.sweep(experiment, tmp_path / "outputs")
    rankings = document_rankings(results.tables, results.folder)
    by, (a, b) = deciding_metric(results.tables), rivals(results.tables)[:2]
    pool = pool_of_run(partial, results.tables, rankings, by.k)
    order = [each.query_id for each in queue(partial, results.tables, rankings)]
    # A person who knows everything labels the pool of each question: what the handbook does not judge is not relevant.
    whole = {(qrel.query_id, qrel.doc_id): qrel for qrel in truth.qrels}
    wanted = {(query_id, each.doc_id) for query_id in order for each in pool.documents[query_id]}
    wanted -= {(qrel.query_id, qrel.doc_id) for qrel in partial.qrels}
    labels = {key: whole.get(key, Qrel(*key, 0)) for key in sorted(wanted)}

    def widths_after(query_ids: list[str]) -> np.ndarray:
        given = tuple(qrel for (query_id, _), qrel in labels.items() if query_id in query_ids)
        low, high = leading_bounds(replace(partial, qrels=(*partial.qrels, *given)), rankings, by, a, b)
        return high - low

    places = {query.query_id: place for place, query in enumerate(partial.queries)}
    before, after = widths_after([]), widths_after(order)
    assert before.sum() > 0
    assert after == pytest.approx(0, abs=1e-9)
    gains = before[[places[query_id] for query_id in order]]
    left = before.sum() - np.cumsum(gains)
    # Questions do not share labels, so that what one gains is the same in every order.
    for number in (1, len(order) // 4, len(order) // 2):
        assert widths_after(order[:number]).sum() == pytest.approx(left[number - 1], abs=1e-9)
    randomly = np.array([before.sum() - np.cumsum(rng.permutation(gains)) for _ in range(RANDOM_ORDERS)])
    halved, needed = int((left < before.sum() / 2).argmax()) + 1, (randomly < before.sum() / 2).argmax(axis=1) + 1
    area = left.mean() / randomly.mean()
    print(
        f"{metric}: half of the width is gone after {halved} of {len(order)} questions, in random orders after {needed.mean():.1f}; area {area:.2f}"
    )
    assert left.mean() < randomly.mean(axis=1).min()
    assert halved < needed.min()
