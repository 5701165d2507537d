"""What must hold of every metric, whatever the data."""

import numpy as np
import pandas as pd
import pytest

from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.metrics.registry import KINDS

K = 3
EVERY = [Metric(name, k=None if kind.cut == "none" else K) for name, kind in KINDS.items()]
AT_TOKENS = [Metric(name, tokens=20) for name, kind in KINDS.items() if kind.cut == "k or tokens"]
WORDS = np.array(["virus", "protein", "cell", "spread", "lung", "fever", "trial", "dose", "mask", "sleep", "smoke", "diet"])
QUERIES, DOCUMENTS, CHUNKS = 6, 4, 10


@pytest.fixture(scope="module")
def world():
    """Texts, queries, chunks of 40 characters and ten hits a query, from a fixed seed."""
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(WORDS, 60)) for _ in range(DOCUMENTS)]
    starts = [(doc, start) for doc in range(DOCUMENTS) for start in range(0, len(texts[doc]) - 40, 40)]
    chunks = [(doc, start, start + 40) for doc, start in starts]
    queries, hits = [], []
    for _ in range(QUERIES):
        docs = random.choice(DOCUMENTS, 3, replace=False).tolist()
        spans = [[(doc, start, start + 30) for start in random.integers(0, 200, 2).tolist()] for doc in docs[:2]]
        queries.append({"qrels": {docs[0]: 2, docs[1]: 1, docs[2]: 0}, "needs": spans})
        hits.append(random.choice(len(chunks), CHUNKS, replace=False).tolist())
    return texts, queries, chunks, hits


def _table(labels: Labels, retrieved: Retrieved, spans: str) -> pd.DataFrame:
    table = evaluate(labels, retrieved, [*EVERY, *AT_TOKENS], spans)
    return table.pivot(index="metric", columns="query", values=["value", "attainable"])


@pytest.mark.parametrize("spans", ["exact", "chroma"])
def test_queries_do_not_see_each_other(world, make_labels, make_retrieved, spans: str) -> None:
    texts, queries, chunks, hits = world
    before = _table(make_labels(texts, *queries), make_retrieved(chunks, *hits), spans)
    order = [3, 5, 0, 1, 4, 2]
    after = _table(make_labels(texts, *[queries[q] for q in order]), make_retrieved(chunks, *[hits[q] for q in order]), spans)
    for position, q in enumerate(order):
        for column in ("value", "attainable"):
            np.testing.assert_array_equal(after[column][position], before[column][q])


@pytest.mark.parametrize("spans", ["exact", "chroma"])
def test_what_lies_beyond_the_cut_does_not_count(world, make_labels, make_retrieved, spans: str) -> None:
    # 3 documents may need all ten hits, 20 tokens fewer than ten chunks.
    texts, queries, chunks, hits = world
    labels = make_labels(texts, *queries)
    metrics = [metric for metric in [*EVERY, *AT_TOKENS] if metric.family in ("hits", "chunks", "spans")]
    whole = evaluate(labels, make_retrieved(chunks, *hits), metrics, spans)
    cut = evaluate(labels, make_retrieved(chunks, *[row[:6] for row in hits]), metrics, spans)
    pd.testing.assert_frame_equal(whole, cut)


@pytest.mark.parametrize("spans", ["exact", "chroma"])
def test_delivering_a_text_twice_raises_no_recall(world, make_labels, make_retrieved, spans: str) -> None:
    texts, queries, chunks, hits = world
    labels = make_labels(texts, *queries)
    once = _table(labels, make_retrieved(chunks, *hits), spans)["value"]
    # Every chunk has a twin that is searched elsewhere and delivers the same slice.
    twins = chunks + [(doc, start, end - 1, start, end) for doc, start, end in chunks]
    twice = _table(labels, make_retrieved(twins, *[[c for row in q for c in (row, row + len(chunks))] for q in hits]), spans)["value"]
    # (Margins move: the fixture's scores are 1 / rank.)
    pd.testing.assert_frame_equal(once.drop(["margin", "margin_spread"]), twice.drop(["margin", "margin_spread"]))
    # The same text in a slice of its own fills a place and is paid for, but adds nothing.
    longer = chunks + [(doc, start, end + 1) for doc, start, end in chunks]
    repeated = _table(labels, make_retrieved(longer, *[[c for row in q for c in (row, row + len(chunks))] for q in hits]), spans)["value"]
    distinct = _table(labels, make_retrieved([(d, s, e + 1) for d, s, e in chunks], *hits), spans)["value"]
    recalls = [f"span_recall@{K}", f"need_recall@{K}", f"hit_recall@{K}", "span_recall@20t"]
    assert (repeated.loc[recalls] <= distinct.loc[recalls] + 1e-12).all(axis=None)


def test_more_documents_never_lower_recall(world, make_labels, make_retrieved) -> None:
    texts, queries, chunks, hits = world
    names = ("recall", "success", "mrr", "map", "hit_recall", "irrelevant")
    metrics = [Metric(name, k=k) for name in names for k in (1, 2, 3, 4)]
    table = evaluate(make_labels(texts, *queries), make_retrieved(chunks, *hits), metrics)
    for name in names:
        values = table[table["metric"].str.startswith(f"{name}@")].pivot(index="query", columns="metric", values="value")
        assert (np.diff(values.to_numpy(dtype=float)) >= 0).all()


def test_proportions_lie_between_0_and_what_is_attainable(world, make_labels, make_retrieved) -> None:
    texts, queries, chunks, hits = world
    table = evaluate(make_labels(texts, *queries), make_retrieved(chunks, *hits), [m for m in [*EVERY, *AT_TOKENS] if m.proportion])
    assert table["value"].between(0, 1).all()
    assert (table["value"] <= table["attainable"].fillna(1) + 1e-12).all()
