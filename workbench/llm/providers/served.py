"""The base of clients whose model is on a server: one connection pool per event loop, retries, and learning what the model supports."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from weakref import WeakKeyDictionary

from pydantic import Field

from workbench.core.environment import require_installed
from workbench.core.errors import ModelError
from workbench.core.records import LostTries
from workbench.core.text.formatting import plural
from workbench.core.text.printable import printable
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Reply, unfinished
from workbench.llm.models.server import ServedModel
from workbench.llm.replies.answers import UnreadableContentError
from workbench.llm.replies.rejections import error_text, refused_parameter, rejection, reported_error
from workbench.llm.retries import LONGEST_WAIT, back_off, requested_wait, worth_retrying
from workbench.llm.tokens import most_prompt_tokens

if TYPE_CHECKING:
    from workbench.llm.models.http import AsyncClient, Response

_DETAIL = 200
_GATEWAYS = frozenset({502, 504, *range(520, 528)})
# What each model on each server has refused, in this process.
_refused: dict[tuple[str, str], frozenset[str]] = {}


@dataclass(frozen=True)
class _Setback:
    """A failed try that may be repeated, after the server's `wait` if it named one."""

    failure: CallFailure
    status: int | None = None
    wait: float | None = None


@dataclass(frozen=True)
class _Connection:
    """An HTTP client, with the address and the headers of requests."""

    http: "AsyncClient"
    address: str
    headers: Mapping[str, str]

    async def post(self, body: Mapping[str, Any]) -> "Response":
        """Send a body as JSON and read the response, whatever its status.

        The methods of OpenAI's and Anthropic's clients build and validate requests anew, which takes as long as sending them.
        """
        from workbench.llm.models.http import Request

        # In ASCII, since a prompt may contain half of a surrogate pair.
        content = json.dumps(body, separators=(",", ":")).encode()
        headers = {**self.headers, "accept-encoding": "identity"}
        return await self.http.send(Request("POST", self.address, headers=headers, content=content))


_connections: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[ServedClient, _Connection]]" = WeakKeyDictionary()


class ServedClient(ServedModel, ChatClient, ABC):
    """A chat model on a server. A call has `retries` + 1 tries, each with `timeout` seconds in total, so that no reply can drip for hours.

    A parameter that the model refuses is left out of later calls and named in `Reply.dropped`.
    """

    version: ClassVar[int] = 2
    stage: ClassVar[str] = "answering"
    returns: ClassVar[str] = "answer"
    shorten: ClassVar[str] = "lower the token budget of the context"
    package: ClassVar[str]
    # Parameters that the provider has for no model.
    unsupported: ClassVar[frozenset[str]] = frozenset()

    timeout: float = Field(default=120, gt=0, le=3600, description="Seconds that a try may take in total.")

    @property
    def most_tries(self) -> int:
        return self.retries + 1

    @property
    def longest_call(self) -> float:
        """Return the seconds that all tries and the waits between them take at most."""
        return (self.retries + 1) * (self.timeout + 1.1 * LONGEST_WAIT)

    @abstractmethod
    def _endpoint(self) -> tuple[str, Mapping[str, str]]:
        """Return the address and the headers of requests, with the key."""

    @abstractmethod
    def _body(self, call: ChatCall, options: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
        """Return the body of a request. `options` are the optional parameters that the call sets and the model has not `refused`."""

    @abstractmethod
    def _read(self, answer: Mapping[str, Any], call: ChatCall, body: Mapping[str, Any]) -> Reply | CallFailure:
        """Read the answer to a good request. Raises KeyError, TypeError, IndexError or ValueError for any other answer."""

    def check(self) -> None:
        require_installed(f"{self.stage} {self.kind!r}", self.package, extra=self.extra)
        self._key()

    def secrets(self) -> tuple[str, ...]:
        return (self._key(),)

    def identity(self) -> dict[str, Any]:
        """Return provider, address and model. A server's change to another model under the same name goes unnoticed."""
        return {"provider": self.kind, "version": self.version, "address": self.address, "model": self.model}

    async def ask(self, call: ChatCall) -> Reply | CallFailure:
        """Make a call, with retries. Raises ModelError for a wrong key, an unknown or retired model, or an address that redirects."""
        tries, lost = 0, LostTries()
        while True:
            try:
                outcome = await self._try(call)
            except asyncio.CancelledError:
                # With the tries before it, which count too.
                raise asyncio.CancelledError(lost + lost_try(call)) from None
            if outcome is None:
                continue
            lost += (outcome.failure if isinstance(outcome, _Setback) else outcome).lost
            if not isinstance(outcome, _Setback):
                return replace(outcome, lost=lost)
            tries += 1
            if tries > self.retries or (outcome.wait or 0) > LONGEST_WAIT:
                return replace(outcome.failure, reason=f"{self.label} failed {plural(tries, 'time')}: {outcome.failure.reason}", lost=lost)
            try:
                await asyncio.sleep(back_off(tries, outcome.status, outcome.wait))
            except asyncio.CancelledError:
                raise asyncio.CancelledError(lost) from None

    async def close(self) -> None:
        if connection := _connections.get(asyncio.get_running_loop(), {}).pop(self, None):
            await connection.http.aclose()

    def _refused(self) -> frozenset[str]:
        return self.unsupported | _refused.get((self.address, self.model), frozenset())

    def _connection(self) -> _Connection:
        opened = _connections.setdefault(asyncio.get_running_loop(), {})
        if self not in opened:
            self.check()
            from workbench.llm.models.http import LARGEST_ANSWER, HttpRoute, asynchronous_client

            http = asynchronous_client(HttpRoute(self.address, LARGEST_ANSWER))
            opened[self] = _Connection(http, *self._endpoint())
        return opened[self]

    async def _try(self, call: ChatCall) -> Reply | CallFailure | _Setback | None:
        """Make one request. Return None if the next one leaves out a parameter that this one had."""
        connection, refused = self._connection(), self._refused()
        options = {name: value for name, value in call.options.items() if name not in refused}
        body = self._body(call, options, refused)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                response = await connection.post(body)
        except TimeoutError:
            return _Setback(CallFailure(f"no complete answer within {self.timeout:g} seconds", "timeout", lost_try(call)))
        except Exception as error:
            failure, again, sent = _failed_request(error)
            failure = replace(failure, lost=lost_try(call)) if sent else failure
            return _Setback(failure) if again else failure
        if response.status_code >= 300:
            return self._rejected(response.status_code, response.content, response.headers, call, refused)
        seconds = time.perf_counter() - started
        try:
            answer = json.loads(response.content)
        except UnicodeDecodeError:
            return CallFailure("the reply is not valid UTF-8", "reply", lost_try(call))
        except (ValueError, RecursionError):
            what = "HTML" if response.content.lstrip()[:1] == b"<" else "no valid JSON"
            return CallFailure(f"the reply is {what}", "reply", lost_try(call))
        if reported := reported_error(answer):
            return self._rejected(*reported, response.headers, call, refused)
        return self._reply(answer, call, body, seconds)

    def _reply(self, answer: Any, call: ChatCall, body: Mapping[str, Any], seconds: float) -> Reply | CallFailure | _Setback:
        try:
            outcome = self._read(answer, call, body)
        except UnreadableContentError as error:
            return CallFailure(str(error), "reply", lost_try(call))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            return CallFailure(f"the reply has no {self.returns} ({type(error).__name__})", "reply", lost_try(call))
        if isinstance(outcome, CallFailure):
            return replace(outcome, lost=lost_try(call))
        if failure := unfinished(outcome.finish_reason):
            failure = replace(failure, lost=lost_try(call, outcome))
            return _Setback(failure) if failure.kind == "server" else failure
        return self._complete(outcome, call, seconds)

    def _complete(self, reply: Reply, call: ChatCall, seconds: float) -> Reply:
        """Add what all providers share to a reply."""
        dropped = set(self._refused() & call.options.keys())
        if call.top_logprobs is not None and reply.logprobs is None:
            dropped.add("top_logprobs")
        # A prompt and a text have tokens: a server that says 0 has not counted.
        written = None if reply.output_tokens == 0 and reply.text else reply.output_tokens
        reply = replace(reply, input_tokens=reply.input_tokens or None, output_tokens=written)
        cost = self.cost(reply.input_tokens, reply.output_tokens)
        return replace(reply, seconds=seconds, cost=cost, dropped=tuple(sorted(dropped)), model=reply.model or self.model)

    def _rejected(
        self, status: int, content: bytes, headers: Mapping[str, str], call: ChatCall, refused: frozenset[str]
    ) -> CallFailure | _Setback | None:
        """Classify an error of the server. Raises ModelError for one that every call would get."""
        message = printable(error_text(content), [self._key()])
        if name := refused_parameter(status, message, {"max_tokens", *call.options} - refused):
            _refused[self.address, self.model] = _refused.get((self.address, self.model), frozenset()) | {name}
            return None
        detail = " ".join(message.split())[:_DETAIL]
        why = rejection(status, message)
        if status < 400 or status in (401, 403, 404, 410) or why in ("model", "credit"):
            self._stop(status, detail, why == "credit")
        if why == "window":
            return CallFailure(f"the prompt is longer than the model's window ({status}: {detail})", "window")
        if worth_retrying(status):
            # A gateway that gives up does not know what the model behind it did.
            lost = lost_try(call) if status in _GATEWAYS else LostTries()
            return _Setback(CallFailure(f"{status}: {detail}", lost=lost), status, requested_wait(headers))
        if why == "refusal":
            return CallFailure(f"the provider's safety filter refused the prompt ({detail})", "refusal")
        return CallFailure(f"the server refused the request ({status}: {detail})", "request")

    def _stop(self, status: int, detail: str, credit: bool) -> NoReturn:
        if credit:
            raise ModelError(f"{self.label} has no credit left ({status}: {detail})", "check the account; finished replies are kept")
        if status in (400, 404, 410, 422):
            raise ModelError(f"{self.label} was not found ({status}: {detail})", self._replacement)
        raise self._failed(status, detail)

    @property
    def _replacement(self) -> str:
        return f"the model may be retired: check {self.stage}.model and {self.stage}.base_url"


def _failed_request(error: Exception) -> tuple[CallFailure, bool, bool]:
    """Return the failure of a request without a response, whether to try again, and whether it may have been sent. Raises any other error."""
    from workbench.llm.models.http import CompressedReplyError, ConnectError, HTTPError, InvalidURL, ReplyTooLargeError, UnsupportedProtocol

    if isinstance(error, ReplyTooLargeError | CompressedReplyError):
        return CallFailure(f"the server sent {error}", "reply"), False, True
    if isinstance(error, InvalidURL):
        return CallFailure("the address of the server is not valid", "request"), False, False
    if isinstance(error, HTTPError | OSError):
        failure = CallFailure(f"no answer ({type(error).__name__})")
        return failure, True, not isinstance(error, ConnectError | UnsupportedProtocol)
    raise error


def lost_try(call: ChatCall, reply: Reply | None = None) -> LostTries:
    """Return a try whose reply cannot be used, with the tokens that the server has counted, else the most that there can be."""
    read, written = (reply.input_tokens or None, reply.output_tokens) if reply else (None, None)
    return LostTries(1, most_prompt_tokens(call) if read is None else read, call.max_tokens if written is None else written)


def sent_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a provider's client without those that it leaves out."""
    return {name: value for name, value in headers.items() if isinstance(value, str)}


def forget_refusals() -> None:
    """Forget which parameters models have refused, such as after a server's update."""
    _refused.clear()
