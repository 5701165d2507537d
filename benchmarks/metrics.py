"""Ten metrics of 10,000 queries with 100 hits each, against pytrec_eval by itself on the document metrics that both have.

The data are synthetic: 2,000 documents of 600 words, cut into chunks of 80 words that overlap by 16. A query has one to three relevant
documents, one to three needs with a span of evidence each, and 100 hits, of which those with evidence tend to rank first.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd
import pytrec_eval

from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric

QUERIES, HITS, DOCUMENTS = 10_000, 100, 2_000
WORDS, SIZE, STEP = 600, 80, 64
ROUNDS = 5
# trec_eval's name for each document metric; it does not cut reciprocal rank, so mrr is computed over all hits.
TREC = {
    "recall@5": "recall_5",
    "recall@100": "recall_100",
    "precision@5": "P_5",
    "success@5": "success_5",
    "mrr@100": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
}
SPANS = ("span_recall@2000t", "span_precision@2000t", "need_recall@2000t", "span_recall@5")
Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]


def run() -> dict[str, object]:
    """CPU seconds of each side, medians of rounds in which the sides take turns, their ratios, and the largest difference of any value.

    All sides use one thread, so on an otherwise idle machine CPU seconds equal wall seconds.
    """
    labels, retrieved = world()
    # Cached properties, which a sweep's chunker has filled before.
    _ = labels.token_starts, labels.blanks
    ready = dictionaries(labels, retrieved)
    sides: dict[str, Callable[[], object]] = {
        "workbench, ten metrics": lambda: evaluate(labels, retrieved, [Metric.parse(name) for name in (*TREC, *SPANS)]),
        "workbench, document metrics": lambda: evaluate(labels, retrieved, [Metric.parse(name) for name in TREC]),
        "pytrec_eval, script": lambda: script(labels, retrieved),
        "pytrec_eval, dictionaries there": lambda: trec(*ready),
    }
    rounds = [{name: seconds(side) for name, side in sides.items()} for _ in range(ROUNDS)]
    largest = difference(labels, retrieved)
    assert largest <= 1e-9, largest
    return {
        "queries": QUERIES,
        "hits": HITS,
        "metrics": [*TREC, *SPANS],
        "seconds": {name: round(median(times[name] for times in rounds), 3) for name in sides},
        "ratios": {
            f"workbench, document metrics / {name}": round(
                median(times["workbench, document metrics"] / times[name] for times in rounds), 2
            )
            for name in list(sides)[2:]
        },
        "largest difference": largest,
    }


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def script(labels: Labels, retrieved: Retrieved) -> pd.DataFrame:
    """The script without Workbench: convert frames to dictionaries, run pytrec_eval, convert its result to a frame."""
    qrels, ranked = dictionaries(labels, retrieved)
    return pd.DataFrame.from_dict(trec(qrels, ranked), orient="index")


def dictionaries(labels: Labels, retrieved: Retrieved) -> tuple[Qrels, Run]:
    """Judgements and ranking as pytrec_eval reads them."""
    qrels: Qrels = {}
    for query, doc, grade in zip(labels.qrel_query.tolist(), labels.qrel_doc.tolist(), labels.qrel_relevance.tolist(), strict=True):
        qrels.setdefault(f"q{query}", {})[f"d{doc}"] = grade
    ranked: Run = {}
    rows = retrieved.ranking
    for query, doc, score in zip(rows["query"].tolist(), rows["doc"].tolist(), rows["score"].tolist(), strict=True):
        ranked.setdefault(f"q{query}", {})[f"d{doc}"] = score
    return qrels, ranked


def trec(qrels: Qrels, ranked: Run) -> dict[str, dict[str, float]]:
    measures = {"recall.5,100", "P.5", "success.5", "recip_rank", "ndcg_cut.10"}
    found: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(ranked)
    return found


def difference(labels: Labels, retrieved: Retrieved) -> float:
    """The largest difference of a value between both sides."""
    theirs = trec(*dictionaries(labels, retrieved))
    ours = evaluate(labels, retrieved, [Metric.parse(name) for name in TREC]).set_index(["metric", "query"])["value"]
    found = [
        np.abs(ours[name].to_numpy() - [theirs[f"q{query}"][trec_name] for query in range(QUERIES)]) for name, trec_name in TREC.items()
    ]
    return float(np.max(found))


def world(seed: int = 0) -> tuple[Labels, Retrieved]:
    """Labels and results."""
    random = np.random.default_rng(seed)
    vocabulary = np.array(["".join(letters) for letters in random.choice(list("aeilnorst"), size=(4_000, 6))])
    texts = tuple(" ".join(words) for words in vocabulary[random.integers(0, len(vocabulary), (DOCUMENTS, WORDS))])
    width = len(texts[0]) // WORDS + 1
    chunks = _chunks(width)
    needs = random.integers(1, 4, QUERIES)
    need_query = np.repeat(np.arange(QUERIES), needs)
    gold = random.integers(0, DOCUMENTS, len(need_query))
    start = random.integers(0, WORDS - 40, len(need_query)) * width
    offsets = np.arange(DOCUMENTS + 1, dtype=np.int64) * (len(texts[0]) + 1)
    pairs = np.unique(need_query * DOCUMENTS + gold)
    labels = Labels(
        texts=texts,
        answerable=np.ones(QUERIES, dtype=np.bool_),
        offsets=offsets,
        qrel_query=pairs // DOCUMENTS,
        qrel_doc=pairs % DOCUMENTS,
        qrel_relevance=random.integers(1, 4, len(pairs)),
        need_query=need_query,
        alternative_need=np.arange(len(need_query)),
        alternative_doc=gold,
        alternative_start=offsets[gold] + start,
        alternative_end=offsets[gold] + start + random.integers(10, 40, len(need_query)) * width - 1,
    )
    return labels, _retrieved(random, labels, chunks, start // width)


def _chunks(width: int) -> pd.DataFrame:
    firsts = np.arange(0, WORDS - SIZE + STEP, STEP)
    starts = np.tile(firsts * width, DOCUMENTS)
    ends = np.tile(np.minimum(firsts + SIZE, WORDS) * width - 1, DOCUMENTS)
    places = {"start": starts, "end": ends, "delivered_start": starts, "delivered_end": ends}
    return pd.DataFrame({"doc": np.repeat(np.arange(DOCUMENTS), len(firsts)), **places})


def _retrieved(random: np.random.Generator, labels: Labels, chunks: pd.DataFrame, word: Ints) -> Retrieved:
    """Random chunks; the chunk of each need gets a rank that is usually small."""
    each = len(chunks) // DOCUMENTS
    hits = (random.integers(0, len(chunks), (QUERIES, 1)) + 7 * np.arange(HITS)) % len(chunks)
    hits[labels.need_query, np.minimum(random.geometric(0.15, len(word)), HITS) - 1] = labels.alternative_doc * each + np.minimum(
        word // STEP, each - 1
    )
    scores: Floats = -np.sort(-random.random((QUERIES, HITS)), axis=1)
    table = pd.DataFrame({"query": np.repeat(np.arange(QUERIES), HITS), "chunk": hits.ravel(), "score": scores.ravel()})
    table = _ranked(table.drop_duplicates(["query", "chunk"]))
    ranking = _ranked(table.assign(doc=chunks["doc"].to_numpy()[table["chunk"]]).drop_duplicates(["query", "doc"]))
    return Retrieved(chunks, table, ranking, np.full(QUERIES, 0.1))


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(rank=table.groupby("query").cumcount() + 1).reset_index(drop=True)
