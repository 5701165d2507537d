"""Rerank the 100 best documents of NFCorpus for each question, against the usual loops: pairs of question and document per second.

Late interaction is compared with a loop that encodes the question and the document of each pair with the same model, backend and window. A
cross-encoder is compared with `CrossEncoder.predict`, called for each question; the model has the size of ms-marco-MiniLM-L6-v2 and random
weights, on which speed does not depend. Candidates come from BM25. Late interaction reranks 1,000 questions (`--documents` gives another
number), its loop 4 of them; the cross-encoder and its loop rerank the same 6. Each loop runs half before and half after Workbench.
"""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_least, at_most
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.reranking.base import Candidates, Floats, PairReranker
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.reranking.late_interaction import LateInteractionReranker, token_vectors
from workbench.components.retrieval.base import Corpus, QueryBatch, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.environment import data_folder
from workbench.llm.models.files import MINILM, locate

NEEDS = ("nfcorpus",)
QUESTIONS, CANDIDATES = 1_000, 100
# Questions of the loop beside late interaction, and of both sides with the cross-encoder, which are slow.
LOOP, CROSS_ENCODED = 4, 6
WINDOW = 256


def run(documents: int = QUESTIONS) -> dict[str, Any]:
    """Pairs per second of both rerankers and of their loops, and how far their scores differ."""
    pools = nfcorpus_pools(documents)
    embedder = SentenceTransformerEmbedder(max_tokens=WINDOW)
    late = compared(LateInteractionReranker().beside(embedder), pools, spread(pools, LOOP), lambda pool: naive(pool, embedder))
    with tempfile.TemporaryDirectory() as folder:
        model = save_model(Path(folder))
        few = spread(pools, CROSS_ENCODED)
        cross = compared(CrossEncoderReranker(model=model, max_tokens=WINDOW), few, few, predicting(model))
    return {
        "questions": len(pools),
        "encoder": embedder.encoder().name,
        "late interaction": late,
        "cross-encoder": cross,
        "claims": [
            at_least("late interaction, times the pairs/s of the loop", late["ratio"], 8.0),
            at_most("cross-encoder, largest difference of a score", cross["largest_difference"], 1e-4),
        ],
    }


def compared(
    reranker: PairReranker, pools: Sequence[Candidates], sample: Sequence[Candidates], loop: Callable[[Candidates], Floats]
) -> dict[str, Any]:
    """Time a reranker on all pools, and a loop on a sample of them, half before and half after."""
    half = len(sample) // 2
    warm = Candidates(pools[0].query, pools[0].texts[:1], np.zeros(1))
    reranker.scores([warm], MemoryVectorCache())
    loop(warm)
    first, found = timed(lambda: [loop(pool) for pool in sample[:half]])
    seconds, scores = timed(lambda: reranker.scores(pools, MemoryVectorCache()))
    second, rest = timed(lambda: [loop(pool) for pool in sample[half:]])
    of_pool = {id(pool): own for pool, own in zip(pools, scores, strict=True)}
    differences = [np.abs(of_pool[id(pool)] - theirs).max() for pool, theirs in zip(sample, [*found, *rest], strict=True)]
    ours, theirs = pairs(pools) / seconds, pairs(sample) / (first + second)
    return {
        "pairs": pairs(pools),
        "texts": len({text for pool in pools for text in pool.texts}),
        "seconds": round(seconds, 2),
        "pairs_per_second": round(ours, 1),
        "loop_pairs": pairs(sample),
        "loop_seconds": round(first + second, 2),
        "loop_pairs_per_second": round(theirs, 1),
        "ratio": round(ours / theirs, 2),
        "largest_difference": float(f"{max(differences):.2g}"),
    }


def naive(pool: Candidates, embedder: SentenceTransformerEmbedder) -> Floats:
    """Encode the question and the document of each pair, and compare their tokens."""
    scores = np.empty(len(pool.texts))
    for place, text in enumerate(pool.texts):
        query = token_vectors([pool.query], embedder, "query")[pool.query]
        tokens = token_vectors([text], embedder, "document")[text]
        scores[place] = (query @ tokens.T).max(axis=1).mean(dtype=np.float64)
    return scores


def predicting(model: str) -> Callable[[Candidates], Floats]:
    """Return a function that scores one question's candidates with the library's `predict` and its usual batches of 32."""
    import torch
    from sentence_transformers import CrossEncoder

    loaded = CrossEncoder(model, device="cuda" if torch.cuda.is_available() else "cpu", max_length=WINDOW)

    def predict(pool: Candidates) -> Floats:
        rows = [(pool.query, text) for text in pool.texts]
        return np.asarray(loaded.predict(rows, activation_fn=torch.nn.Identity(), show_progress_bar=False), dtype=np.float64)

    return predict


def nfcorpus_pools(questions: int) -> list[Candidates]:
    """The best candidates of the first questions that match any document."""
    folder = data_folder() / "nfcorpus"
    rows, asked = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()] for name in ("corpus.jsonl", "queries.jsonl")
    )
    texts, queries = [f"{row['title']} {row['text']}" for row in rows], [row["text"] for row in asked][:questions]
    places, breakers = np.arange(len(texts)), tie_breakers([row["_id"] for row in rows])
    corpus = Corpus([row["_id"] for row in rows], places, places, np.ones(len(texts), np.int64), breakers, breakers, texts=texts)
    hits = BM25Retriever(k=CANDIDATES).retrieve(QueryBatch(queries), corpus, SearchDepth(CANDIDATES, 0, 1)).hits
    best = hits[hits["rank"] <= CANDIDATES]
    return [
        Candidates(queries[int(str(query))], [texts[chunk] for chunk in found["chunk"]], found["score"].to_numpy(np.float64))
        for query, found in best.groupby("query")
    ]


def save_model(folder: Path) -> str:
    """Save a cross-encoder of the size of ms-marco-MiniLM-L6-v2 with random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    BertForSequenceClassification(BertConfig(**sizes, num_labels=1)).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((locate(MINILM) / "tokenizer.json").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "model_max_length": 512}))
    return str(folder)


def spread(pools: Sequence[Candidates], number: int) -> list[Candidates]:
    """Some pools at equal distances."""
    return [pools[place] for place in np.linspace(0, len(pools) - 1, min(number, len(pools))).astype(int).tolist()]


def pairs(pools: Sequence[Candidates]) -> int:
    return sum(len(pool.texts) for pool in pools)


def timed(work: Callable[[], list[Floats]]) -> tuple[float, list[Floats]]:
    started = time.perf_counter()
    done = work()
    return time.perf_counter() - started, done
