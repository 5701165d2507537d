"""Call Python functions and objects as a target."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from workbench.core.errors import InputError, error_line
from workbench.core.records import Query, TargetHit
from workbench.systems.base import TargetDownError, TargetError, late_reason
from workbench.systems.callable.interfaces import CallableInterface, Role, interface_of, is_factory
from workbench.systems.callable.results import Strings, answer_of, hits_of, text_of
from workbench.systems.callable.threads import DaemonThreads
from workbench.systems.operations import OperationSession

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


class CallableSession(OperationSession):
    """The functions of a target by role. Those that are not asynchronous run in threads."""

    def __init__(self, interfaces: Mapping[Role, CallableInterface], options: CallableOptions, threads: DaemonThreads) -> None:
        super().__init__(interfaces, k=0)
        self.interfaces, self.options, self.threads = interfaces, options, threads

    @property
    def asks_deeper(self) -> bool:
        """True if the options say when the hits are enough."""
        return self.options.enough is not None

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return k hits, or more of a function that takes their number until they are enough."""
        hits, before, enough = await super().search(query, k), 0, self.options.enough
        while enough and self.interfaces["search"].takes_number and before < len(hits) == k < MOST_HITS and not enough(hits):
            before, k = k, min(2 * k, MOST_HITS)
            hits = await super().search(query, k)
        return hits

    async def call(self, role: str, values: Mapping[str, Any]) -> Any:
        """Call a function: of the question, and if it takes them of k, context and where, or of documents. Pieces of a generator are joined."""
        interface = self.interfaces[cast(Role, role)]
        if role in ("ingest", "remove"):
            return await self._called(interface, list, values["documents"])
        context, strings = values["context"], self.options.strings
        if context is not None and not self.options.context:
            raise TargetError(f"{interface.label} takes no context; set context: true if it does")
        first = self.options.first(interface, values["query"], context)
        if role == "search":
            return hits_of(await self._called(interface, list, first, k=values["k"], where=values["where"]), strings, values["k"])
        return answer_of(await self._called(interface, _joined, first, context=context, where=values["where"]), strings)

    async def _called(self, interface: CallableInterface, collect: Callable[[list[Any]], object], first: object, **others: Any) -> object:
        """Call a function, and collect the pieces of a generator. Raises TargetError for anything that it raises."""
        try:
            args, named = interface.arguments(first, **others)
            try:
                return await _called(interface.label, functools.partial(interface.function, *args, **named), self.threads, collect)
            except (NotImplementedError, TypeError) as error:
                # LangChain's RunnableLambda raises a TypeError if only its asynchronous twin works.
                if interface.twin is None or not (isinstance(error, NotImplementedError) or "coroutine function" in str(error)):
                    raise
                return await _called(interface.label, functools.partial(interface.twin, *args, **named), self.threads, collect)
        except Exception as error:  # a stranger's function may raise anything
            raise TargetError(error_line(error)[:_LONGEST_REASON]) from error


async def _called(label: str, call: Callable[[], Any], threads: DaemonThreads, collect: Callable[[list[Any]], object]) -> object:
    """Run a function in a thread, or a coroutine on another loop, and collect the pieces of a generator."""
    function = inspect.unwrap(call.func) if isinstance(call, functools.partial) else call
    tests = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    if any(test(made) for test in tests for made in (function, vars(type(function)).get("__call__"))):
        return await threads.run_coroutine(label, lambda: _awaited(call, collect))

    def run() -> object:
        value = call()
        return collect(list(value)) if inspect.isgenerator(value) else value

    value = await threads.run(label, run)
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        return await threads.run_coroutine(label, lambda: _awaited(lambda: value, collect))
    return value


async def _awaited(call: Callable[[], Any], collect: Callable[[list[Any]], object]) -> object:
    value = call()
    if inspect.isawaitable(value):
        value = await value
    return collect([piece async for piece in value]) if inspect.isasyncgen(value) else value


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
        try:
            for role, (label, value) in named().items():
                if is_factory(value) and id(value) not in made:
                    made[id(value)] = label, await _made(label, value, threads, seconds)
                interfaces[role] = interface_of(label, made.get(id(value), (label, value))[1], role)
                check_interface(interfaces[role], role, options)
        except InputError as error:
            raise TargetDownError(error_line(error)) from None
        yield CallableSession(interfaces, options, threads)
    finally:
        for label, each in made.values():
            await _closed(label, each, threads)
        threads.close()


async def _made(label: str, factory: Any, threads: DaemonThreads, seconds: float) -> object:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _called(label, factory, threads, lambda pieces: pieces)
    except Exception as error:  # a stranger's class may raise anything
        if isinstance(error, TimeoutError) and limit.expired():
            raise TargetDownError(late_reason(f"{label} was not made in {seconds:g} seconds (ingest_timeout)", error)) from None
        raise TargetDownError(f"{label} cannot be made: {error_line(error)[:_LONGEST_REASON]}") from error


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
