"""Rank chunks and documents for each question, order the best chunks again, and add their neighbours."""

from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.context.delivered_slices import with_neighbours
from workbench.components.retrieval.base import Ranking
from workbench.components.retrieval.chroma_index import folder_bytes
from workbench.components.retrieval.hybrid import CONSTANT, POOL
from workbench.components.retrieval.rank import SEED
from workbench.components.retrieval.search import reranked
from workbench.components.rewriting.base import TextRewriter
from workbench.core.errors import RunError
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.measures.metrics.case import delivered_ends
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.search import corpus_of, original_queries, search_depth, searched_queries
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults


def _hits_table(results: StageResults) -> pd.DataFrame:
    """Tabulate all ranked hits.

    `chunk_id` names the slice that was searched, `start` and `end` delimit the slice to deliver, and `kept` ends its delivered part.
    """
    run, hits, chunks, labels = results.run, results.all_hits, results.chunks_table, results.run.labels
    rows, delivered_tokens = hits["chunk"].to_numpy(), hits["delivered_tokens"].to_numpy(np.int64)
    origins = labels.offsets[chunks["doc"].to_numpy(np.int64)][rows]
    starts, ends = (edges[rows] for edges in labels.positions(chunks, "delivered_start", "delivered_end"))
    kept = delivered_ends(labels, starts, ends, delivered_tokens, chunks["tokens"].to_numpy(np.int64)[rows])
    return hits.assign(
        query_id=run.query_ids[hits["query"]],
        chunk_id=_chunk_ids(results)[rows],
        doc_id=run.doc_ids[chunks["doc"]][rows],
        start=chunks["delivered_start"].to_numpy()[rows],
        end=chunks["delivered_end"].to_numpy()[rows],
        kept=np.where(hits["delivered"], kept, starts) - origins,
    )


def _sources_table(results: StageResults) -> pd.DataFrame:
    """Tabulate rank and score of each hit in each ranking that was fused."""
    configuration, run = results.configuration, results.run
    hits, sources = results.ranked("hits")[["query", "rank", "chunk"]], results.entry("hits").table(f"{configuration.evaluated}_sources")
    sources = sources.rename(columns={"rank": "retriever_rank", "score": "retriever_score"})
    rows = hits.merge(sources, on=["query", "chunk"]).sort_values(["query", "rank"], kind="stable")
    return rows.assign(query_id=run.query_ids[rows["query"]], chunk_id=_chunk_ids(results)[rows["chunk"]])


def _chunk_ids(results: StageResults) -> NDArray[np.object_]:
    """Return the id of each chunk. Shape (chunks,)."""
    chunks = results.chunks_table
    places = zip(results.run.doc_ids[chunks["doc"]], chunks["start"], chunks["end"], strict=True)
    return np.array([f"{doc}:{start}-{end}" for doc, start, end in places], dtype=object)


class HitsStage(Stage):
    """Tables `*_hits`, `*_ranking`, `*_about`, and `*_sources` of a fused ranking, for each search, such as `exact` and `ann`.

    Values `searches`: their names, the index's bytes, and the mean share of the exact top k chunks that are also in Chroma's top k.
    """

    name = "hits"
    version = 6
    inputs = ("questions", "chunks", "vectors", "queries", "index", "rewritten", "rewritten_vectors", "feedback")
    setting = "retrieval"
    tables: ClassVar[TableMakers] = {SCHEMAS["hits"]: _hits_table, SCHEMAS["hit_sources"]: _sources_table}

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the retriever's settings and models, the seed of ties, how texts are fused, and the depth to which rankings are read."""
        configuration, depth = node.configuration.pipeline, search_depth(node.configuration, run)
        fused = {"fusion": [CONSTANT, POOL]} if isinstance(configuration.rewrite, TextRewriter) else {}
        settings = {"retriever": configuration.retrieval.identity(), "ties": SEED, **fused}
        return Identity(
            settings, [depth.slices, depth.tokens, depth.documents, depth.listed, *(run.filters.identity if run.filters else ())]
        )

    def tables_of(self, configuration: Configuration) -> TableMakers:
        """Return the table of hits, and for a fused ranking that of its parts."""
        return {schema: make for schema, make in self.tables.items() if configuration.fuses or schema.name == "hits"}

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        configuration, searched = inputs.configuration.pipeline, searched_queries(inputs)
        retrieval, corpus, depth = configuration.retrieval, corpus_of(inputs), search_depth(configuration, inputs.run)
        ranked = searched.searches(retrieval, corpus, depth)
        for search, ranking in ranked.items():
            _write(writer, search, ranking)
            if configuration.retrieval.fuses:
                writer.table(f"{search}_sources", ranking.sources)
        size = folder_bytes(inputs.entry("index").folder) if "index" in inputs.entries else 0
        writer.values("searches", {"names": list(ranked), "index_bytes": size, "overlap": _overlap(ranked, configuration.retrieval.k)})


def _write(writer: ResultWriter, search: str, ranking: Ranking) -> None:
    writer.table(f"{search}_hits", ranking.hits)
    writer.table(f"{search}_ranking", ranking.ranking)
    writer.table(f"{search}_about", ranking.queries)


def _overlap(ranked: dict[str, Ranking], k: int) -> float | None:
    """Return the mean share of the exact top k chunks found by the approximate search, or None unless both searches ran."""
    if not {"exact", "ann"} <= ranked.keys():
        return None
    tops: list[pd.DataFrame] = [ranked[search].hits.loc[lambda hits: hits["rank"] <= k, ["query", "chunk"]] for search in ("exact", "ann")]
    shared = tops[0].merge(tops[1]).groupby("query").size()
    sizes = tops[0].groupby("query").size()
    return float((shared.reindex(sizes.index).fillna(0) / sizes).mean())


class RerankedStage(Stage):
    """The tables of the stage `hits` for the evaluated search, after reranking."""

    name = "reranked"
    inputs = ("questions", "chunks", "vectors", "queries", "hits")
    setting = "rerank"
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.rerank is not None

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(node.configuration.rerank.identity() if node.configuration.rerank else None)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        reranker, retrieval, hits = inputs.configuration.rerank, inputs.configuration.pipeline.retrieval, inputs.entry("hits")
        if reranker is None:
            raise RunError(f"{inputs.configuration.name} has no reranker", "run the sweep again")
        ranked, ranking, about = (hits.table(f"{retrieval.evaluated}_{name}") for name in ("hits", "ranking", "about"))
        before = Ranking(ranked, ranking, about)
        queries, corpus = original_queries(inputs), corpus_of(inputs)
        after = reranked(before, queries, corpus, reranker, inputs.run.workspace.vectors, retrieval.k)
        _write(writer, retrieval.evaluated, after)
        writer.values("searches", {"names": [retrieval.evaluated], "index_bytes": 0, "overlap": None})


class NeighboursStage(Stage):
    """The tables of the stage `reranked` or `hits`, where each hit is followed by its neighbours. Documents keep their ranks."""

    name = "neighbours"
    inputs = ("chunks", "hits", "reranked")
    setting = "retrieval"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.neighbours > 0

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(node.configuration.neighbours)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        ranked, doc = inputs.final_hits, inputs.entry("chunks").table("chunks")["doc"].to_numpy(np.int64)
        for search in ranked.values("searches")["names"]:
            writer.table(f"{search}_hits", with_neighbours(ranked.table(f"{search}_hits"), doc, inputs.configuration.neighbours))
            for table in ("ranking", "about"):
                writer.table(f"{search}_{table}", ranked.table(f"{search}_{table}"))
        writer.values("searches", ranked.values("searches"))
