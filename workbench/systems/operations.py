"""The operations of a system behind a transport: search, answer, ingest, remove and ready.

A kind of target is a transport: it says how an operation is called, by an address (`workbench.systems.http`), a tool (`workbench.systems.mcp`), a
function (`workbench.systems.callable`) or in a file (`workbench.systems.recorded`). `OperationSession` makes the calls of questions and documents.
In a `TemplateTarget` the operations are settings: a template of the request, and where the reply has what.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, JsonValue

from workbench.core.batching import blocks
from workbench.core.records import Answer, Document, Passage, Query, TargetHit
from workbench.systems.base import System, Target, TargetError
from workbench.systems.paths import JsonPath, find
from workbench.systems.replies import AnswerPaths, HitPaths, PathSettings, ReplySign, same_json
from workbench.systems.templates import (
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
    """The settings of an operation. `role` is its name, and `slots` are those that its template can have."""

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

    @abstractmethod
    def read(self, reply: JsonValue) -> Any:
        """Return the hits, the answer, or whether documents can be found. Raises TargetError for a reply without them."""

    def batches(self, items: Sequence[Any]) -> Sequence[Slots]:
        """Return the values of each request of documents or ids, none for an operation of questions."""
        return []


class SearchOperation(Operation):
    """A search."""

    role: ClassVar = "search"
    slots: ClassVar[Sequence[str]] = QUESTION_SLOTS

    reply: HitPaths | None = Field(default=None, description="Where the reply has the hits.")

    def read(self, reply: JsonValue) -> Sequence[TargetHit]:
        """Return the hits of a reply."""
        assert self.reply
        return self.reply.read(reply)


class AnswerOperation(Operation):
    """An answer, from given passages if the template has `{context}`, a list of texts."""

    role: ClassVar = "answer"
    slots: ClassVar[Sequence[str]] = (*QUESTION_SLOTS, CONTEXT_SLOT)

    reply: AnswerPaths | None = Field(default=None, description="Where the reply has the answer and its sources.")

    def read(self, reply: JsonValue) -> Answer:
        """Return the answer in a reply."""
        assert self.reply
        return self.reply.read(reply)


class DocumentsOperation(Operation):
    """A request with documents: one at a time, or many if the template has a slot for many, such as `{documents}` or `{doc_ids}`."""

    slots: ClassVar[Sequence[str]] = (*DOCUMENT_SLOTS, *DOCUMENTS_SLOTS)

    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that the reply is a failure.")

    @property
    def many(self) -> bool:
        """True if a request has many documents."""
        return bool(self.named & set(DOCUMENTS_SLOTS))

    def read(self, reply: JsonValue) -> bool:
        """Return True. Raises TargetError for a reply with the sign of a failure."""
        for sign in self.degraded:
            sign.check(reply)
        return True

    @property
    def mixed(self) -> bool:
        """True if the template has slots of one document and of many."""
        return self.many and bool(self.named & set(DOCUMENT_SLOTS))


class ReadyOperation(Operation):
    """The request that says whether added documents can be found: repeated until `path` has the value `equals`."""

    role: ClassVar = "ingest.ready"

    path: JsonPath = Field(description="The JSONPath of the value.")
    equals: JsonValue = Field(default=True, description="The value that says that documents can be found.")
    seconds: float = Field(default=120, gt=0, le=86_400, description="How long to wait for it.")

    def read(self, reply: JsonValue) -> bool:
        """Return True if the documents can be found."""
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

    def batches(self, items: Sequence[Document]) -> Sequence[Slots]:
        """Return the values of each request."""
        if not self.many:
            return [document_slots(document) for document in items]
        return [documents_slots(items[part], self.document) for part in blocks(len(items), self.batch)]


class RemoveOperation(DocumentsOperation):
    """The request that deletes documents by their ids: `{doc_id}`, or many by `{doc_ids}`."""

    role: ClassVar = "remove"
    slots: ClassVar[Sequence[str]] = ("doc_id", "doc_ids")

    def batches(self, items: Sequence[str]) -> Sequence[Slots]:
        """Return the values of each request."""
        # Only requests of a service have a limit.
        size = getattr(self, "batch", len(items) or 1)
        return [{"doc_ids": list(items[part])} for part in blocks(len(items), size)] if self.many else [{"doc_id": item} for item in items]


# Calls an operation by its role.
Call = Callable[[str, Slots], Awaitable[Any]]


class OperationSession(System, ABC):
    """A system whose operations are called over a transport, which is all that a kind of target adds.

    `roles` are its operations. `k` is the number of hits that an answer is made from.
    """

    def __init__(self, roles: Collection[str], k: int) -> None:
        self._roles, self._k = roles, k

    @abstractmethod
    async def call(self, role: str, values: Slots) -> Any:
        """Call an operation with the values of its slots. Return its reply as hits, as an Answer, or whether documents can be found."""

    def batches(self, role: str, items: Sequence[Document] | Sequence[str]) -> Sequence[Slots]:
        """Return the values of each request of documents, or of ids to delete: by default all in one."""
        return [{"documents": cast(list[JsonValue], list(items))}]

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        if "search" not in self._roles:
            return await super().search(query, k)
        hits: Sequence[TargetHit] = await self.call("search", question_slots(query, k))
        return hits[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question, from the given passages if there are any."""
        if "answer" not in self._roles:
            return await super().answer(query, context)
        answer: Answer = await self.call("answer", question_slots(query, self._k, context))
        return answer

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids."""
        await (self._send("ingest", documents, self.call) if "ingest" in self._roles else super().ingest(documents))

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        await (self._send("remove", doc_ids, self.call) if "remove" in self._roles else super().remove(doc_ids))

    async def _send(self, role: str, items: Sequence[Document] | Sequence[str], call: Call) -> None:
        """Make one request after the other, since a system may not take several at once."""
        for values in self.batches(role, items):
            await call(role, values)


class TemplateSession(OperationSession):
    """A system whose operations have templates and paths of replies, as the settings of a TemplateTarget."""

    def __init__(self, operations: Mapping[str, Operation], k: int) -> None:
        super().__init__(operations, k)
        self.operations = operations

    def batches(self, role: str, items: Sequence[Document] | Sequence[str]) -> Sequence[Slots]:
        """Return the values of each request: of one document or id, or of many if the template has a slot for many."""
        return self.operations[role].batches(items)

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question, from the given passages if the request has `{context}`."""
        if context is not None and "answer" in self.operations and CONTEXT_SLOT not in self.operations["answer"].named:
            raise TargetError("the target takes no context: the request of an answer has no {context}")
        return await super().answer(query, context)

    async def _send(self, role: str, items: Sequence[Document] | Sequence[str], call: Call) -> None:
        """Make the requests, and wait until added documents can be found."""
        await super()._send(role, items, call)
        ready, pause = self.operations.get(f"{role}.ready"), _FIRST_PAUSE
        if not isinstance(ready, ReadyOperation):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(ready.seconds):
                while not await call(ready.role, {}):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                return
        raise TargetError(f"the documents cannot be found after {ready.seconds:g} seconds: {ready.unmet}")


class TemplateTarget(Target, ABC):
    """A target whose settings describe its operations by templates of requests and paths of replies."""

    @property
    @abstractmethod
    def operations(self) -> Mapping[str, Operation]:
        """Return the operations by role, with `ingest.ready` if it says when documents can be found."""

    @property
    def roles(self) -> Collection[str]:
        """Return the roles of the operations, and `context` if the request of an answer has `{context}`."""
        answer = (operations := self.operations).get("answer")
        return {*operations, *(["context"] if answer and CONTEXT_SLOT in answer.named else [])}

    @property
    def gives_text(self) -> bool:
        """True if the paths of hits or sources include texts or positions."""
        replies = [operation.reply for operation in self.operations.values() if isinstance(operation, SearchOperation | AnswerOperation)]
        hits = [reply.sources if isinstance(reply, AnswerPaths) else reply for reply in replies]
        return any(paths.gives_text for paths in hits if paths)
