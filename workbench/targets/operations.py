"""The operations of a system behind a transport: search, answer, ingest, remove and ready.

Their settings have a template of the request and where a reply has what. A transport adds how it is called: `workbench.targets.http` an address,
`workbench.targets.mcp` a tool. `OperationSession` fills the slots, makes the requests of many documents, and reads the replies.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from workbench.core.batching import blocks
from workbench.records import Answer, Document, Passage, Query, TargetHit
from workbench.targets.base import System, TargetError
from workbench.targets.paths import JsonPath, find
from workbench.targets.replies import AnswerPaths, HitPaths, PathSettings, ReplySign, same_json
from workbench.targets.templates import (
    CONTEXT_SLOT,
    DOCUMENT_SLOTS,
    DOCUMENTS_SLOTS,
    QUESTION_SLOTS,
    Slots,
    document_slots,
    documents_slots,
    question_slots,
    slots_of,
)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_DOCUMENT: dict[str, JsonValue] = {"id": "{doc_id}", "text": "{text}", "title": "{title}", "metadata": "{metadata}"}


class Operation(PathSettings):
    """One operation. `role` is its name, and `slots` are those that its template can have."""

    role: ClassVar[Literal["search", "answer", "ingest", "ingest.ready", "remove"]]
    slots: ClassVar[Sequence[str]] = ()

    @property
    @abstractmethod
    def template(self) -> JsonValue:
        """Return everything that can have slots."""

    @property
    def named(self) -> frozenset[str]:
        """Return the slots in the template."""
        return slots_of(self.template) & set(self.slots)


class SearchOperation(Operation):
    """A search."""

    role: ClassVar = "search"
    slots: ClassVar[Sequence[str]] = QUESTION_SLOTS

    reply: HitPaths | None = Field(default=None, description="Where the reply has the hits.")


class AnswerOperation(Operation):
    """An answer, from given passages if the template has `{context}`, a list of texts."""

    role: ClassVar = "answer"
    slots: ClassVar[Sequence[str]] = (*QUESTION_SLOTS, CONTEXT_SLOT)

    reply: AnswerPaths | None = Field(default=None, description="Where the reply has the answer and its sources.")

    @property
    def takes_context(self) -> bool:
        """Return whether the request can have given passages."""
        return CONTEXT_SLOT in self.named


class DocumentsOperation(Operation):
    """A request with documents: one at a time, or many if the template has a slot for many, such as `{documents}` or `{doc_ids}`."""

    slots: ClassVar[Sequence[str]] = (*DOCUMENT_SLOTS, *DOCUMENTS_SLOTS)

    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that the reply is a failure.")

    @property
    def many(self) -> bool:
        """Return whether a request has many documents."""
        return bool(self.named & set(DOCUMENTS_SLOTS))

    def read(self, reply: JsonValue) -> bool:
        """Return True. Raises TargetError for a reply with the sign of a failure."""
        for sign in self.degraded:
            sign.check(reply)
        return True

    @property
    def mixed(self) -> bool:
        """Return whether the template has slots of one document and of many."""
        return self.many and bool(self.named & set(DOCUMENT_SLOTS))


class ReadyOperation(Operation):
    """The request that says whether added documents can be found: repeated until `path` has the value `equals`."""

    role: ClassVar = "ingest.ready"

    path: JsonPath = Field(description="The JSONPath of the value.")
    equals: JsonValue = Field(default=True, description="The value that says that documents can be found.")
    seconds: float = Field(default=120, gt=0, le=86_400, description="How long to wait for it.")

    def read(self, reply: JsonValue) -> bool:
        """Return whether the documents can be found."""
        return any(same_json(value, self.equals) for value in find(self.path, reply))

    @property
    def unmet(self) -> str:
        """Say that the value is another one."""
        return f"{self.path} is not {json.dumps(self.equals)}"


class IngestOperation(DocumentsOperation):
    """The request that adds documents, or replaces those with the same ids."""

    role: ClassVar = "ingest"

    document: JsonValue = Field(default_factory=lambda: dict(_DOCUMENT), description="The template of one document in `{documents}`.")
    batch: int = Field(default=100, ge=1, le=100_000, description="How many documents a request has, if it can have many.")
    ready: ReadyOperation | None = Field(
        default=None, description="The request that says whether the documents can be found. Without it they can be at once."
    )


class RemoveOperation(DocumentsOperation):
    """The request that deletes documents by their ids: `{doc_id}`, or many by `{doc_ids}`."""

    role: ClassVar = "remove"
    slots: ClassVar[Sequence[str]] = ("doc_id", "doc_ids")


# Makes one request of documents, and reads its reply.
Call = Callable[[DocumentsOperation | ReadyOperation, Slots], Awaitable[bool]]


class OperationSession(System, ABC):
    """A system whose operations are called over a transport. `k` is the number of hits that an answer is made from."""

    def __init__(self, operations: Mapping[str, Operation | None], k: int) -> None:
        self._operations, self._k = operations, k

    @abstractmethod
    async def call(self, operation: DocumentsOperation | ReadyOperation, values: Slots) -> bool:
        """Call an operation of documents, and return what it reads in the reply."""

    @abstractmethod
    async def hits(self, operation: SearchOperation, values: Slots) -> Sequence[TargetHit]:
        """Call a search, and read the hits."""

    @abstractmethod
    async def answered(self, operation: AnswerOperation, values: Slots) -> Answer:
        """Call an answer, and read it."""

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        operation = self._operations.get("search")
        if not isinstance(operation, SearchOperation):
            return await super().search(query, k)
        return (await self.hits(operation, question_slots(query, k)))[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question, from the given passages if the request has `{context}`."""
        operation = self._operations.get("answer")
        if not isinstance(operation, AnswerOperation):
            return await super().answer(query, context)
        if context is not None and not operation.takes_context:
            raise TargetError("the target takes no context: the request of an answer has no {context}")
        return await self.answered(operation, question_slots(query, self._k, context))

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and wait until they can be found."""
        operation = self._operations.get("ingest")
        if not isinstance(operation, IngestOperation):
            return await super().ingest(documents)
        return await add_documents(operation, documents, self.call)

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        operation = self._operations.get("remove")
        if not isinstance(operation, RemoveOperation):
            return await super().remove(doc_ids)
        # Only requests of a service have a limit.
        size = getattr(operation, "batch", len(doc_ids) or 1)
        many: list[Slots] = [{"doc_ids": list(doc_ids[part])} for part in blocks(len(doc_ids), size)]
        return await _send(operation, many if operation.many else [{"doc_id": doc_id} for doc_id in doc_ids], self.call)


async def add_documents(operation: IngestOperation, documents: Sequence[Document], call: Call) -> None:
    """Send documents, and wait until they can be found."""
    if operation.many:
        parts = [documents_slots(documents[part], operation.document) for part in blocks(len(documents), operation.batch)]
    else:
        parts = [document_slots(document) for document in documents]
    await _send(operation, parts, call)
    if ready := operation.ready:
        await _wait(ready, call)


async def _send(operation: DocumentsOperation, parts: Sequence[Slots], call: Call) -> None:
    """Make one request after the other, since a system may not take several at once."""
    for values in parts:
        await call(operation, values)


async def _wait(ready: ReadyOperation, call: Call) -> None:
    pause = _FIRST_PAUSE
    with suppress(TimeoutError):
        async with asyncio.timeout(ready.seconds):
            while not await call(ready, {}):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return
    raise TargetError(f"the documents cannot be found after {ready.seconds:g} seconds: {ready.unmet}")
