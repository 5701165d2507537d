"""What is held in memory while a corpus is cut, its vectors are stored and it is searched exactly, at several sizes.

Every size runs in a new process through the stages themselves: chunking (`sentence`), vectors (item cache, then the entry's
array) and exact search. The text is made by rule, a document at a time; its vectors too, by an embedder that hashes a text into a
direction. Anonymous memory (RssAnon) is what counts: pages of mapped files are given back when they are needed elsewhere.
"""

import hashlib
import itertools
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from workbench.chunking.sentence import SentenceChunker
from workbench.core import batching
from workbench.datasets.sources import NfcorpusSource
from workbench.embedding.base import Embedder, Role
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.metrics.names import Metric
from workbench.models.files import MINILM
from workbench.models.tokenizers import Ints, model_tokenizer
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.records import Dataset, Document, Query
from workbench.retrieval.dense import DenseRetriever
from workbench.storage.result_store import Entry
from workbench.storage.vector_cache import Vectors

SIZES = (250_000, 1_000_000)
BLOCKS = (8_000_000, 32_000_000)
DIMENSION = 384
QUERIES = 300
# Room for a sentence of 20 to 28 words of one token each, not for two.
_TOKENS = 32
_SENTENCES = 25
_TOPICS = 2_000
_SAMPLED_SECONDS = 0.02


class HashingEmbedder(Embedder):
    """Unit vectors around the direction of a text's first word, by hashing: as clustered as a model's, and as fast as arithmetic."""

    kind: Literal["hashing"] = "hashing"
    model: str = "hashing"
    dimension: ClassVar[int] = DIMENSION

    @property
    def vocabulary(self) -> str:
        """The bundled model's, for the chunker."""
        return MINILM

    def identity(self, role: Role) -> dict[str, Any]:
        """The kind and the dimension."""
        return {"kind": self.kind, "dimension": self.dimension}

    def window(self) -> int:
        """More than any chunk has."""
        return 512

    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        """Words."""
        return np.array([text.count(" ") + 1 for text in texts], dtype=np.int64)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """A topic's direction, and half as much of the text's own."""
        own = np.stack([_direction(text.encode()) for text in texts])
        topics = np.stack([_direction(b"topic %d" % (hash_of(text.partition(" ")[0].encode()) % _TOPICS)) for text in texts])
        mixed = topics + own / 2
        vectors: Vectors = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
        return vectors


def hash_of(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def _direction(content: bytes) -> Vectors:
    """Numbers around 0 from the bytes that a hash is stretched to: float32 (dimension)."""
    raw = np.frombuffer(hashlib.shake_128(content).digest(DIMENSION), dtype=np.uint8)
    return raw.astype(np.float32) - 127.5


def documents(chunks: int) -> Iterator[Document]:
    """Documents of 25 sentences in the words of the bundled model's vocabulary, the frequent ones first as there: a chunk a sentence."""
    vocabulary = model_tokenizer(MINILM).get_vocab(with_added_tokens=False)
    words = [word for word in sorted(vocabulary, key=vocabulary.__getitem__) if word.isascii() and word.isalpha() and len(word) > 1]
    weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(words))))
    for number in range(chunks // _SENTENCES):
        own = random.Random(number)
        lines = [" ".join(own.choices(words, cum_weights=weights, k=own.randint(20, 28))).capitalize() for _ in range(_SENTENCES)]
        yield Document(f"document-{number}", ". ".join(lines) + ".")


def synthetic(chunks: int, size: int) -> dict[str, Any]:
    """Chunk, store and search exactly about `chunks` chunks, without Chroma, which holds its whole index in memory."""
    batching.BYTES = size
    corpus = tuple(documents(chunks))
    queries = tuple(Query(f"q{number}", document.text[:60]) for number, document in enumerate(corpus[:QUERIES]))
    configuration = Configuration("sentence", SentenceChunker(size=_TOKENS), HashingEmbedder(), DenseRetriever(k=10))
    seen = Seen()
    with context_on(Dataset("synthetic", corpus, queries, ()), indexed=False) as run:
        finished = Finished(run, configuration)
        with seen.during("chunking"):
            finished.obtain("chunks")
        with seen.during("vectors"):
            finished.obtain("vectors", "queries")
        with seen.during("search"):
            finished.obtain("hits")
        assert finished.entry("hits").table("exact_hits")["query"].nunique() == len(queries)
        many = len(finished.entry("chunks").table("chunks"))
    return {"chunks": many, "block_bytes": size, "text_mb": sum(len(document.text) for document in corpus) / 1e6, **seen.figures}


def nfcorpus() -> dict[str, Any]:
    """Every stage on NFCorpus in chunks of whole sentences of up to 128 tokens, by the default encoder, with Chroma's index."""
    dataset = NfcorpusSource().load()
    embedder = SentenceTransformerEmbedder()
    configuration = Configuration("sentence-128", SentenceChunker(size=128), embedder, DenseRetriever())
    seen = Seen()
    with context_on(dataset) as run:
        finished = Finished(run, configuration)
        with seen.during("chunking"):
            finished.obtain("chunks")
        with seen.during("vectors and index"):
            finished.obtain("vectors", "queries", "index")
        with seen.during("search"):
            finished.obtain("hits")
        with seen.during("scores"):
            finished.obtain("scores")
        many = len(finished.entry("chunks").table("chunks"))
    return {"chunks": many, "encoder": embedder.encoder().name, **seen.figures}


@contextmanager
def context_on(dataset: Dataset, indexed: bool = True) -> Iterator[RunContext]:
    """A dataset in a temporary workspace, which is deleted in the end."""
    with tempfile.TemporaryDirectory() as folder:
        yield RunContext(Workspace(Path(folder), Path(folder) / "store"), dataset, (Metric.parse("ndcg@10"),), "exact", indexed=indexed)


class Finished:
    """The finished results of a configuration, obtained a few stages at a time."""

    def __init__(self, run: RunContext, configuration: Configuration) -> None:
        self._graph, self._configuration = Graph(run), configuration
        self._entries: dict[str, dict[str, Entry]] = {}

    def obtain(self, *stages: str) -> None:
        """Compute the results of these stages, whose inputs are there."""
        for node in self._graph.nodes(self._configuration, stages):
            self._entries.setdefault(node.stage, {})[node.part] = self._graph.obtain(node, self._entries)

    def entry(self, stage: str) -> Entry:
        """The result of a stage that is stored in one part."""
        return next(iter(self._entries[stage].values()))


class Seen:
    """The greatest anonymous memory (MB) and the seconds of each stage; `documents` is what is held before the first."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, float]] = {"peak_mb": {"documents": anonymous()}, "seconds": {}}

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        """Looks fifty times a second while it is open."""
        ended = threading.Event()
        seen = [anonymous()]

        def watch() -> None:
            while not ended.wait(_SAMPLED_SECONDS):
                seen.append(anonymous())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        started = time.perf_counter()
        try:
            yield
        finally:
            self.figures["seconds"][stage] = round(time.perf_counter() - started, 1)
            ended.set()
            watcher.join()
            self.figures["peak_mb"][stage] = max(seen)


def anonymous() -> float:
    """This process's anonymous memory now, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1e3


def run(sizes: Sequence[int] = SIZES, block_bytes: Sequence[int] = BLOCKS) -> dict[str, Any]:
    """Peaks by size and block, and the bytes that each further chunk adds, its text among them; NFCorpus with the real encoder."""
    runs = [_apart(str(chunks), str(size)) for size in block_bytes for chunks in sizes]
    growth = {}
    for size in block_bytes:
        few, *_, many = (found for found in runs if found["block_bytes"] == size)
        more = many["chunks"] - few["chunks"]
        growth[str(size)] = {stage: (many["peak_mb"][stage] - few["peak_mb"][stage]) * 1e6 / more for stage in many["peak_mb"]}
    return {"runs": runs, "bytes_a_chunk": growth, "nfcorpus": _apart("nfcorpus")}


def _apart(*arguments: str) -> dict[str, Any]:
    """Run this file on these arguments in a new process and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.memory", *arguments]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["nfcorpus"]:
            print(json.dumps(nfcorpus()))
        case [chunks, size]:
            print(json.dumps(synthetic(int(chunks), int(size))))
