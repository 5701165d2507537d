"""Rewrite the questions as texts, or expand them by the best chunks of a first search."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.components.embedding.base import Role
from workbench.components.embedding.embed import check_sealed, embed
from workbench.components.rewriting.base import FeedbackRewriter, RewrittenText, TextRewriter, expanded_queries
from workbench.core.errors import RunError
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.search import REWRITES, corpus_of, original_queries, rewrites_table, write_expanded
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stages.indexing import EmbeddingStage, embedder_of


class RewrittenStage(Stage):
    """Table `rewrites` (query, number, text, role): the texts to search for each question."""

    name = "rewritten"
    inputs = ("questions",)
    setting = "rewrite"
    # The process that runs the sweep has the reply file, and will have the cache of a model's replies.
    uses_cache: ClassVar[bool] = True
    tables: ClassVar[TableMakers] = {SCHEMAS["rewrites"]: rewrites_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return isinstance(configuration.rewrite, TextRewriter)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the rewriter's settings and models, and the ids of the questions, by which a rewriter can know them."""
        rewriter = node.configuration.rewrite
        return Identity(rewriter.identity() if rewriter else None, run.questions_identity)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        rewriter, questions = inputs.configuration.rewrite, inputs.run.dataset.queries
        if not isinstance(rewriter, TextRewriter):
            raise RunError(f"{inputs.configuration.name} rewrites no question", "run the sweep again")
        texts = rewriter.rewrite(questions)
        _check(rewriter, texts, len(questions))
        rows = [(query, number, one.text, one.role) for query, each in enumerate(texts) for number, one in enumerate(each)]
        writer.table(REWRITES, pd.DataFrame(rows, columns=["query", "number", "text", "role"]))


def _check(rewriter: TextRewriter, texts: Sequence[Sequence[RewrittenText]], questions: int) -> None:
    if len(texts) != questions:
        raise RunError(f"rewrite {rewriter.kind!r} gave texts for {len(texts)} of {questions} questions", "correct its method rewrite")
    if empty := [query for query, each in enumerate(texts) if not each or not all(one.text.strip() for one in each)]:
        raise RunError(f"rewrite {rewriter.kind!r} gave no text for question {empty[0] + 1} or an empty one", "correct its method rewrite")


class RewrittenVectorsStage(EmbeddingStage):
    """Array `vectors` float32 (texts, dimension) of the table `rewrites`."""

    name = "rewritten_vectors"
    inputs = ("rewritten",)
    role = "query"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return isinstance(configuration.rewrite, TextRewriter) and configuration.pipeline.retrieval.needs_vectors

    def identity(self, node: Node, run: RunContext) -> Identity:
        embedder = embedder_of(node.configuration)
        return Identity([embedder.identity("query"), embedder.identity("document")])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        embedder, cache = embedder_of(inputs.configuration), inputs.run.workspace.vectors
        rows = inputs.entry("rewritten").table(REWRITES)
        roles: tuple[Role, ...] = ("query", "document")
        parts = {role: rows.index[rows["role"] == role].to_numpy(np.int64) for role in roles}
        embedded = {
            role: embed(rows["text"].iloc[places].tolist(), embedder, role, cache, "rewritten queries").vectors
            for role, places in parts.items()
            if len(places)
        }
        places = np.concatenate([parts[role] for role in embedded])
        vectors = np.concatenate(list(embedded.values()))[np.argsort(places)]
        check_sealed(vectors, "rewritten queries")
        writer.array("vectors", vectors)

    def texts(self, inputs: Inputs) -> Sequence[str]:
        """Return the texts that are embedded as queries. Those embedded as documents are few."""
        rows = inputs.entry("rewritten").table(REWRITES)
        return list(rows.loc[rows["role"] == self.role, "text"])


class FeedbackStage(Stage):
    """The expanded queries of each member of the retriever that searches them, see `write_expanded`.

    Table `rewrites` (query, number, text, role): a text for people.
    """

    name = "feedback"
    inputs = ("questions", "chunks", "vectors", "queries", "index")
    setting = "rewrite"
    tables: ClassVar[TableMakers] = {SCHEMAS["rewrites"]: rewrites_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return isinstance(configuration.rewrite, FeedbackRewriter)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the settings of the rewriter and of the retriever, which makes the first search, and the documents that each question may find."""
        rewriter, retriever = node.configuration.rewrite, node.configuration.pipeline.retrieval
        return Identity([rewriter.identity() if rewriter else None, retriever.identity()], run.filters.identity if run.filters else None)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
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
