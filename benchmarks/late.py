"""Seven chunkings of covid-qa embedded in both ways, in one process, taking turns: each chunking's texts, or each document once (`pooling: late`).

Both sides use the same documents, windows and vector cache; chunking and search are not timed. Chunks of 400 tokens that are embedded
separately have a window of 512, so that nothing is truncated. benchmarks/late_quality.py measures the effect on retrieval.
"""

import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pandas as pd

from workbench.components.chunking.plain import FixedChunker
from workbench.components.embedding.embed import EncoderChunks, embed, in_memory
from workbench.components.embedding.registry import chunk_encoder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.records import Chunk, Document
from workbench.core.storage.vector_cache import VectorCache
from workbench.data.sources import BeirSource

DOCUMENTS, ROUNDS = 40, 3
SIZES = ((64, 0), (128, 0), (128, 64), (256, 0), (256, 128), (400, 0), (400, 200))
LATE = SentenceTransformerEmbedder(pooling="late")


def run(count: int = DOCUMENTS, rounds: int = ROUNDS) -> dict[str, object]:
    """Seconds, tokens encoded and the ratio of each round: standard to late, and late to one chunking of 256 tokens alone."""
    documents = BeirSource(path="$WORKBENCH_DATA/covid-qa").load().documents[:count]
    chunkings = {size: [FixedChunker(size=size[0], overlap=size[1]).split(document) for document in documents] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        warm = VectorCache(Path(folder) / "warm.sqlite")
        standard({size: chunks[:1] for size, chunks in chunkings.items()}, warm)
        late(documents[:1], {size: chunks[:1] for size, chunks in chunkings.items()}, warm)
        found = []
        for number in range(rounds):
            caches = VectorCache(Path(folder) / f"{number}-standard.sqlite"), VectorCache(Path(folder) / f"{number}-late.sqlite")
            found.append({"standard": standard(chunkings, caches[0]), "late": late(documents, chunkings, caches[1])})
    return {
        "documents": len(documents),
        "chunkings": [f"fixed {size}/{overlap}" for size, overlap in SIZES],
        "tokens_encoded": {side: found[0][side][1] for side in found[0]},
        "seconds": [{side: round(seconds, 2) for side, (seconds, _) in row.items()} for row in found],
        "ratio": round(statistics.median(row["standard"][0] / row["late"][0] for row in found), 2),
    }


def standard(chunkings: dict[tuple[int, int], list[list[Chunk]]], cache: VectorCache) -> tuple[float, int]:
    """Seconds and tokens of embedding each chunking's texts."""
    started, tokens = time.perf_counter(), 0
    for (size, _), chunks in chunkings.items():
        texts = [chunk.embedded_text for found in chunks for chunk in found]
        embedder = SentenceTransformerEmbedder(max_tokens=512 if size > 256 else None)
        tokens += embed(texts, embedder, "document", cache).tokens_encoded
    return time.perf_counter() - started, tokens


def late(documents: tuple[Document, ...], chunkings: dict[tuple[int, int], list[list[Chunk]]], cache: VectorCache) -> tuple[float, int]:
    """Seconds and tokens of one pass for all chunkings, each chunking's vectors read back as a stage reads them."""
    columns = ["doc", "start", "end", "header"]
    tables = [
        pd.DataFrame([(doc, one.start, one.end, one.header) for doc, found in enumerate(chunks) for one in found], columns=columns)
        for chunks in chunkings.values()
    ]
    # Pooling reads the documents, so the chunks need no texts.
    started, tokens = time.perf_counter(), 0
    for place, table in enumerate(tables):
        chunks, peers = EncoderChunks(documents, table, ()), partial(tuple, tables[place + 1 :])
        tokens += chunk_encoder(LATE).embed(chunks, cache, "late", in_memory, peers).tokens_encoded
    return time.perf_counter() - started, tokens


if __name__ == "__main__":
    print(json.dumps(run(*(int(number) for number in sys.argv[1:])), indent=2))
