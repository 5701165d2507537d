"""Ask a target many questions at once, and keep every reply in the cache of calls."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from workbench.core.errors import InputError, RunError, error_line
from workbench.core.fingerprint import fingerprint, fingerprint_of_rows
from workbench.core.loop_thread import LoopThread
from workbench.core.records import Answer, LostTries, Passage, Query, SampledCall, TargetHit
from workbench.core.storage.call_cache import own_form
from workbench.core.text.printable import environment_secrets, printable, without_secrets
from workbench.llm.replies.answers import separated
from workbench.llm.tokens import count_of
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources, late_reason

# A target whose first requests all fail is asked nothing more.
_FIRST_REQUESTS = 10


@dataclass(frozen=True)
class TargetRequest:
    """A question to search or to answer, from a `context` if one is given. Equal requests of another `repeat` are made again."""

    operation: Literal["search", "answer"]
    query: Query
    k: int = 0
    context: Sequence[Passage] | None = None
    repeat: int = 0


@dataclass(frozen=True)
class TargetReply:
    """The hits or the answer of a request, or the `error` that prevented them. `seconds` is the time of the request."""

    hits: tuple[TargetHit, ...] = ()
    answer: Answer | None = None
    error: str = ""
    seconds: float = 0.0
    cached: bool = False


def ask_target(target: Target, requests: Sequence[TargetRequest], resources: TargetResources) -> Iterator[tuple[int, TargetReply]]:
    """Yield the reply of each request with its place, as they finish; cached replies first. A reply is in the cache before it is yielded.

    Raises
    ------
    RunError
        If the target cannot be reached, if its first ten requests all failed, or if its canary question has no hit.
    """
    # The documents that a target gets, which its replies depend on.
    rows = ((document.doc_id, document.title, document.text, *filter(None, [dict(document.metadata)])) for document in resources.documents)
    corpus = fingerprint_of_rows(rows) if target.ingests else ""
    keys = [_key(target, request, corpus) for request in requests]
    stored = resources.calls.cache.get(list(dict.fromkeys(keys))) if resources.calls.cache else {}
    for place, key in enumerate(keys):
        if key in stored:
            with own_form(resources.calls.cache):
                reply = replace(_without_reasoning(_read(stored[key])), cached=True)
            yield place, reply
    missing = {key: requests[place] for place, key in reversed(list(enumerate(keys))) if key not in stored}
    if missing:
        if resources.calls.cache:
            # Nothing is asked while the replies that arrived before cannot be kept.
            resources.calls.cache.put({})
        for key, reply in _TargetAsking(target, dict(reversed(missing.items())), resources, bool(stored)).replies():
            yield from ((place, reply) for place, each in enumerate(keys) if each == key)


def replies_of(
    target: Target, requests: Sequence[TargetRequest], resources: TargetResources, advance: Callable[[], object] = lambda: None
) -> list[TargetReply]:
    """Return the replies in the order of the requests. `advance` is called with the arrival of each. Raises what `ask_target` raises."""
    replies: dict[int, TargetReply] = {}
    for place, reply in ask_target(target, requests, resources):
        replies[place] = reply
        advance()
    return [replies[place] for place in range(len(requests))]


class _TargetAsking:
    """Requests by their keys that are made at once, on an event loop in a thread: a notebook has its own loop."""

    def __init__(self, target: Target, requests: Mapping[str, TargetRequest], resources: TargetResources, answered: bool) -> None:
        self._target, self._requests, self._resources = target, requests, resources
        # Whether any request was served, now or before, and the errors until then.
        self._answered, self._errors = answered, list[str]()
        self._secrets = (*target.secrets(), *environment_secrets())
        self._thread = LoopThread[tuple[str, TargetReply]]("target")

    def replies(self) -> Iterator[tuple[str, TargetReply]]:
        """Yield replies as they come. However this ends, the thread has ended."""
        return self._thread.items(self._ask_all)

    async def _ask_all(self) -> None:
        try:
            async with self._target.session(self._resources) as session:
                if self._target.ingests and self._resources.documents:
                    await self._ingest(session)
                if self._target.canary:
                    await self._check_canary(session)
                waiting = iter(self._requests.items())
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(self._target.concurrency, len(self._requests))):
                            group.create_task(self._work(session, waiting))
                except BaseExceptionGroup as errors:
                    raise errors.exceptions[0] from None
            if not self._answered and self._errors:
                raise TargetDownError(f"it failed on all of {len(self._errors)} requests, first with: {self._errors[0]}")
        except TargetError as error:
            what = without_secrets(f"the target {self._target.name} failed: {error}", self._secrets)
            # Not `from error`: its traceback goes to a file, and a server may repeat a key.
            raise RunError(what, "check that it runs and that its settings fit, then run again") from None

    async def _ingest(self, session: System) -> None:
        number, seconds = len(self._resources.documents), self._target.ingest_timeout
        try:
            async with asyncio.timeout(seconds):
                await session.ingest(self._resources.documents)
        except TimeoutError as late:
            raise TargetDownError(
                late_reason(f"it did not take {number} documents in {seconds:g} seconds (ingest_timeout)", late)
            ) from None
        except (TargetDownError, InputError):
            raise
        except (Exception, SystemExit) as failure:  # without its documents no reply counts
            reason = str(failure) if isinstance(failure, TargetError) else error_line(failure)
            raise TargetDownError(f"it did not take the documents: {reason}") from failure

    async def _check_canary(self, session: System) -> None:
        request = TargetRequest("search" if self._target.searches else "answer", Query("canary", self._target.canary), self._target.k)
        reply = await self._reply(session, request)
        found = reply.hits or (reply.answer.sources if reply.answer else ())
        if reply.error or not found:
            raise TargetDownError(f"its canary question {self._target.canary!r} has no hit{': ' + reply.error if reply.error else ''}")

    async def _work(self, session: System, waiting: Iterator[tuple[str, TargetRequest]]) -> None:
        for key, request in waiting:
            written = await self._reply(session, request)
            reply = _without_reasoning(written)
            if reply.error:
                self._errors.append(reply.error)
            self._answered = self._answered or not reply.error
            if not self._answered and len(self._errors) >= _FIRST_REQUESTS:
                raise TargetDownError(f"its first {_FIRST_REQUESTS} requests all failed, first with: {self._errors[0]}")
            if not reply.error and self._resources.calls.cache:
                await asyncio.to_thread(self._resources.calls.cache.put, {key: _value(written, ())})
            self._thread.deliver((key, reply))

    async def _reply(self, session: System, request: TargetRequest) -> TargetReply:
        started, error = time.perf_counter(), ""
        try:
            async with asyncio.timeout(self._target.timeout):
                reply = await reply_of(session, request)
            # The same form as from the cache.
            return _read(_value(replace(reply, seconds=time.perf_counter() - started), self._secrets))
        except TimeoutError as late:
            error = late_reason(f"no reply in {self._target.timeout:g} seconds", late)
        except (TargetDownError, InputError):
            raise
        except TargetError as failure:
            error = str(failure)
        except (Exception, SystemExit) as failure:  # a target of another package can raise anything, and its other replies count
            error = error_line(failure)
        return TargetReply(error=printable(without_secrets(error, self._secrets)), seconds=time.perf_counter() - started)


async def reply_of(session: System, request: TargetRequest) -> TargetReply:
    """Make one request. Raises what the system raises."""
    if request.operation == "search":
        hits = tuple(await session.search(request.query, request.k))
        return TargetReply(hits=hits if session.asks_deeper else hits[: request.k])
    return TargetReply(answer=await session.answer(request.query, request.context))


def _key(target: Target, request: TargetRequest, corpus: str) -> str:
    context = None if request.context is None else [asdict(passage) for passage in request.context]
    about: list[Any] = [request.operation, request.query.query_id, request.query.text, request.k, context, request.repeat]
    about += [dict(request.query.where)] if request.query.where else []
    return fingerprint("target", target.identity(), corpus, about)


def _value(reply: TargetReply, secrets: Sequence[str]) -> dict[str, Any]:
    """Return a reply as JSON, without secrets that it repeats. Values of metadata that are not JSON become texts.

    A number that is not finite and a count that no model can have become null. Raises TargetError for half of a surrogate pair.
    """
    written = json.dumps(asdict(reply), default=str, ensure_ascii=False)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:
        raise TargetError("the reply contains half of a surrogate pair, which is no text") from None
    plain: dict[str, Any] = without_secrets(json.loads(written, parse_constant=lambda _: None), secrets)
    if plain["answer"]:
        plain["answer"] |= {name: count_of(plain["answer"][name]) for name in ("input_tokens", "output_tokens")}
    return plain


def _read(value: Mapping[str, Any]) -> TargetReply:
    answer = value["answer"]
    if answer is not None:
        # A reply of an earlier version has no `unread`, `citations` and `lost`.
        fields: dict[str, Any] = {name: tuple(answer.get(name, ())) for name in ("citations", "unread")}
        fields |= {"sources": None if answer["sources"] is None else _hits(answer["sources"])}
        fields |= {"samples": tuple(SampledCall(**sample) for sample in answer["samples"]), "lost": LostTries(**answer.get("lost", {}))}
        answer = Answer(**{**answer, **fields})
    return TargetReply(_hits(value["hits"]), answer, value["error"], value["seconds"])


def _without_reasoning(reply: TargetReply) -> TargetReply:
    """Return a reply, which the cache keeps as the target wrote it, without the reasoning of a model."""
    if reply.answer is None:
        return reply
    read, own = separated(reply.answer.text), reply.answer
    if failure := read.failure(own.truncated):
        return TargetReply(error=failure, seconds=reply.seconds)
    reasoned, unopened = own.reasoned or read.reasoned, own.unopened or read.unopened
    return replace(reply, answer=replace(own, text=read.answer, reasoned=reasoned, unopened=unopened))


def _hits(values: Sequence[Mapping[str, Any]]) -> tuple[TargetHit, ...]:
    return tuple(TargetHit(**value) for value in values)
