"""Build an index of documents with a pipeline, and search it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workbench.api.arguments import documents_of, given_component, require, require_k
from workbench.components.answering.base import Generator
from workbench.components.chunking.base import Chunker
from workbench.components.chunking.plain import FixedChunker
from workbench.components.context.context_packing import ContextPacking
from workbench.components.context.packing import pack
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Corpus, DocumentFilters, Retriever, SearchDepth
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.rewriting.base import Rewriter
from workbench.core.component import Component
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Hit, Query
from workbench.core.text.display import excerpt, table_html
from workbench.core.text.formatting import plural
from workbench.core.text.guessed_names import AdvisedNames, checked_init, checked_names
from workbench.data.checks import checked
from workbench.data.filters import filter_faults, matches, metadata_fields
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.measures.metrics.case import Cut
from workbench.runner.pipeline.chunk_table import Chunks
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.search import corpus_of
from workbench.runner.pipeline.single_question import SingleAnswer, ranked_chunks, single_answer
from workbench.runner.pipeline.stage_results import Entries, StageResults

_SHOWN_CHARACTERS = 400
_STAGES = ("chunking", "embedding", "retrieval", "rerank", "rewrite", "context", "answering")


class Hits(list[Hit]):
    """A list of hits, best first, displayed as a table."""

    def _repr_html_(self) -> str:
        rows = [
            {
                "rank": hit.rank,
                "score": f"{hit.score:.3f}",
                "document": hit.doc_id,
                "characters": f"{hit.start}–{hit.end}",
                "text": excerpt(hit.text, _SHOWN_CHARACTERS),
            }
            for hit in self
        ]
        return table_html(plural(len(rows), "hit"), rows)


@checked_init
@dataclass(frozen=True)
class Pipeline(AdvisedNames):
    """A component for each stage: a value such as `wb.SentenceChunker(size=256)`, its kind (`"sentence"`), or its settings as in an experiment.

    Retrieval without vectors, such as BM25, does not use the embedder. A kind of chunking that needs a size has 256. A function of a module is wrapped
    as a chunker, by `wb.CallableChunker`.

    Parameters
    ----------
    chunking: splits documents. With `tokens="model"`, sizes count in the vocabulary of `embedding`.
    embedding: turns chunks and questions into vectors.
    retrieval: ranks chunks for a question.
    rerank: orders the best chunks again; None to leave them as they are.
    rewrite: changes what is searched for a question; None to search the question.
    context: packs the hits into the context of an answer; used only with `answering`.
    answering: answers questions from their contexts; None to retrieve only.

    Raises
    ------
    InputError: the components do not fit each other, or a model is not available.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.Pipeline(chunking=wb.SentenceChunker(size=256), retrieval=wb.BM25Retriever(k=5))
    Pipeline(sentence-256, bm25)
    >>> wb.Pipeline(chunking="sentence", retrieval={"kind": "bm25", "k": 5})
    Pipeline(sentence-256, bm25)
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("search", "retrieve", "query", "run", "fit", "build", "answer", "ask", "invoke"), "pipeline.index(dataset).search(query)"
        ),
        **dict.fromkeys(("evaluate", "score", "test"), "wb.evaluate(pipeline, dataset)"),
        **dict.fromkeys(("compare", "sweep"), "wb.compare({'a': pipeline, 'b': other}, dataset), or a sweep of wb.Experiment"),
        **dict.fromkeys(("name", "settings", "config", "stages"), "pipeline.configuration"),
    }
    chunking: Chunker = field(default_factory=lambda: FixedChunker(size=256))
    embedding: Embedder = field(default_factory=SentenceTransformerEmbedder)
    retrieval: Retriever = field(default_factory=DenseRetriever)
    rerank: Reranker | None = None
    rewrite: Rewriter | None = None
    context: ContextPacking | None = None
    answering: Generator | None = None

    def __post_init__(self) -> None:
        for stage in _STAGES:
            object.__setattr__(self, stage, given_component(stage, getattr(self, stage)))
        for name, kind in (("chunking", Chunker), ("embedding", Embedder), ("retrieval", Retriever)):
            require(getattr(self, name), kind, name)
        for name, optional in (("rerank", Reranker), ("rewrite", Rewriter), ("context", ContextPacking), ("answering", Generator)):
            if getattr(self, name) is not None:
                require(getattr(self, name), optional, name)
        for component in self.components.values():
            component.load_code()
            if isinstance(component, Embedder | Reranker | Rewriter | Generator):
                component.check()
        if fault := self.configuration.fault:
            raise InputError(fault)

    @property
    def configuration(self) -> PipelineConfiguration:
        """The configuration that a sweep would run, named after its chunking."""
        configuration = PipelineConfiguration.of(self.chunking, self.embedding, self.retrieval, self.rerank, self.rewrite)
        return configuration.answered(self.context, self.answering)

    @property
    def components(self) -> Mapping[str, Component]:
        """The components of the configuration by stage."""
        return self.configuration.components

    @checked_names
    def index(self, documents: Dataset | Iterable[Document], outputs: str | Path = "outputs") -> "Index":
        """Split and embed documents and build their index. Results that are in the store of `outputs` are reused.

        Examples
        --------
        >>> import workbench as wb
        >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
        >>> index = wb.Pipeline(chunking=wb.FixedChunker(size=256)).index(dataset)
        >>> index.search("hotel ceiling singapore?", k=1)[0].doc_id
        'finance/travel-expenses'
        """
        dataset = documents if isinstance(documents, Dataset) else Dataset("documents", documents_of(documents), (), ())
        if not dataset.documents:
            raise InputError("there are no documents to index", "give a dataset or a list of documents")
        # The caller made the components in Python, and so has chosen the code.
        run = RunContext(Workspace.at(Path(outputs).resolve()), checked(dataset), (), "exact", allow_code=True)
        return Index(self, run, Graph(run).walk(self.configuration, ("chunks", "vectors", "index")).entries)

    def __repr__(self) -> str:
        parts = (self.retrieval, self.rewrite, self.rerank, self.answering)
        return f"Pipeline({', '.join([self.configuration.name, *(part.kind for part in parts if part)])})"

    def _repr_html_(self) -> str:
        rows = []
        for stage, component in self.components.items():
            settings = [
                f"{name}={value}" for name, value in component.model_dump(mode="json").items() if name != "kind" and value is not None
            ]
            rows.append({"stage": stage, "component": type(component).__name__, "settings": ", ".join(settings)})
        return table_html(repr(self), rows)


@dataclass(frozen=True, eq=False)
class Index(AdvisedNames):
    """The indexed documents of a pipeline. Make one with `Pipeline.index`."""

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("query", "retrieve", "similarity_search", "get_relevant_documents", "invoke", "find"), "index.search(query, k=5)"),
        **dict.fromkeys(("ask", "chat", "generate"), "index.answer(query)"),
        **dict.fromkeys(("evaluate", "score"), "wb.evaluate(index, dataset)"),
        **dict.fromkeys(
            ("add", "insert", "upsert", "add_documents"), "pipeline.index(documents) with all documents: an index does not change"
        ),
        **dict.fromkeys(("documents", "dataset"), "index.run.dataset"),
        **dict.fromkeys(("chunks", "chunk_table"), "wb.chunk_table(dataset, chunker)"),
    }

    pipeline: Pipeline
    run: RunContext
    entries: Entries = field(repr=False)

    @cached_property
    def _chunks(self) -> Chunks:
        return self.run.chunks(self.entries["chunks"][""])

    @cached_property
    def _corpus(self) -> Corpus:
        return corpus_of(StageResults(self.run, self.pipeline.configuration, self.entries))

    @checked_names
    def search(self, query: str, k: int | None = None, where: Mapping[str, Any] | None = None) -> Hits:
        """Return the k best slices of text for a question, by default as many as the retriever delivers: its `deliver`, else its `k`.

        A slice that several chunks deliver, such as a parent, occurs once. There are fewer hits if fewer chunks match. With
        `deliver=wb.tokens(2000)` the last slice is cut after 2,000 tokens, as in a sweep whose primary metric is `span_recall@2000t`.

        Parameters
        ----------
        query: the question.
        k: the number of slices, from 1 to 1,000.
        where: a filter of documents by their metadata, such as `{"year": {"$gte": 2024}}` or `{"folder": "hr"}`.

        Raises
        ------
        InputError: the question is empty, `k` is out of range, or no document matches `where`.

        Examples
        --------
        >>> import workbench as wb
        >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
        >>> index = wb.Pipeline(retrieval=wb.BM25Retriever()).index(dataset)
        >>> [hit.doc_id for hit in index.search("hotel ceiling singapore?", k=1)]
        ['finance/travel-expenses']
        """
        configuration = self.pipeline.configuration
        cut = configuration.delivery() if k is None else Cut(k=k)
        question = self._question(query)
        require_k(k)
        if k is not None:
            configuration = replace(configuration, retrieval=configuration.retrieval.model_copy(update={"k": k}))
        depth = SearchDepth(cut.depth, cut.tokens or 0, 1)
        ranked = ranked_chunks(question, configuration, self._corpus, depth, self._filters(where))
        rows = ranked["chunk"].to_numpy(np.int64)
        packed = pack(np.zeros_like(rows), self._corpus.group[rows], self._corpus.tokens[rows], *cut)
        columns = rows, packed.delivered_tokens, ranked["score"].to_numpy()
        delivered = zip(*(column[packed.delivered].tolist() for column in columns), strict=True)
        return Hits(self._hit(rank, *row) for rank, row in enumerate(delivered, 1))

    @checked_names
    def answer(self, query: str, where: Mapping[str, Any] | None = None) -> SingleAnswer:
        """Answer a question from the context that its hits make, as a sweep does.

        Parameters
        ----------
        query: the question.
        where: a filter of documents by their metadata, such as `{"year": {"$gte": 2024}}` or `{"folder": "hr"}`.

        Raises
        ------
        InputError: the pipeline has no `answering`, the question is empty, or no document matches `where`.
        RunError: the model gave no answer. The message has the reason.

        Examples
        --------
        >>> import workbench as wb
        >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
        >>> pipeline = wb.Pipeline(retrieval=wb.BM25Retriever(), answering=wb.ExtractiveGenerator())
        >>> print(pipeline.index(dataset).answer("Who won the football world cup in 1998?"))
        The passages do not contain the answer.
        """
        return single_answer(self._question(query), self.search(query, where=where), self.pipeline.configuration, self.run)

    def _question(self, query: str) -> Query:
        """Return a question of the dataset, which a recorded rewriter or generator can know by its id, or a new one."""
        require(query, str, "the question")
        if not query.strip():
            raise InputError("the question is empty", "give a question")
        return next((each for each in self.run.dataset.queries if each.text == query), Query("", query))

    def _filters(self, where: Mapping[str, Any] | None) -> DocumentFilters | None:
        if where is None:
            return None
        documents = self.run.dataset.documents
        if fault := next(filter_faults(where, metadata_fields(documents)), ""):
            raise InputError(f"where filters by {fault}")
        mask = np.array([[matches(where, document) for document in documents]])
        if not mask.any():
            raise InputError(f"no document matches where={dict(where)}", "search without it, or check the documents' metadata")
        return DocumentFilters(np.zeros(1, dtype=np.int64), mask)

    def _hit(self, rank: int, row: int, tokens: int, score: float) -> Hit:
        chunk = self._chunks[row]
        start, end = chunk.delivered
        if tokens < self._corpus.tokens[row]:
            (text,) = tokenise([chunk.document.text], BUDGET_VOCABULARY)
            end = int(text.starts[text.before(np.array(start)) + tokens])
        return Hit(chunk.document, start, end, rank, score)

    def __repr__(self) -> str:
        documents, chunks = plural(len(self.run.dataset.documents), "document"), plural(len(self._corpus.ids), "chunk")
        return f"Index({self.pipeline.configuration.name}, {documents}, {chunks})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), []) + self.pipeline._repr_html_()
