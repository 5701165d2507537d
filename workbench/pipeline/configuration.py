"""A configuration of the pipeline: a named choice of one component for each stage."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from workbench.answering.base import Generator
from workbench.chunking.base import Chunker
from workbench.context.context_packing import ContextPacking
from workbench.core.component import Component, code_named_by
from workbench.embedding.base import NO_WINDOW, Embedder
from workbench.embedding.registry import chunk_encoder
from workbench.metrics.case import Cut
from workbench.metrics.names import Metric
from workbench.reranking.base import Reranker
from workbench.retrieval.base import Retriever
from workbench.rewriting.base import Rewriter
from workbench.targets.base import Target
from workbench.targets.target_components import TargetChunker, TargetGenerator, TargetRetriever


@dataclass(frozen=True)
class Configuration:
    """A component for each stage, under a name that is unique in its experiment.

    A configuration whose retriever and reranker use no vectors has no embedder. One without `answering` only retrieves, and has no `context`.
    A `target` takes the place of all stages: those that it has stand for what it returns.
    """

    name: str
    chunking: Chunker
    embedding: Embedder | None
    retrieval: Retriever
    rerank: Reranker | None = None
    rewrite: Rewriter | None = None
    context: ContextPacking | None = None
    answering: Generator | None = None
    target: Target | None = None

    @classmethod
    def of(
        cls,
        chunking: Chunker,
        embedding: Embedder,
        retrieval: Retriever,
        rerank: Reranker | None = None,
        rewrite: Rewriter | None = None,
    ) -> Self:
        """Return a configuration named after its chunking.

        `tokens: model` counts in the vocabulary of the embedding model, and a reranker by its token vectors uses it too.
        """
        counted = chunking.model_copy(update={"model": embedding.vocabulary})
        embedded = retrieval.needs_vectors or (rerank is not None and rerank.uses_vectors)
        beside = rerank.beside(embedding) if rerank else None
        return cls(chunking.name, counted, embedding if embedded else None, retrieval, beside, rewrite)

    @classmethod
    def of_target(cls, target: Target, context: ContextPacking | None = None) -> Self:
        """Return the configuration of a system under test, named after it. `context` packs the contexts that it is given."""
        generator = TargetGenerator(target=target) if target.answers else None
        return cls(target.name, TargetChunker(), None, TargetRetriever(k=target.k), target=target).answered(context, generator)

    def answered(self, context: ContextPacking | None, answering: Generator | None) -> Self:
        """Return the configuration with a generator and its context, the usual one if None. Without a generator it has neither."""
        return replace(self, context=(context or ContextPacking()) if answering else None, answering=answering)

    @property
    def fault(self) -> str:
        """Return why the components do not fit each other, or an empty text."""
        if self.rerank and self.rerank.pool < self.retrieval.k:
            return f"rerank {self.rerank.kind!r} has a pool of {self.rerank.pool}, and retrieval.k is {self.retrieval.k}; raise pool or lower k"
        headers = chunk_encoder(self.embedding).refuses_headers() if self.embedding and self.chunking.enrich else ""
        rewrite, rerank = self.rewrite.fault(self.retrieval) if self.rewrite else "", self.rerank.fault if self.rerank else ""
        return headers or self.retrieval.fault or rewrite or rerank

    @property
    def components(self) -> Mapping[str, Component]:
        """Return the configuration's components by stage."""
        if self.target:
            packed = {"context": self.context} if self.context and self.target.takes_context else {}
            return {"target": self.target, **packed}
        stages: dict[str, Component | None] = {
            "chunking": self.chunking,
            "embedding": self.embedding,
            "retrieval": self.retrieval,
            "rewrite": self.rewrite,
            "rerank": self.rerank,
            "context": self.context,
            "answering": self.answering,
        }
        return {stage: component for stage, component in stages.items() if component is not None}

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions that the components name, and that running the configuration executes."""
        return code_named_by(self.components.values())

    def delivery(self, primary: Metric | None = None) -> Cut:
        """Return which part of a ranking is delivered: the tokens of `deliver`, else those of the primary metric's cut, else k chunks."""
        tokens = self.retrieval.deliver or primary
        return Cut(tokens=tokens.tokens) if tokens and tokens.tokens is not None else Cut(k=self.retrieval.k)

    @property
    def window(self) -> int | None:
        """Return how many tokens of a chunk's input are embedded, or None for all of them or without embeddings."""
        window = self.embedding.chunk_window() if self.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None
