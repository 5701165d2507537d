"""Serve the requests of a server for texts (sampling), and keep what was written for which question."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mcp.client import ClientRequestContext
from mcp_types import INTERNAL_ERROR, CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

from workbench.core.errors import WorkbenchError, error_line
from workbench.core.records import LostTries, SampledCall
from workbench.core.text.formatting import plural
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.session import CallResources, ask_all
from workbench.systems.base import TargetDownError, TargetError
from workbench.systems.mcp.settings import SamplingModel

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
        messages = [*system, *(Message(message.role, _text(message.content)) for message in params.messages)]
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


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [part.text for part in parts if isinstance(part, TextContent)]
    if len(texts) < len(parts):
        raise TargetError("the server asked for a text about an image, a sound or a tool, which sampling does not support")
    return "\n\n".join(texts)
