"""Expand the questions by the best chunks of a first search."""

from typing import ClassVar

import pandas as pd

from workbench.errors import RunError
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.searched_queries import REWRITES, original_queries, rewrites_table, write_expanded
from workbench.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.pipeline.stages.hits import corpus_of
from workbench.rewriting.base import FeedbackRewriter, expanded_queries
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import ResultWriter


class FeedbackStage(Stage):
    """The expanded queries of each member of the retriever that searches them, see `write_expanded`.

    Table `rewrites` (query, number, text, role): a text for people.
    """

    name = "feedback"
    inputs = ("questions", "chunks", "vectors", "queries", "index")
    setting = "rewrite"
    tables: ClassVar[TableMakers] = {SCHEMAS["rewrites"]: rewrites_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the configuration expands questions by feedback."""
        return isinstance(configuration.rewrite, FeedbackRewriter)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the settings of the rewriter and of the retriever, which makes the first search, and the documents that each question may find."""
        rewriter, retriever = node.configuration.rewrite, node.configuration.pipeline.retrieval
        return Identity([rewriter.identity() if rewriter else None, retriever.identity()], run.filters.identity if run.filters else None)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Search once and expand every question."""
        rewriter, configuration = inputs.configuration.rewrite, inputs.configuration.pipeline
        if not isinstance(rewriter, FeedbackRewriter):
            raise RunError(f"{configuration.name} expands no question", "run the sweep again")
        queries, corpus = original_queries(inputs), corpus_of(inputs)
        members = list(expanded_queries(rewriter, queries, configuration.retrieval, corpus))
        write_expanded(writer, members)
        rows = [
            (query, number, f"{'.'.join(member.path)}: {text}" if member.path else text, rewriter.role)
            for query in range(len(queries.texts))
            for number, member in enumerate(members)
            for text in [member.texts[query]]
        ]
        writer.table(REWRITES, pd.DataFrame(rows, columns=["query", "number", "text", "role"]))
