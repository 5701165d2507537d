"""An open connection to an MCP server: calls of its tools, the reading of their replies, and the texts that the server asks for (sampling).

The result of a tool is read in this order: the error flag, structured content, texts. A server without structured content sends each item of a list
as a text: a list of one hit looks like the hit, and an empty list like no reply. Texts of embedded resources are texts. A text that is a JSON
object or array is read as that, and any other, such as `1995`, is the text itself.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from mcp.client import ClientRequestContext
from mcp_types import (
    INTERNAL_ERROR,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    EmbeddedResource,
    ErrorData,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types import ContentBlock as Part
from pydantic import JsonValue

from workbench.core.errors import WorkbenchError, error_line
from workbench.core.records import Document, LostTries, SampledCall, TargetHit
from workbench.core.text.formatting import listed, meant, plural
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.session import CallResources, ask_all
from workbench.systems.base import System, TargetDownError, TargetError, TargetResources
from workbench.systems.mcp.server import McpConnection, McpServer
from workbench.systems.mcp.settings import McpSettings, McpTool, SamplingModel
from workbench.systems.operations import AnswerOperation, SearchOperation, Slots, TemplateSession, fill
from workbench.systems.replies import HitPaths, MissingError

# The server sees only this: a reason can contain an address or a budget.
_REFUSAL = "the client could not write a text"
# The seconds that a server has to end a request after it did not get a text. Its result does not count any more.
_PATIENCE = 5.0


@dataclass
class SamplingRecord:
    """The texts that were written while a server handled one request, and the first failure. `ended` is done when the request has ended."""

    samples: list[SampledCall] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    requests: int = 0
    failure: TargetError | None = None
    ended: Future[None] = field(default_factory=Future)
    limit: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))

    def fail(self, failure: TargetError) -> None:
        """Keep the first failure, or one that ends everything, and give the server a little time to end."""
        if self.failure is None:
            with suppress(RuntimeError):  # the request has ended
                self.limit.reschedule(asyncio.get_running_loop().time() + _PATIENCE)
        if self.failure is None or isinstance(failure, TargetDownError):
            self.failure = failure

    def use(self) -> dict[str, Any]:
        """Return the fields of `ModelUse` for all replies together. A count is None if one is unknown."""
        if not self.replies:
            return {}
        counts = {name: [getattr(reply, name) for reply in self.replies] for name in ("input_tokens", "output_tokens", "cost")}
        return {
            **{name: None if None in values else sum(values) for name, values in counts.items()},
            "model": self.replies[-1].model,
            "seconds": sum(reply.seconds for reply in self.replies),
            "cached": all(reply.cached for reply in self.replies),
            "lost": sum((reply.lost for reply in self.replies), LostTries()),
        }


class Sampler:
    """Asks the configured model what a server asks its client, through the cache of calls and within the budget."""

    def __init__(self, model: SamplingModel, resources: CallResources) -> None:
        self._model, self._resources = model, resources
        self._client = model.client()
        self._of_this_task: ContextVar[SamplingRecord | None] = ContextVar("sampling", default=None)
        # The only request, if a server does not say which one it asks for.
        self._latest: SamplingRecord | None = None

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[SamplingRecord]:
        """Record what the server asks for. Raises the failure of the model at the end, or soon after it, whatever the server made of it."""
        self._latest = record = SamplingRecord()
        token = self._of_this_task.set(record)
        try:
            async with record.limit:
                yield record
        except (TargetError, TimeoutError):
            if record.failure is None:
                raise
        except asyncio.CancelledError as error:
            if record.failure:
                error.add_note(str(record.failure))
            raise
        finally:
            # What is still being written is not paid for any longer.
            record.ended.set_result(None)
            self._of_this_task.reset(token)
        if record.failure:
            raise record.failure

    async def __call__(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Answer a request of the server. It is not shown the reason of a failure."""
        record = self._of_this_task.get() or self._latest
        if record is None or record.ended.done():
            return ErrorData(code=INTERNAL_ERROR, message=_REFUSAL)
        try:
            return await self._answer(record, params)
        except TargetError as failure:
            record.fail(failure)
        except WorkbenchError as error:
            record.fail(TargetDownError(f"the model of sampling: {error_line(error)}"))
        except Exception as error:  # the server must get an answer, and never the text of an error
            record.fail(TargetError(f"the model of sampling: {error_line(error)[:200]}"))
        return ErrorData(code=INTERNAL_ERROR, message=_REFUSAL)

    async def _answer(self, record: SamplingRecord, params: CreateMessageRequestParams) -> CreateMessageResult:
        record.requests += 1
        if record.requests > self._model.most_calls:
            raise TargetError(f"the server asked for more than {plural(self._model.most_calls, 'text')} (sampling.most_calls)")
        system = [Message("system", params.system_prompt)] if params.system_prompt else []
        messages = [*system, *(Message(message.role, _message_text(message.content)) for message in params.messages)]
        if (size := sum(len(message.content) for message in messages)) > self._model.most_characters:
            most = f"{self._model.most_characters:,} (sampling.most_characters)"
            raise TargetError(f"the server asked for a text with a prompt of {size:,} characters, more than {most}")
        call = ChatCall(
            messages,
            max_tokens=min(params.max_tokens, self._model.max_tokens),
            temperature=params.temperature if self._model.temperature is None else self._model.temperature,
        )
        ((_, outcome),) = await asyncio.to_thread(lambda: list(ask_all(self._client, [call], self._resources, record.ended)))
        if isinstance(outcome, CallFailure):
            raise TargetError(f"the model of sampling: {outcome.reason}")
        record.replies.append(outcome)
        record.samples.append(SampledCall("\n\n".join(message.content for message in messages), outcome.text))
        stop = "maxTokens" if outcome.finish_reason == "length" else "endTurn"
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=outcome.text), model=outcome.model or "unknown", stop_reason=stop
        )


def _message_text(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [part.text for part in parts if isinstance(part, TextContent)]
    if len(texts) < len(parts):
        raise TargetError("the server asked for a text about an image, a sound or a tool, which sampling does not support")
    return "\n\n".join(texts)


T = TypeVar("T")
_LINK = "resource link"


@dataclass(frozen=True)
class ToolReply:
    """The reply of a tool: a `value`, its `texts` if it has no structured content, and the `others` with the names of these `unread` parts."""

    value: JsonValue
    texts: tuple[str, ...] | None = None
    others: tuple[JsonValue, ...] = ()
    unread: tuple[str, ...] = ()

    def hits(self, paths: HitPaths) -> list[TargetHit]:
        """Return the hits of a search: each text is one, or the only text has all. Raises TargetError for another form."""
        if self.texts is None:
            return paths.read(self.value)
        # Some servers write null if nothing was found.
        items = [None if text.strip() == "null" else _structured(text) for text in self.texts if text.strip()]
        every, alone = [*items, *self.others], len(items) == 1
        if self.unread and not items and _LINK not in self.unread:
            raise TargetError(f"the reply has no text, only {self.counted}")
        if paths.nothing_found(items[0] if alone else every):
            return []
        values = [items[0]] if alone and isinstance(items[0], list) else [every, *items] if alone else [every]
        return _first_read(values, paths.found, "$" in paths.hits)

    def answer(self, read: Callable[[JsonValue], T]) -> T:
        """Read the value, or else in the only text that is a JSON object or array."""
        if self.unread and self.texts is not None and not any(text.strip() for text in self.texts):
            raise TargetError(f"the reply has no text, only {self.counted}")
        inner = [value for value in map(_structured, self.texts or ()) if not isinstance(value, str)]
        return _first_read([self.value, *inner] if len(inner) == 1 and inner[0] != self.value else [self.value], read, first=True)

    @property
    def counted(self) -> str:
        """Count the parts that are no text, such as `2 × image and 1 × resource link`."""
        return listed([f"{number} × {name}" for name, number in Counter(self.unread).items()])


def read_result(result: CallToolResult) -> ToolReply:
    """Convert the result of a tool. Raises TargetError with the tool's own words if it failed."""
    texts = tuple(text for part in result.content if (text := _text(part)) is not None)
    if result.is_error:
        raise TargetError("\n".join(texts) or "no message")
    parts = [part for part in result.content if _text(part) is None]
    unread = tuple("binary resource" if isinstance(part, EmbeddedResource) else part.type.replace("_", " ") for part in parts)
    structured: JsonValue = result.structured_content
    if structured is not None:
        return ToolReply(structured, unread=unread)
    # A link can be a hit; what is in an image is not read.
    others = tuple(part.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"data", "resource"}) for part in parts)
    values = [_structured(text) for text in texts]
    if values and not any(isinstance(value, str) for value in values):
        return ToolReply(values[0] if len(values) == 1 else values, texts, others, unread)
    return ToolReply("\n".join(texts), texts, others, unread)


def _text(part: Part) -> str | None:
    if isinstance(part, TextContent):
        return part.text
    return part.resource.text if isinstance(part, EmbeddedResource) and isinstance(part.resource, TextResourceContents) else None


def _structured(text: str) -> JsonValue:
    """Return the JSON object or array of a text, or the text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


def _first_read(values: Sequence[JsonValue], read: Callable[[JsonValue], T], first: bool) -> T:
    """Read the first value that can be read. Raises the error of the first, or of the last value."""
    errors = []
    for value in values:
        try:
            return read(value)
        except MissingError as error:
            errors.append(error)
    raise errors[0 if first else -1]


_MOST = 20


def check_tools(wanted: Mapping[str, McpTool], tools: Sequence[Tool]) -> None:
    """Raise TargetDownError for a tool that is missing, a required argument that is not given, or an argument that the tool does not have."""
    known = {tool.name: tool for tool in tools}
    for each in wanted.values():
        if each.tool not in known:
            names = listed(sorted(known), _MOST) if known else "none"
            raise TargetDownError(f"the server has no tool {each.tool!r}{meant(each.tool, known)}; its tools are {names}")
        _check_arguments(each, known[each.tool].input_schema)


def _check_arguments(wanted: McpTool, schema: Mapping[str, object]) -> None:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    if missing := [str(name) for name in (required if isinstance(required, list) else []) if name not in wanted.arguments]:
        raise TargetDownError(f"the tool {wanted.tool!r} needs the argument {missing[0]!r}; add it to its arguments")
    # Most servers ignore an argument that they do not know, so that a misspelt collection is silently the default one.
    if not names or schema.get("additionalProperties"):
        return
    for name in wanted.arguments:
        if name not in names:
            raise TargetDownError(f"the tool {wanted.tool!r} has no argument {name!r}{meant(name, names)}; it has {listed(names, _MOST)}")


ToolCall = Callable[[str, dict[str, JsonValue]], Awaitable[CallToolResult]]


@asynccontextmanager
async def open_session(target: McpSettings, resources: TargetResources) -> AsyncIterator[System]:
    """Connect to the server, and check its tools. Raises TargetDownError if it cannot be used."""
    sampler = Sampler(target.sampling, resources.calls) if target.sampling else None
    server = McpServer(target, sampler)
    try:
        check_tools(target.operations, await server.tools())
        yield McpSession(target, server, sampler)
    finally:
        await server.close()


class McpSession(TemplateSession):
    """A connection to a server. The texts that it asks for belong to the question that it serves."""

    def __init__(self, target: McpSettings, server: McpServer, sampler: Sampler | None) -> None:
        super().__init__(target.operations, target.k)
        self._server, self._sampler = server, sampler
        self._turn = asyncio.Lock()
        # What the server was given. One that is started again may have kept it in memory.
        self._documents: dict[str, Document] = {}
        server.restore = self._restore

    async def call(self, role: str, values: Slots) -> Any:
        """Call a tool. An answer that is empty because the server did not ask for a text is a failure."""
        operation = self.operations[role]
        # Requests of an older server do not say which of several calls they belong to.
        alone = self._sampler and (await self._server.connection()).one_at_a_time
        recording = self._sampler.recording() if self._sampler else nullcontext(SamplingRecord())
        async with self._turn if alone else nullcontext(), recording as record:
            reply = await self._reply(role, values, self._server.call)
        if isinstance(operation, SearchOperation) and operation.reply:
            return reply.hits(operation.reply)
        if not isinstance(operation, AnswerOperation):
            return operation.read(reply.value)
        unasked = ", and the server asked for no text (sampling): try mode: legacy" if self._sampler and not record.requests else ""
        try:
            answer = reply.answer(operation.read)
        except MissingError as error:
            raise TargetError(f"{error}{unasked}") from None
        if not answer.text.strip() and unasked:
            raise TargetError(f"the answer is empty{unasked}")
        return replace(answer, samples=tuple(record.samples), unread=reply.unread, **record.use())

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and wait until they can be found."""
        await super().ingest(documents)
        self._documents.update((document.doc_id, document) for document in documents)

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        await super().remove(doc_ids)
        for doc_id in doc_ids:
            self._documents.pop(doc_id, None)

    async def _restore(self, connection: McpConnection) -> None:
        """Give a server whose process or session ended the documents of this session."""

        async def call(role: str, values: Slots) -> object:
            return self.operations[role].read((await self._reply(role, values, connection.client.call_tool)).value)

        if self._documents:
            await self._send("ingest", tuple(self._documents.values()), call)

    async def _reply(self, role: str, values: Slots, call: ToolCall) -> ToolReply:
        tool = cast(McpTool, self.operations[role])
        result = await call(tool.tool, cast("dict[str, JsonValue]", fill(tool.arguments, values)))
        try:
            return read_result(result)
        except TargetError as error:
            raise TargetError(f"the tool {tool.tool!r} failed: {self._server.cleaned(str(error))}") from None
