"""Add the neighbours of hits to the ranking."""

import numpy as np

from workbench.context.neighbours import with_neighbours
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.storage.result_store import ResultWriter


class NeighboursStage(Stage):
    """The tables of the stage `reranked` or `hits`, where each hit is followed by its neighbours. Documents keep their ranks."""

    name = "neighbours"
    inputs = ("chunks", "hits", "reranked")
    setting = "retrieval"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the configuration delivers neighbours."""
        return configuration.neighbours > 0

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the number of neighbours on each side."""
        return Identity(node.configuration.neighbours)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Add the neighbours to the ranking of every search."""
        ranked, doc = inputs.final_hits, inputs.entry("chunks").table("chunks")["doc"].to_numpy(np.int64)
        for search in ranked.values("searches")["names"]:
            writer.table(f"{search}_hits", with_neighbours(ranked.table(f"{search}_hits"), doc, inputs.configuration.neighbours))
            for table in ("ranking", "about"):
                writer.table(f"{search}_{table}", ranked.table(f"{search}_{table}"))
        writer.values("searches", ranked.values("searches"))
