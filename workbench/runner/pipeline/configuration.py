"""The configurations of an experiment: pipelines of Workbench's own components, and systems under test."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.chunking.base import Chunker
from workbench.components.context.conditions import RETRIEVED
from workbench.components.context.context_packing import ContextPacking
from workbench.components.embedding.base import NO_WINDOW, Embedder
from workbench.components.embedding.registry import chunk_encoder
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Retriever
from workbench.components.rewriting.base import Rewriter
from workbench.core.component import Component, code_named_by
from workbench.core.errors import InputError
from workbench.core.records import Answer, TokenCut
from workbench.measures.metrics.case import Cut
from workbench.measures.metrics.names import Metric
from workbench.systems.asking import TargetRequest, ask_target
from workbench.systems.base import Target, TargetResources

T = TypeVar("T")


class TargetGenerator(Generator):
    """Answers by asking a target: for its own context under the condition `retrieved`, from the passages under every other."""

    calls_model: ClassVar[bool] = True

    kind: Literal["target"] = "target"
    target: Target

    def identity(self) -> Any:
        return [self.version, self.target.identity()]

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answer of each request. The answer of a request that failed is its error."""
        asked = []
        for request in requests:
            context = None if request.variant.condition == RETRIEVED else request.passages
            asked.append(TargetRequest("answer", request.query, context=context, repeat=request.variant.repeat))
        for place, reply in ask_target(self.target, asked, TargetResources(resources.calls, resources.documents)):
            yield place, replace(reply.answer or Answer(error=reply.error), seconds=reply.seconds, cached=reply.cached)


@dataclass(frozen=True)
class PipelineConfiguration:
    """A component for each stage, under a name that is unique in its experiment.

    A configuration whose retriever and reranker use no vectors has no embedder. One without `answering` only retrieves, and has no `context`.
    """

    # The tables that a stage of another name gives, with that stage.
    provided: ClassVar[Mapping[str, str]] = {}
    targets: ClassVar[tuple[Target, ...]] = ()
    takes_context: ClassVar[bool] = True

    name: str
    chunking: Chunker
    embedding: Embedder | None
    retrieval: Retriever
    rerank: Reranker | None = None
    rewrite: Rewriter | None = None
    context: ContextPacking | None = None
    answering: Generator | None = None

    def __hash__(self) -> int:
        # The components take long to hash, and each key of a result hashes its configuration.
        return hash(self.name)

    @classmethod
    def of(
        cls, chunking: Chunker, embedding: Embedder, retrieval: Retriever, rerank: Reranker | None = None, rewrite: Rewriter | None = None
    ) -> Self:
        """Return a configuration named after its chunking.

        `tokens: model` counts in the vocabulary of the embedding model, and a reranker by its token vectors uses it too.
        """
        counted = chunking.model_copy(update={"model": embedding.vocabulary})
        embedded = retrieval.needs_vectors or (rerank is not None and rerank.uses_vectors)
        beside = rerank.beside(embedding) if rerank else None
        return cls(chunking.name, counted, embedding if embedded else None, retrieval, beside, rewrite)

    def answered(self, context: ContextPacking | None, answering: Generator | None) -> Self:
        """Return the configuration with a generator and its context, the usual one if None. Without a generator it has neither."""
        return replace(self, context=(context or ContextPacking()) if answering else None, answering=answering)

    @property
    def pipeline(self) -> "PipelineConfiguration":
        return self

    def system(self, build: "Callable[[PipelineConfiguration], T]") -> Target | T:
        """Return the system to ask: `build` makes it of a pipeline."""
        return build(self)

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
        stages = ("chunking", "embedding", "retrieval", "rewrite", "rerank", "context", "answering")
        return {stage: component for stage in stages if (component := getattr(self, stage)) is not None}

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions that the components name, and that running the configuration executes."""
        return code_named_by(self.components.values())

    @property
    def k(self) -> int:
        """Return how many chunks are delivered, unless tokens are."""
        return self.retrieval.k

    @property
    def evaluated(self) -> str:
        """Return the name of the search that is evaluated."""
        return self.retrieval.evaluated

    @property
    def fuses(self) -> bool:
        """True if the ranking is fused of several."""
        return self.retrieval.fuses

    @property
    def neighbours(self) -> int:
        """Return how many chunks before and after each hit are delivered with it."""
        return self.retrieval.neighbours

    @property
    def calls_model(self) -> bool:
        """True if Workbench calls a model for the answers."""
        return self.answering is not None and self.answering.calls_model

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the settings of models whose calls may cost money and have no prices."""
        return ("answering",) if self.calls_model and self.answering and self.answering.prices is None else ()

    @property
    def export_fault(self) -> str:
        """Return why an export cannot run the configuration, or an empty text."""
        return "rewrites questions" if self.rewrite else "delivers neighbours" if self.neighbours else ""

    def delivery(self, primary: Metric | None = None) -> Cut:
        """Return which part of a ranking is delivered: the tokens of `deliver`, else those of the primary metric's cut, else k chunks."""
        return _delivery(self.retrieval.deliver or primary, self.k)

    @property
    def window(self) -> int | None:
        """Return how many tokens of a chunk's input are embedded, or None for all of them or without embeddings."""
        window = self.embedding.chunk_window() if self.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None

    @property
    def fields(self) -> dict[str, Any]:
        """Return the settings in the table `configurations`."""
        size, overlap = self.chunking.sizes
        return {
            "chunking": self.chunking.kind,
            "size": size,
            "overlap": overlap,
            "tokens_counted": self.chunking.tokens,
            "enrich": self.chunking.enrich,
            "embedding": self.embedding.model if self.embedding else None,
            "pooling": chunk_encoder(self.embedding).pooling if self.embedding else None,
            "window": self.window,
            "retrieval": self.retrieval.kind,
            "rewrite": self.rewrite.kind if self.rewrite else None,
            "rerank": self.rerank.kind if self.rerank else None,
            "pool": self.rerank.pool if self.rerank else None,
        }


@dataclass(frozen=True)
class TargetConfiguration:
    """A system under test, under its own name. The stage `responses` asks it, and gives the tables of the stages that it replaces."""

    provided: ClassVar[Mapping[str, str]] = {"chunks": "responses", "hits": "responses"}
    embedding: ClassVar[None] = None
    rerank: ClassVar[None] = None
    rewrite: ClassVar[None] = None
    window: ClassVar[None] = None
    evaluated: ClassVar[str] = "exact"
    fuses: ClassVar[bool] = False
    neighbours: ClassVar[int] = 0
    calls_model: ClassVar[bool] = False
    export_fault: ClassVar[str] = "is a target"

    target: Target
    context: ContextPacking | None = None
    answering: Generator | None = None

    def __hash__(self) -> int:
        return hash(self.name)

    @classmethod
    def of(cls, target: Target) -> Self:
        """Return the configuration of a target. If it answers, the contexts that it is given are packed as usual."""
        return cls(target, ContextPacking(), TargetGenerator(target=target)) if target.answers else cls(target)

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def targets(self) -> tuple[Target, ...]:
        return (self.target,)

    @property
    def takes_context(self) -> bool:
        return self.target.takes_context

    @property
    def pipeline(self) -> PipelineConfiguration:
        """Raise InputError: the components of a target are not known."""
        raise InputError(
            f"{self.name} is a target, which is only asked by a sweep", "choose a configuration of the workbench's own pipeline"
        )

    def system(self, build: Callable[[PipelineConfiguration], T]) -> Target | T:
        return self.target

    @property
    def components(self) -> Mapping[str, Component]:
        packed = {"context": self.context} if self.context and self.takes_context else {}
        return {"target": self.target, **packed}

    @property
    def named_code(self) -> tuple[str, ...]:
        return code_named_by(self.components.values())

    @property
    def k(self) -> int:
        return self.target.k

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the setting of a model that the target lets Workbench call, if it has no prices."""
        return (f"sampling of {self.name}",) if self.target.unpriced else ()

    def delivery(self, primary: Metric | None = None) -> Cut:
        """Return which part of a ranking is delivered: the tokens of the primary metric's cut, else k hits."""
        return _delivery(primary, self.k)

    @property
    def fields(self) -> dict[str, Any]:
        unknown = dict.fromkeys(("size", "overlap", "embedding", "pooling", "window", "rewrite", "rerank", "pool"))
        return {"chunking": "target", "tokens_counted": "model", "enrich": False, "retrieval": "target", **unknown}


Configuration = PipelineConfiguration | TargetConfiguration


def recorded_settings(configuration: Configuration) -> dict[str, Any]:
    """Return the settings of each stage as a run records them: None for an embedding that is not used, and for the stages of a target."""
    settings = {stage: component.recorded_settings() for stage, component in configuration.components.items()}
    return dict.fromkeys(("chunking", "embedding", "retrieval")) | settings


def _delivery(cut: TokenCut | Metric | None, k: int) -> Cut:
    return Cut(tokens=cut.tokens) if cut and cut.tokens is not None else Cut(k=k)
