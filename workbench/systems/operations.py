"""The operations of a system behind a transport: search, answer, ingest, remove and ready.

A kind of target is a transport: it says how an operation is called, by an address (`workbench.systems.http`), a tool (`workbench.systems.mcp`), a
function (`workbench.systems.callable`) or in a file (`workbench.systems.recorded`). `OperationSession` makes the calls of questions and documents.
In a `TemplateTarget` the operations are settings: a template of the request, and where the reply has what.

A template is JSON with `{query}` and other slots within any text of a nested value. A text that is exactly one slot becomes the value itself: `{k}` a number, `{context}` a list of texts, `{metadata}` a mapping. Within a
longer text a list is joined by blank lines. Where a slot has no value (None), the key or the item that is exactly this slot is left
out, and a longer text has nothing in its place. `{{query}}` stays as the text `{query}`.

- A question has `{query}`, `{query_id}` and `{k}`, and an answer from given passages `{context}` also.
- A document has `{doc_id}`, `{text}`, `{title}` and `{metadata}`.
- Many documents in one request have `{doc_ids}`, `{texts}`, `{titles}` and `{metadatas}`, parallel lists, and `{documents}`, a list with
  one filled `document` template for each document.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal, cast
from urllib.parse import quote

from pydantic import Field, JsonValue

from workbench.core.batching import blocks
from workbench.core.records import Answer, Document, Passage, Query, TargetHit
from workbench.core.text.formatting import listed, meant
from workbench.systems.base import System, Target, TargetError
from workbench.systems.replies import AnswerPaths, HitPaths, JsonPath, PathSettings, ReplySign, find, same_json

Slots = Mapping[str, JsonValue]
QUESTION_SLOTS = ("query", "query_id", "k")
CONTEXT_SLOT = "context"
DOCUMENT_SLOTS = ("doc_id", "text", "title", "metadata")
DOCUMENTS_SLOTS = ("documents", "doc_ids", "texts", "titles", "metadatas")
_SLOT = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def question_slots(query: Query, k: int, context: Sequence[Passage] | None = None) -> Slots:
    """Return the slots of a question. `context` is a list of texts, or None if there are no given passages. No template has the filter `where`."""
    texts: list[JsonValue] | None = None if context is None else [passage.text for passage in context]
    return {"query": query.text, "query_id": query.query_id, "k": k, CONTEXT_SLOT: texts, "where": dict(query.where)}


def document_slots(document: Document) -> Slots:
    """Return the slots of one document."""
    return {"doc_id": document.doc_id, "text": document.text, "title": document.title, "metadata": dict(document.metadata)}


def documents_slots(documents: Sequence[Document], template: JsonValue) -> Slots:
    """Return the slots of many documents in one request. `template` is that of one document in `{documents}`."""
    each = [document_slots(document) for document in documents]
    columns: dict[str, JsonValue] = {f"{name}s": [slots[name] for slots in each] for name in DOCUMENT_SLOTS}
    return {**columns, "documents": [fill(template, slots) for slots in each]}


def fill(template: JsonValue, slots: Slots) -> JsonValue:
    """Return the template with its slots filled. Values are not searched for slots again.

    Examples
    --------
    >>> fill({"q": "Find {query}", "top": "{k}", "context": "{context}"}, {"query": "cats", "k": 5, "context": None})
    {'q': 'Find cats', 'top': 5}
    """
    if isinstance(template, str):
        slot = _SLOT.fullmatch(template)
        return slots[slot[2]] if slot and slot[2] else _SLOT.sub(lambda match: _inside(match, slots), template)
    if isinstance(template, list):
        return [fill(item, slots) for item in template if not _absent(item, slots)]
    if isinstance(template, dict):
        return {name: fill(value, slots) for name, value in template.items() if not _absent(value, slots)}
    return template


def fill_url(template: str, slots: Slots) -> str:
    """Return an address with its slots filled by percent-encoded values."""
    return _SLOT.sub(lambda match: quote(_inside(match, slots), safe=""), template)


def slots_of(template: JsonValue) -> frozenset[str]:
    """Return the names of the slots in a template."""
    return frozenset(match[2] for text in _texts(template) for match in _SLOT.finditer(text) if match[2])


def check_slots(template: JsonValue, known: Sequence[str]) -> None:
    """Raise ValueError if the template has a slot besides the known ones."""
    for name in sorted(slots_of(template) - set(known)):
        raise ValueError(
            f"no slot {{{name}}}{meant(name, known)}; slots are {listed([f'{{{slot}}}' for slot in known], 12)}, "
            f"and {{{{{name}}}}} is the text {{{name}}}"
        )


def _absent(template: JsonValue, slots: Slots) -> bool:
    slot = _SLOT.fullmatch(template) if isinstance(template, str) else None
    return bool(slot and slot[2] and slots[slot[2]] is None)


def _inside(match: re.Match[str], slots: Slots) -> str:
    if match[1]:
        return f"{{{match[1]}}}"
    value = slots[match[2]]
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n\n".join(map(str, value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _texts(template: JsonValue) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, list | dict):
        for part in template.values() if isinstance(template, dict) else template:
            yield from _texts(part)


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
