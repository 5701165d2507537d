"""An index of Workbench's own as a target: documents are split, embedded and searched, and can be replaced."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.chunking.base import Chunker
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.components.embedding.base import Embedder, Role
from workbench.components.embedding.embed import embed
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.registry import CHUNKERS, GENERATORS
from workbench.components.retrieval.chroma_index import SPACE, open_client
from workbench.components.retrieval.rank import rounded
from workbench.core.component import Component
from workbench.core.records import Answer, Document, Passage, Query, TargetHit, Variant
from workbench.core.storage.vector_cache import VectorCache
from workbench.core.text.formatting import meant
from workbench.data.filters import matches
from workbench.systems.base import System, Target, TargetError, TargetResources

T = TypeVar("T")
C = TypeVar("C", bound=Component)
Mode = Literal["replace", "upsert", "append"]
_COLLECTION = "target"
_PASSAGES = 5


def _made(kinds: Mapping[str, type[C]]) -> Callable[[Any], Any]:
    """Return a validator that makes a component from its settings with their `kind`, one of a registry."""

    def make(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if (kind := str(value.get("kind"))) not in kinds:
            raise ValueError(f"no kind {kind!r}{meant(kind, kinds)}; kinds are {', '.join(sorted(kinds))}")
        return kinds[kind].model_validate(value)

    return make


class PipelineTarget(Target):
    """Documents in a Chroma collection that changes with them, in a temporary folder that ends with the session.

    `replace` deletes the chunks of a document before its new ones are added. `upsert` numbers the chunks of a document, and writes each over the
    one with its number, so that those beyond a shorter version remain. `append` only adds. Both are common mistakes, for tests of
    `check_freshness`.
    """

    nested: ClassVar[Mapping[str, type[Component]]] = {"chunker": Chunker, "embedder": Embedder, "answering": Generator}

    kind: Literal["pipeline"] = "pipeline"
    chunker: Annotated[SerializeAsAny[Chunker], BeforeValidator(_made(CHUNKERS))] = Field(
        default=RecursiveChunker(size=256), description="The chunker, such as `{kind: fixed, size: 128}`."
    )
    embedder: Annotated[SerializeAsAny[Embedder], BeforeValidator(_made(EMBEDDERS))] = Field(
        default=SentenceTransformerEmbedder(), description="The embedder of chunks and questions."
    )
    answering: Annotated[SerializeAsAny[Generator] | None, BeforeValidator(_made(GENERATORS))] = Field(
        default=None, description="The generator of answers, such as `{kind: extractive}`; by default the target only searches."
    )
    mode: Mode = Field(default="replace", description="What becomes of the chunks of an earlier version: `replace`, `upsert` or `append`.")

    @property
    def roles(self) -> Collection[str]:
        """Return that it searches and takes documents, and answers with a generator."""
        return ("search", "ingest", "remove", *(("answer", "context") if self.answering else ()))

    def identity(self) -> Any:
        """Return the settings, and the identities of the components in place of theirs."""
        roles: tuple[Role, ...] = ("document", "query")
        parts = {"chunker": _splitter(self).identity(), "embedder": [self.embedder.identity(role) for role in roles]}
        return super().identity() | parts | ({"answering": self.answering.identity()} if self.answering else {})

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        """Open an empty index."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-target-")))
            yield PipelineSession(self, folder, stack.enter_context(open_client(folder)), resources)


def _splitter(target: PipelineTarget) -> Chunker:
    """Return the chunker, which counts in the vocabulary of the embedder."""
    return target.chunker.model_copy(update={"model": target.embedder.vocabulary})


class PipelineSession(System):
    """A changing index. One request is served at a time, in a thread."""

    def __init__(self, target: PipelineTarget, folder: Path, client: Any, resources: TargetResources) -> None:
        self._mode, self._embedder, self._generator = target.mode, target.embedder, target.answering
        self._chunker = _splitter(target)
        self._collection = client.create_collection(_COLLECTION, configuration={"hnsw": {"space": SPACE}}, embedding_function=None)
        self._resources = AnswerResources(VectorCache(folder / "vectors.sqlite"), resources.calls)
        self._one = asyncio.Lock()
        # The latest version of each document, by whose metadata questions are filtered.
        self._documents: dict[str, Document] = {}
        # A number for each addition, by which `append` gives equal chunks different ids.
        self._added = 0

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return the k nearest chunks by cosine, of documents that the question's filter allows."""
        return await self._alone(lambda: self._search(query, k))

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer from the given passages, or from the five nearest chunks."""
        generator = self._generator
        if generator is None:
            raise TargetError("the target does not answer")
        return await self._alone(lambda: self._answer(generator, query, context))

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Split, embed and add documents. What becomes of chunks with the same doc_id depends on the mode."""
        await self._alone(lambda: self._ingest(documents))

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete the chunks of documents; `append` deletes nothing."""
        await self._alone(lambda: self._remove(doc_ids))

    async def _alone(self, work: Callable[[], T]) -> T:
        async with self._one:
            return await asyncio.to_thread(work)

    def _search(self, query: Query, k: int) -> list[TargetHit]:
        stored = self._collection.get(include=["documents", "metadatas", "embeddings"])
        if not stored["ids"]:
            return []
        vector = embed([query.text], self._embedder, "query", self._resources.vectors).vectors[0]
        # Every chunk is compared: the graph of an index that changes finds others each time that it is built.
        scores = rounded(np.asarray(stored["embeddings"], np.float64) @ vector.astype(np.float64))
        allowed = [place for place, about in enumerate(stored["metadatas"]) if matches(query.where, self._documents[about["doc_id"]])]
        best = sorted(allowed, key=lambda place: (-scores[place], stored["ids"][place]))[:k]
        rows = ((stored["metadatas"][place], stored["documents"][place], float(scores[place])) for place in best)
        return [TargetHit(about["doc_id"], text, score, about["start"], about["end"]) for about, text, score in rows]

    def _answer(self, generator: Generator, query: Query, context: Sequence[Passage] | None) -> Answer:
        hits = self._search(query, _PASSAGES) if context is None else []
        passages = [Passage(str(hit.doc_id), hit.start or 0, hit.end or 0, str(hit.text)) for hit in hits] if context is None else context
        _, answer = next(generator.answer([AnswerRequest(query, passages, Variant())], self._resources))
        if answer.error:
            raise TargetError(answer.error)
        return replace(answer, citations=(), sources=tuple(hits) if context is None else None)

    def _ingest(self, documents: Sequence[Document]) -> None:
        self._documents |= {document.doc_id: document for document in documents}
        chunks = [(number, chunk) for document in documents for number, chunk in enumerate(self._chunker.split(document))]
        if self._mode == "replace":
            self._remove([document.doc_id for document in documents])
        if not chunks:
            return
        addition = f"#{self._added}" if self._mode == "append" else ""
        vectors = embed([chunk.embedded_text for _, chunk in chunks], self._embedder, "document", self._resources.vectors).vectors
        self._collection.upsert(
            ids=[f"{chunk.doc_id}#{number}{addition}" for number, chunk in chunks],
            embeddings=np.asarray(vectors),
            documents=[chunk.text for _, chunk in chunks],
            metadatas=[{"doc_id": chunk.doc_id, "start": chunk.start, "end": chunk.end} for _, chunk in chunks],
        )
        self._added += 1

    def _remove(self, doc_ids: Sequence[str]) -> None:
        if doc_ids and self._mode != "append":
            self._collection.delete(where={"doc_id": {"$in": list(doc_ids)}})
