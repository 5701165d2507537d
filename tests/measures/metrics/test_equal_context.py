"""Why chunkings are ranked at equal context: at a fixed k the bigger chunk wins by construction."""

import itertools

import numpy as np
import pytest

from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.names import Metric

SENTENCES, DOCUMENTS, QUERIES, SEED = 60, 20, 120, 11


@pytest.fixture(scope="module")
def corpus():
    """Documents in sections of 10 sentences of 12 words, 4 of them of the section's topic, the others Zipf-distributed.

    A query has two words of one sentence, its evidence, and two of the section's topic: a retriever finds the right
    neighbourhood more easily than the right sentence, as it does in real text.
    """
    random = np.random.default_rng(SEED)
    words = np.array(["".join(random.choice(list("abdefgiklmnorstu"), size)) for size in random.integers(3, 9, 3000)])
    chance = 1 / np.arange(1, len(words) + 1)
    ids = random.choice(len(words), (DOCUMENTS, SENTENCES, 12), p=chance / chance.sum())
    topics = random.integers(0, len(words), (DOCUMENTS, SENTENCES // 10, 8)).repeat(10, axis=1)
    ids[:, :, :4] = np.take_along_axis(topics, random.integers(0, 8, (DOCUMENTS, SENTENCES, 4)), axis=2)
    texts, spans = [], np.zeros((DOCUMENTS, SENTENCES, 2), dtype=int)
    for doc in range(DOCUMENTS):
        sentences = [" ".join(words[row]) + "." for row in ids[doc]]
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
        spans[doc] = np.column_stack([ends - [len(sentence) + 1 for sentence in sentences], ends - 1])
        texts.append(" ".join(sentences))
    places = random.integers(0, (DOCUMENTS, SENTENCES), (QUERIES, 2))
    asked = np.array([[*random.choice(ids[doc, s], 2), *random.choice(topics[doc, s], 2)] for doc, s in places])
    return texts, spans, ids, places, asked


def _retrieve(corpus, make_retrieved, size: int):
    """Chunks of `size` sentences, ranked by tf-idf cosine with the query."""
    texts, spans, ids, _, asked = corpus
    chunks = [(doc, spans[doc, s, 0], spans[doc, s + size - 1, 1]) for doc in range(len(texts)) for s in range(0, SENTENCES, size)]
    counts = np.zeros((len(chunks), 3000))
    np.add.at(counts, (np.repeat(np.arange(len(chunks)), size * 12), ids.reshape(-1)), 1)
    weights = counts * np.log(len(chunks) / np.maximum((counts > 0).sum(0), 1))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    scores = np.array([weights[:, query].sum(1) for query in asked])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :40]
    return make_retrieved(chunks, *order.tolist())


def test_doubling_the_chunks_wins_at_fixed_k_but_not_at_equal_context(corpus, make_labels, make_retrieved) -> None:
    texts, spans, _, places, _ = corpus
    labels = make_labels(texts, *[{"qrels": {doc: 1}, "needs": [[(doc, *spans[doc, s])]]} for doc, s in places.tolist()])
    metrics = [Metric("span_recall", k=3), Metric("span_recall", tokens=150), Metric("span_recall", tokens=300)]
    sizes = [evaluate(labels, _retrieve(corpus, make_retrieved, size), metrics).groupby("metric")["value"].mean() for size in (1, 2, 4)]
    for small, big in itertools.pairwise(sizes):
        assert big["span_recall@3"] > small["span_recall@3"] + 0.02
        assert big["span_recall@150t"] < small["span_recall@150t"]
        assert big["span_recall@300t"] < small["span_recall@300t"] + 0.02
