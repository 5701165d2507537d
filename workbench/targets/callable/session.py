"""Call Python functions and objects as a target."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError, error_line
from workbench.records import Answer, Document, Passage, Query, TargetHit
from workbench.targets.base import System, TargetDownError, TargetError, late_reason
from workbench.targets.callable.interfaces import CallableInterface, Role, interface_of, is_factory
from workbench.targets.callable.results import Strings, answer_of, hits_of, text_of
from workbench.targets.callable.threads import DaemonThreads

# The most hits that a target is asked for.
MOST_HITS = 1000
_LONGEST_REASON = 300
# The seconds that an object may take to close.
_CLOSING = 15


@dataclass(frozen=True)
class CallableOptions:
    """Settings of calls, and the meaning of a hit that is a text.

    A function that takes the number of hits is asked for more until they are `enough`, or it has no more. None asks once.
    """

    strings: Strings = "ids"
    input_key: str = ""
    context: bool = False
    enough: Callable[[Sequence[TargetHit]], bool] | None = None

    def first(self, interface: CallableInterface, text: str, context: Sequence[str] | None) -> object:
        """Return the first argument: the question, or a mapping for a runnable that takes several inputs."""
        if self.context and interface.takes_mapping:
            return {self.input_key or "question": text, "context": context}
        return {self.input_key: text} if self.input_key else text


class CallableSession(System):
    """The functions of a target by role. Those that are not asynchronous run in threads."""

    def __init__(self, interfaces: Mapping[Role, CallableInterface], options: CallableOptions, threads: DaemonThreads) -> None:
        self.interfaces, self.options, self.threads = interfaces, options, threads

    @property
    def asks_deeper(self) -> bool:
        """Return whether the options say when the hits are enough."""
        return self.options.enough is not None

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return k hits, or more if they are not enough, also of a function that returns an answer with its sources."""
        if not (interface := self.interfaces.get("search")):
            return await super().search(query, k)
        first, enough = self.options.first(interface, query.text, None), self.options.enough
        hits: tuple[TargetHit, ...] = ()
        while True:
            before, hits = len(hits), hits_of(await self._called(interface, list, first, k=k, where=query.where), self.options.strings, k)
            more = enough is not None and interface.takes_number and before < len(hits) == k < MOST_HITS
            if enough is None or not more or enough(hits):
                return hits
            k = min(2 * k, MOST_HITS)

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Return the answer of the function. Pieces that a generator yields are joined."""
        if not (interface := self.interfaces.get("answer")):
            return await super().answer(query, context)
        if context is not None and not self.options.context:
            raise TargetError(f"{interface.label} takes no context; set context: true if it does")
        texts = None if context is None else [passage.text for passage in context]
        first = self.options.first(interface, query.text, texts)
        return answer_of(await self._called(interface, _joined, first, context=texts, where=query.where), self.options.strings)

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Pass all documents to the function, as records with doc_id, text, title and metadata."""
        if not (interface := self.interfaces.get("ingest")):
            await super().ingest(documents)
        else:
            await self._called(interface, list, list(documents))

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Pass the ids to the function."""
        if not (interface := self.interfaces.get("remove")):
            await super().remove(doc_ids)
        else:
            await self._called(interface, list, list(doc_ids))

    async def _called(self, interface: CallableInterface, collect: Callable[[list[Any]], object], first: object, **others: Any) -> object:
        """Call a function, and collect the pieces of a generator. Raises TargetError for anything that it raises."""
        try:
            args, named = interface.arguments(first, **others)
            try:
                return await _called(interface.label, functools.partial(interface.function, *args, **named), self.threads, collect)
            except (NotImplementedError, TypeError) as error:
                if interface.twin is None or not _is_asynchronous_only(error):
                    raise
                return await _called(interface.label, functools.partial(interface.twin, *args, **named), self.threads, collect)
        except Exception as error:  # a stranger's function may raise anything
            raise TargetError(error_line(error)[:_LONGEST_REASON]) from error


async def _called(label: str, call: Callable[[], Any], threads: DaemonThreads, collect: Callable[[list[Any]], object]) -> object:
    """Run a function in a thread, or a coroutine on another loop, and collect the pieces of a generator."""
    if _is_asynchronous(call):
        return await threads.run_coroutine(label, lambda: _awaited(call, collect))
    value = await threads.run(label, lambda: _collected(call(), collect))
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        return await threads.run_coroutine(label, lambda: _awaited(lambda: value, collect))
    return value


def _is_asynchronous(call: Callable[[], Any]) -> bool:
    function = inspect.unwrap(call.func) if isinstance(call, functools.partial) else call
    tests = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(test(each) for test in tests for each in (function, vars(type(function)).get("__call__")))


def _is_asynchronous_only(error: Exception) -> bool:
    """Return whether a method says that only its asynchronous twin works. LangChain's RunnableLambda raises a TypeError."""
    return isinstance(error, NotImplementedError) or "coroutine function" in str(error)


async def _awaited(call: Callable[[], Any], collect: Callable[[list[Any]], object]) -> object:
    value = call()
    if inspect.isawaitable(value):
        value = await value
    return collect([piece async for piece in value]) if inspect.isasyncgen(value) else value


def _collected(value: Any, collect: Callable[[list[Any]], object]) -> object:
    return collect(list(value)) if inspect.isgenerator(value) else value


def _joined(pieces: list[Any]) -> object:
    texts = [text_of(piece) for piece in pieces]
    return "".join(text for text in texts if text is not None) if texts and None not in texts else pieces


@asynccontextmanager
async def callable_session(
    named: Callable[[], Mapping[Role, tuple[str, object]]], options: CallableOptions, seconds: float
) -> AsyncIterator[CallableSession]:
    """Make the objects of classes, each in these seconds and one for all roles that name the same class, and open a session.

    Raises TargetDownError if an object cannot be made or does not serve its role. Objects that were made are closed at the end.
    """
    threads = DaemonThreads()
    made: dict[int, tuple[str, object]] = {}
    try:
        interfaces = {}
        for role, (label, value) in _found(named).items():
            if is_factory(value) and id(value) not in made:
                made[id(value)] = label, await _made(label, value, threads, seconds)
            interfaces[role] = _down_without(label, made.get(id(value), (label, value))[1], role, options)
        yield CallableSession(interfaces, options, threads)
    finally:
        for label, each in made.values():
            await _closed(label, each, threads)
        threads.close()


def _found(named: Callable[[], Mapping[Role, tuple[str, object]]]) -> Mapping[Role, tuple[str, object]]:
    try:
        return named()
    except InputError as error:
        raise TargetDownError(error_line(error)) from None


async def _made(label: str, factory: Any, threads: DaemonThreads, seconds: float) -> object:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _called(label, factory, threads, lambda pieces: pieces)
    except Exception as error:  # a stranger's class may raise anything
        if isinstance(error, TimeoutError) and limit.expired():
            raise TargetDownError(late_reason(f"{label} was not made in {seconds:g} seconds (ingest_timeout)", error)) from None
        raise TargetDownError(f"{label} cannot be made: {error_line(error)[:_LONGEST_REASON]}") from error


def _down_without(label: str, value: object, role: Role, options: CallableOptions) -> CallableInterface:
    try:
        interface = interface_of(label, value, role)
        check_interface(interface, role, options)
    except InputError as error:
        raise TargetDownError(error_line(error)) from None
    return interface


def check_interface(interface: CallableInterface, role: Role, options: CallableOptions) -> None:
    """Raise InputError if a function cannot take the arguments of its role."""
    takes_context = role == "answer" and options.context
    interface.arguments("", k=1 if role == "search" else None, context=[] if takes_context else None)
    if takes_context and not interface.takes_mapping and not interface.takes("context"):
        raise InputError(f"{interface.label} has no parameter context", "add one, or leave out context: true")


async def _closed(label: str, value: Any, threads: DaemonThreads) -> None:
    """Close an object that has `aclose` or `close`. Its failure changes no result."""
    close = getattr(value, "aclose", None) or getattr(value, "close", None)
    if callable(close) and not any(each.default is each.empty for each in inspect.signature(close).parameters.values()):
        with suppress(Exception):
            async with asyncio.timeout(_CLOSING):
                await _called(f"{label}.{close.__name__}", close, threads, lambda pieces: pieces)
