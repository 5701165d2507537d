"""What each stage computes, and how it is read back: documents → chunks → vectors → index → hits → scores."""

import contextlib
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.embedding.base import Embedder
from workbench.embedding.embed import EmbeddedTexts, VectorBuffer, embed
from workbench.embedding.late.chunks import embed_late
from workbench.embedding.late.pooling import is_late
from workbench.embedding.memory_cache import vectors_kept_in
from workbench.experiment.read import Configuration
from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Retrieved
from workbench.pipeline.chunk_table import Chunks, EmbedderInputs, Ids, chunk_tables
from workbench.pipeline.context import EncodingCost, RunContext
from workbench.retrieval.base import Corpus, QueryBatch, Ranking
from workbench.retrieval.chroma_index import build_index, folder_bytes
from workbench.retrieval.rank import Floats, tie_breakers
from workbench.storage.result_store import Draft, Entry

_TIMED_QUERIES = 50


def chunks_stage(bench: RunContext, configuration: Configuration) -> Entry:
    """Table `chunks`: doc, start, end, delivered_start, delivered_end, header, tokens (of the delivered slice, budget vocabulary)."""

    def compute(draft: Draft) -> None:
        with vectors_kept_in(bench.workplace.vectors):
            draft.tables("chunks", chunk_tables(bench.dataset.documents, configuration.chunking))

    return bench.workplace.store.obtain("chunks", bench.keys(configuration).chunks, compute)


def chunks_of(bench: RunContext, table: pd.DataFrame) -> Chunks:
    """The records of a table of chunks, made when they are asked for."""
    return Chunks(bench.dataset.documents, table)


def embedder_inputs(bench: RunContext, table: pd.DataFrame) -> EmbedderInputs:
    """What is embedded for each chunk, its header and its slice, made when it is asked for."""
    return EmbedderInputs(chunks_of(bench, table))


@dataclass(frozen=True)
class EmbeddedChunks:
    """The stages of a configuration that uses vectors: of its chunks, of the queries, and their index where there is one."""

    vectors: Entry
    queries: Entry
    index: Path | None
    index_seconds: float
    index_built: bool


def embedded_stages(bench: RunContext, configuration: Configuration, chunks: Entry) -> EmbeddedChunks | None:
    """Vectors and index; None where the configuration uses none."""
    if configuration.embedding is None:
        return None
    vectors = vectors_stage(bench, configuration.embedding, configuration, chunks)
    queries = queries_stage(bench, configuration.embedding, configuration)
    if not bench.indexed:
        return EmbeddedChunks(vectors, queries, None, 0.0, index_built=False)
    folder = bench.workplace.indexes / str(bench.keys(configuration).index)
    started = time.perf_counter()
    built = build_index(folder, chunks_of(bench, chunks.table("chunks")), vectors.array("vectors"))
    return EmbeddedChunks(vectors, queries, folder, time.perf_counter() - started, built)


def vectors_stage(bench: RunContext, embedder: Embedder, configuration: Configuration, chunks: Entry) -> Entry:
    """Array `vectors` float32 (chunks, dimension); array `lengths`: each input's tokens before the window cut it, or those pooled."""

    def compute(draft: Draft) -> None:
        made = _made(bench, embedder, configuration, chunks, partial(draft.mapped, "vectors"))
        draft.array("lengths", made.lengths)
        spent = EncodingCost(made.tokens_encoded, made.usage) + before
        counted = {"tokens": spent.tokens, "billed": spent.usage.tokens, "cost": spent.usage.cost}
        draft.values("encoded", counted | {"encoder": embedder.encoder().name, "workers_seconds": before.seconds})

    key = str(bench.keys(configuration).vectors)
    before = bench.workplace.spent.get(key, EncodingCost())
    return bench.workplace.store.obtain("vectors", key, compute)


def _made(bench: RunContext, embedder: Embedder, configuration: Configuration, chunks: Entry, room: VectorBuffer) -> EmbeddedTexts:
    table = chunks.table("chunks")
    if is_late(embedder):
        tables = [table, *_tables_beside(bench, configuration)]
        return embed_late(bench.dataset.documents, tables, embedder, bench.workplace.vectors, configuration.name, room)
    return embed(embedder_inputs(bench, table), embedder, "document", bench.workplace.vectors, configuration.name, room)


def _tables_beside(bench: RunContext, configuration: Configuration) -> list[pd.DataFrame]:
    """The chunks of the experiment's other configurations that will ask the same embedder for vectors."""
    found = []
    for other in bench.configurations:
        waits = other.embedding == configuration.embedding and not bench.workplace.store.has("vectors", str(bench.keys(other).vectors))
        if waits and other.chunking != configuration.chunking:
            # A chunker that fails is told of in its own configuration's turn.
            with contextlib.suppress(Exception):
                found.append(chunks_stage(bench, other).table("chunks"))
    return found


def queries_stage(bench: RunContext, embedder: Embedder, configuration: Configuration) -> Entry:
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


def hits_stage(bench: RunContext, configuration: Configuration, chunks: Entry, embedded: EmbeddedChunks | None) -> Entry:
    """Tables `*_hits`, `*_ranking`, `*_about` for each way to search: `exact`, and `ann` where there is an index."""

    def compute(draft: Draft) -> None:
        table = chunks.table("chunks")
        searched = _searchable(bench, table)
        asked = QueryBatch([query.text for query in bench.dataset.queries])
        if embedded is None:
            searched = replace(searched, texts=embedder_inputs(bench, table))
        else:
            searched = replace(searched, vectors=np.asarray(embedded.vectors.array("vectors")), index=embedded.index)
            asked = replace(asked, vectors=np.asarray(embedded.queries.array("vectors")))
        for search, ranked in configuration.retrieval.searches(asked, searched, bench.depth(configuration)).items():
            _keep(draft, search, ranked)
        draft.values("index", {"bytes": folder_bytes(embedded.index) if embedded and embedded.index else 0})

    return bench.workplace.store.obtain("hits", bench.keys(configuration).hits, compute)


def _keep(draft: Draft, prefix: str, ranked: Ranking) -> None:
    draft.table(f"{prefix}_hits", ranked.hits)
    draft.table(f"{prefix}_ranking", ranked.ranking)
    draft.table(f"{prefix}_about", ranked.queries)
    draft.array(f"{prefix}_seconds", ranked.seconds)


def _searchable(bench: RunContext, table: pd.DataFrame) -> Corpus:
    ids = Ids(chunks_of(bench, table))
    delivered = table.groupby(["doc", "delivered_start", "delivered_end"], sort=False).ngroup()
    return Corpus(
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


def scores_stage(bench: RunContext, configuration: Configuration, chunks: Entry, hits: Entry) -> Entry:
    """Table `scores` of the configuration as it searches; table `gap`: what Chroma's answer changes in the mean of each metric."""

    def compute(draft: Draft) -> None:
        searches = ("exact", "ann") if configuration.embedding and bench.indexed else ("exact",)
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
