"""Order the best chunks of a configuration's ranking again, and add their neighbours."""

from typing import ClassVar

import numpy as np

from workbench.components.context.delivered_slices import with_neighbours
from workbench.components.retrieval.base import Ranking
from workbench.components.retrieval.reranked import reranked
from workbench.core.errors import RunError
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.search import corpus_of, original_queries
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage


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
        """Score the pool of every query and order it again."""
        reranker, retrieval, hits = inputs.configuration.rerank, inputs.configuration.pipeline.retrieval, inputs.entry("hits")
        if reranker is None:
            raise RunError(f"{inputs.configuration.name} has no reranker", "run the sweep again")
        ranked, ranking, about = (hits.table(f"{retrieval.evaluated}_{name}") for name in ("hits", "ranking", "about"))
        before = Ranking(ranked, ranking, about)
        queries, corpus = original_queries(inputs), corpus_of(inputs)
        after = reranked(before, queries, corpus, reranker, inputs.run.workspace.vectors, retrieval.k)
        writer.table(f"{retrieval.evaluated}_hits", after.hits)
        writer.table(f"{retrieval.evaluated}_ranking", after.ranking)
        writer.table(f"{retrieval.evaluated}_about", after.queries)
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
