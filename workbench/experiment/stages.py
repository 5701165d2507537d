"""What each stage computes, and how it is read back: documents → chunks → vectors → index → hits → scores."""

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.chunking.base import embedded_text
from workbench.embedding.base import Embedder, Usage
from workbench.embedding.cache import VectorCache
from workbench.embedding.embed import embed
from workbench.embedding.held import vectors_kept_in
from workbench.experiment.keys import Identity, Keys, keys_of
from workbench.experiment.spec import Configuration
from workbench.index import build_index, folder_bytes
from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.records import Chunk, Dataset
from workbench.remote import RemoteStore
from workbench.retrieval.base import Asked, Depth, Ranked, Searchable
from workbench.retrieval.rank import Floats, tie_breakers
from workbench.store import Draft, Entry, Store
from workbench.tokens import BUDGET_VOCABULARY, tokenise

_TIMED_QUERIES = 50
_LISTED = 100


@dataclass(frozen=True)
class Spent:
    """What was encoded for a stage before it ran, by workers: tokens, what a provider counted, and the workers' seconds."""

    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.usage + other.usage, self.seconds + other.seconds)


@dataclass(frozen=True)
class Workplace:
    """Where results are kept: everything under one outputs folder shares them. `spent` is what workers encoded, by the vectors' key.

    A store under a `url` is shared by machines; `store_root` is then this machine's copy of it.
    """

    outputs: Path
    store_root: Path
    url: str = ""
    spent: dict[str, Spent] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def store(self) -> Store:
        """The results of stages."""
        return RemoteStore(self.url, self.store_root) if self.url else Store(self.store_root)

    @cached_property
    def vectors(self) -> VectorCache:
        """The vectors of texts."""
        return VectorCache(self.store_root / "vectors.sqlite")

    @property
    def indexes(self) -> Path:
        """The folder of the Chroma indexes."""
        return self.outputs / ".indexes"


@dataclass(frozen=True)
class Bench:
    """One dataset with the metrics asked of it, in a workplace: all that a configuration needs to be run."""

    workplace: Workplace
    dataset: Dataset
    metrics: tuple[Metric, ...]
    spans: Literal["exact", "chroma"]

    @cached_property
    def identity(self) -> Identity:
        """The dataset's fingerprints."""
        return Identity(self.dataset)

    @cached_property
    def labels(self) -> Labels:
        """The dataset's judgements as arrays."""
        return Labels.of(self.dataset)

    def keys(self, configuration: Configuration) -> Keys:
        """The keys of a configuration's stages."""
        return keys_of(configuration, self.identity, self.depth(configuration), self.metrics, self.spans)

    def depth(self, configuration: Configuration) -> Depth:
        """How far the metrics make a configuration look; 100 documents are listed, for margins and run files."""
        slices = [metric.k for metric in self.metrics if metric.bounded_by_k and metric.k is not None]
        documents = [metric.k for metric in self.metrics if metric.family == "documents" and metric.k is not None]
        budgets = [metric.tokens for metric in self.metrics if metric.tokens is not None]
        return Depth(max([configuration.retrieval.k, *slices]), max([0, *budgets]), max([1, *documents]), listed=_LISTED)


def chunks_stage(bench: Bench, configuration: Configuration) -> Entry:
    """Table `chunks`: doc, start, end, delivered_start, delivered_end, header, tokens (of the delivered slice, budget vocabulary)."""

    def compute(draft: Draft) -> None:
        documents = bench.dataset.documents
        tokenise([document.text for document in documents], configuration.chunking.vocabulary)
        budget = tokenise([document.text for document in documents], BUDGET_VOCABULARY)
        parts = []
        with vectors_kept_in(bench.workplace.vectors):
            found_in = [configuration.chunking.split(document) for document in documents]
        for place, (found, tokens) in enumerate(zip(found_in, budget, strict=True)):
            starts = np.array([chunk.delivered[0] for chunk in found], dtype=np.int64)
            ends = np.array([chunk.delivered[1] for chunk in found], dtype=np.int64)
            parts.append(
                pd.DataFrame(
                    {
                        "doc": np.full(len(found), place),
                        "start": np.array([chunk.start for chunk in found], dtype=np.int64),
                        "end": np.array([chunk.end for chunk in found], dtype=np.int64),
                        "delivered_start": starts,
                        "delivered_end": ends,
                        "header": pd.array([chunk.header for chunk in found], dtype="str"),
                        "tokens": tokens.before(ends) - tokens.before(starts),
                    }
                )
            )
        draft.table("chunks", pd.concat(parts, ignore_index=True))

    return bench.workplace.store.obtain("chunks", bench.keys(configuration).chunks, compute)


def chunks_of(bench: Bench, table: pd.DataFrame) -> list[Chunk]:
    """The records of a table of chunks."""
    ids = [document.doc_id for document in bench.dataset.documents]
    parents = zip(table["delivered_start"].tolist(), table["delivered_end"].tolist(), strict=True)
    rows = zip(table["doc"], table["start"].tolist(), table["end"].tolist(), table["header"], parents, strict=True)
    return [Chunk(ids[doc], start, end, header, parent if parent != (start, end) else None) for doc, start, end, header, parent in rows]


def embedder_inputs(bench: Bench, table: pd.DataFrame) -> list[str]:
    """What is embedded for each chunk: its header and its slice."""
    documents = [bench.dataset.documents[doc] for doc in table["doc"]]
    return [embedded_text(document, chunk) for document, chunk in zip(documents, chunks_of(bench, table), strict=True)]


@dataclass(frozen=True)
class Embedded:
    """The stages of a configuration that uses vectors: of its chunks, of the queries, and their index."""

    vectors: Entry
    queries: Entry
    index: Path
    index_seconds: float
    index_built: bool


def embedded_stages(bench: Bench, configuration: Configuration, chunks: Entry) -> Embedded | None:
    """Vectors and index; None where the configuration uses none."""
    if configuration.embedding is None:
        return None
    vectors = vectors_stage(bench, configuration.embedding, configuration, chunks)
    queries = queries_stage(bench, configuration.embedding, configuration)
    folder = bench.workplace.indexes / str(bench.keys(configuration).index)
    started = time.perf_counter()
    built = build_index(folder, chunks_of(bench, chunks.table("chunks")), np.asarray(vectors.array("vectors")))
    return Embedded(vectors, queries, folder, time.perf_counter() - started, built)


def vectors_stage(bench: Bench, embedder: Embedder, configuration: Configuration, chunks: Entry) -> Entry:
    """Array `vectors` float32 (chunks, dimension); array `lengths`: each input's tokens before the window cut it."""

    def compute(draft: Draft) -> None:
        texts = embedder_inputs(bench, chunks.table("chunks"))
        made = embed(texts, embedder, "document", bench.workplace.vectors, configuration.name)
        draft.array("vectors", made.vectors)
        draft.array("lengths", made.lengths)
        spent = Spent(made.tokens_encoded, made.usage) + before
        counted = {"tokens": spent.tokens, "billed": spent.usage.tokens, "cost": spent.usage.cost}
        draft.values("encoded", counted | {"encoder": embedder.encoder().name, "workers_seconds": before.seconds})

    key = str(bench.keys(configuration).vectors)
    before = bench.workplace.spent.get(key, Spent())
    return bench.workplace.store.obtain("vectors", key, compute)


def queries_stage(bench: Bench, embedder: Embedder, configuration: Configuration) -> Entry:
    """Array `vectors` float32 (queries, dimension); array `seconds`: the embedding of one query alone, for up to 50 of them."""

    def compute(draft: Draft) -> None:
        texts = [query.text for query in bench.dataset.queries]
        made = embed(texts, embedder, "query", bench.workplace.vectors, "queries")
        embedder.encode(texts[:1], "query")  # the first call pays for loading
        seconds = []
        for text in texts[:_TIMED_QUERIES]:
            started = time.perf_counter()
            embedder.encode([text], "query")
            seconds.append(time.perf_counter() - started)
        draft.array("vectors", made.vectors)
        draft.array("seconds", np.array(seconds))

    return bench.workplace.store.obtain("queries", str(bench.keys(configuration).queries), compute)


def hits_stage(bench: Bench, configuration: Configuration, chunks: Entry, embedded: Embedded | None) -> Entry:
    """Tables `*_hits`, `*_ranking`, `*_about` for each way to search: `exact`, and `ann` where there is an index."""

    def compute(draft: Draft) -> None:
        table = chunks.table("chunks")
        searched = _searchable(bench, table, chunks_of(bench, table))
        asked = Asked([query.text for query in bench.dataset.queries])
        if embedded is None:
            searched = replace(searched, texts=embedder_inputs(bench, table))
        else:
            searched = replace(searched, vectors=np.asarray(embedded.vectors.array("vectors")), index=embedded.index)
            asked = replace(asked, vectors=np.asarray(embedded.queries.array("vectors")))
        for search, ranked in configuration.retrieval.searches(asked, searched, bench.depth(configuration)).items():
            _keep(draft, search, ranked)
        draft.values("index", {"bytes": folder_bytes(embedded.index) if embedded else 0})

    return bench.workplace.store.obtain("hits", bench.keys(configuration).hits, compute)


def _keep(draft: Draft, prefix: str, ranked: Ranked) -> None:
    draft.table(f"{prefix}_hits", ranked.hits)
    draft.table(f"{prefix}_ranking", ranked.ranking)
    draft.table(f"{prefix}_about", ranked.queries)
    draft.array(f"{prefix}_seconds", ranked.seconds)


def _searchable(bench: Bench, table: pd.DataFrame, chunks: list[Chunk]) -> Searchable:
    ids = [chunk.chunk_id for chunk in chunks]
    delivered = table.groupby(["doc", "delivered_start", "delivered_end"], sort=False).ngroup()
    return Searchable(
        ids=ids,
        doc=table["doc"].to_numpy(np.int64),
        group=np.asarray(delivered, dtype=np.int64),
        tokens=table["tokens"].to_numpy(np.int64),
        chunk_breakers=tie_breakers(ids),
        document_breakers=tie_breakers([document.doc_id for document in bench.dataset.documents]),
    )


def retrieved_of(chunks: Entry, hits: Entry, search: str) -> Retrieved:
    """What metrics read, by the search named: `exact` or `ann`; a query's spread is that of all its scores in either case."""
    spread: Floats = hits.table("exact_about")["spread"].to_numpy(np.float64)
    return Retrieved(chunks.table("chunks"), hits.table(f"{search}_hits"), hits.table(f"{search}_ranking"), spread)


def scores_stage(bench: Bench, configuration: Configuration, chunks: Entry, hits: Entry) -> Entry:
    """Table `scores` of the configuration as it searches; table `gap`: what Chroma's answer changes in the mean of each metric."""

    def compute(draft: Draft) -> None:
        searches = ("exact", "ann") if configuration.embedding else ("exact",)
        tables = {search: evaluate(bench.labels, retrieved_of(chunks, hits, search), bench.metrics, bench.spans) for search in searches}
        draft.table("scores", tables[configuration.retrieval.evaluated])
        if "ann" in tables:
            draft.table("gap", _gap(tables["exact"], tables["ann"]))
            draft.values("overlap", _overlap(hits, configuration.retrieval.k))

    return bench.workplace.store.obtain("scores", bench.keys(configuration).scores, compute)


def _gap(exactly: pd.DataFrame, nearly: pd.DataFrame) -> pd.DataFrame:
    means = [scores[scores["state"] == "scored"].groupby("metric", sort=False)["value"].mean() for scores in (exactly, nearly)]
    return (means[1] - means[0]).rename("change").reset_index()


def _overlap(hits: Entry, k: int) -> dict[str, Any]:
    """The mean share of the exact top k chunks that Chroma's top k holds too."""
    tops = [table.loc[table["rank"] <= k, ["query", "chunk"]] for table in (hits.table("exact_hits"), hits.table("ann_hits"))]
    shared = tops[0].merge(tops[1]).groupby("query").size()
    asked = tops[0].groupby("query").size()
    return {"k": k, "overlap": float((shared.reindex(asked.index).fillna(0) / asked).mean())}
