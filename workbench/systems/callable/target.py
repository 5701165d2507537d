"""Python functions and objects as a system under test: those that an experiment names, or that are given in Python."""

import asyncio
import functools
import inspect
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, PrivateAttr, model_validator

from workbench.core.errors import InputError, error_line
from workbench.core.imported_functions import FunctionName, imported_object, module_identity
from workbench.core.records import Query, TargetHit
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources, late_reason
from workbench.systems.callable.results import (
    CallableInterface,
    Role,
    Strings,
    answer_of,
    hits_of,
    interface_of,
    is_factory,
    is_needed,
    methods_of,
    parameters_of,
    text_of,
)
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


_ROLES: tuple[Role, ...] = ("search", "answer", "ingest", "remove")


class PythonCallsTarget(Target):
    """The base of targets that are called in this process."""

    version: ClassVar[int] = 2

    hits: Strings = Field(
        default="ids", description="What a hit that is a text stands for: the `ids` of documents, or `texts` of passages."
    )
    context: bool = Field(
        default=False,
        description="Whether the answer can be given the texts of a context: the parameter `context` of a function, the key `context` of a runnable.",
    )
    input_key: str = Field(
        default="", description="The key under which a runnable expects the question. Without one it gets the text alone."
    )
    concurrency: int = Field(default=1, ge=1, le=64, description="How many calls are made at once. Many functions allow only one.")

    @abstractmethod
    def named_objects(self) -> Mapping[Role, tuple[str, object]]:
        """Return the name and the function or object of each role."""

    def session(self, resources: TargetResources) -> AbstractAsyncContextManager[System]:
        """Make the objects of classes, and open a session."""
        return callable_session(self.named_objects, self.options, self.ingest_timeout)

    @property
    def takes_context(self) -> bool:
        """True if the target can answer from a given context."""
        return self.answers and self.context

    @property
    def options(self) -> CallableOptions:
        """Return how functions are called."""
        return CallableOptions(self.hits, self.input_key, self.context)


class CallableTarget(PythonCallsTarget):
    """Functions or objects that are named as `package.module:name`, such as the search and the answer of a RAG application.

    A name is that of a function, which gets the question, and the number of hits as `k` if it has this parameter; of an object with methods
    such as `search` and `answer`; of a retriever, vector store or runnable of LangChain, of a retriever or query engine of LlamaIndex, or of a
    component or pipeline of Haystack; or of a class or a function without parameters that makes one of these. The module may be in the working directory. Requests are made again if
    the source of the module changes, but not if only a module that it imports changes: change `revision` then. An experiment with a function is
    a program: it runs with `--allow-code` only.
    """

    examples: ClassVar = (
        {"name": "mine", "search": "my_rag:search", "answer": "my_rag:answer"},
        {"name": "mine", "function": "my_rag:search"},
    )

    kind: Literal["callable"] = "callable"
    search: FunctionName | None = Field(default=None, description="The function that returns hits.")
    answer: FunctionName | None = Field(default=None, description="The function that returns an answer, with its sources if it can.")
    function: FunctionName | None = Field(default=None, description="A short form: `search` or `answer`, by `returns`.")
    returns: Literal["hits", "answer"] = Field(default="hits", description="What `function` returns.")
    ingest: FunctionName | None = Field(default=None, description="The function that takes a list of documents.")
    remove: FunctionName | None = Field(default=None, description="The function that takes a list of ids of documents to delete.")

    @model_validator(mode="after")
    def _one_form(self) -> "CallableTarget":
        if self.function and (self.search or self.answer):
            raise ValueError("function is the short form of search or answer; use one of the two forms")
        if not (self.function or self.search or self.answer):
            raise ValueError("it names no function; set search, answer or function")
        if self.returns != "hits" and not self.function:
            raise ValueError("returns says what function returns, which is not set; leave it out")
        if self.context and not self.answers:
            raise ValueError("context needs an answer; set answer, or returns: answer")
        return self

    @property
    def functions(self) -> Mapping[Role, str]:
        """Return the name of the function of each role."""
        short: Role = "answer" if self.returns == "answer" else "search"
        named = {"search": self.search, "answer": self.answer, "ingest": self.ingest, "remove": self.remove}
        if self.function:
            named[short] = self.function
        return {role: name for role in _ROLES if (name := named[role])}

    @property
    def roles(self) -> tuple[Role, ...]:
        """Return the roles that have a function."""
        return tuple(self.functions)

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions, each once."""
        return tuple(dict.fromkeys(self.functions.values()))

    def load_code(self) -> None:
        """Import the functions, without a call. Raises InputError if one is missing or cannot take what it is given."""
        for role, name in self.functions.items():
            value = imported_object(name)
            if isinstance(value, type):
                interface_of(name, value, role)
                if needed := [parameter for parameter, each in parameters_of(value).items() if is_needed(each)]:
                    fix = f"name an object of the class, such as `rag = {value.__name__}(…)` in the module, or a function without parameters that makes one"
                    raise InputError(f"the class {name} needs {', '.join(needed)}", fix)
            elif not is_factory(value):
                check_interface(interface_of(name, value, role), role, self.options)

    def identity(self) -> Any:
        """Return the settings with the digests of the modules that define the functions."""
        code = {}
        for name in self.named_code:
            # Of the module that the name is in, and of the one that defines the object or its class.
            module = name.partition(":")[0]
            defining = getattr(imported_object(name), "__module__", None) or module
            code[name] = [digest for part in dict.fromkeys((module, defining)) for digest in module_identity(part)]
        return {**super().identity(), "code": code}

    def named_objects(self) -> Mapping[Role, tuple[str, object]]:
        """Import the functions."""
        return {role: (name, imported_object(name)) for role, name in self.functions.items()}


Returns = Literal["hits", "answer"]
Enough = Callable[[Sequence[TargetHit]], bool]


class PythonTarget(PythonCallsTarget):
    """Functions or objects that are given in Python, in every form that `CallableTarget` takes. No file can name it.

    Its identity is its name: what a function does is not part of it, so replies must not be reused by another call of a program. A search that takes
    the number of hits is asked for more than `k` until they are `enough`.

    Examples
    --------
    >>> PythonTarget(name="mine", search=lambda query, k: ["leave", "travel"][:k]).searches
    True
    """

    kind: Literal["python"] = "python"
    _objects: dict[Role, object] = PrivateAttr(default_factory=dict)
    _enough: Enough | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        search: object = None,
        answer: object = None,
        ingest: object = None,
        remove: object = None,
        enough: object = None,
        **settings: Any,
    ) -> None:
        """Raise InputError if an object cannot serve its role."""
        super().__init__(**settings)
        self._enough = cast(Enough | None, enough)
        given: dict[Role, object] = {"search": search, "answer": answer, "ingest": ingest, "remove": remove}
        self._objects = {role: value for role, value in given.items() if value is not None}
        if not (self.searches or self.answers):
            raise InputError(f"the target {self.name} has no function", "pass search= or answer=")
        if self.context and not self.answers:
            raise InputError(f"the target {self.name} takes a context but does not answer", "pass answer=")
        for role, (label, value) in self.named_objects().items():
            if not is_factory(value):
                check_interface(interface_of(label, value, role), role, self.options)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Return the roles that have a function or an object."""
        return tuple(self._objects)

    @property
    def options(self) -> CallableOptions:
        """Return how functions are called."""
        return replace(super().options, enough=self._enough)

    def identity(self) -> Any:
        """Return the settings, the name and the roles."""
        return {**super().identity(), "name": self.name, "roles": sorted(self.roles)}

    def named_objects(self) -> Mapping[Role, tuple[str, object]]:
        """Return the name and the function or object of each role."""
        return {role: (getattr(value, "__name__", type(value).__name__), value) for role, value in self._objects.items()}


def target_of(name: str, value: object, returns: Returns | None = None, **settings: Any) -> PythonTarget:
    """Make a target of a function or an object, with the roles that it is seen to have.

    A retriever searches; a query engine and a runnable answer; an object searches or answers by its methods of these names; a function with a
    parameter `k` searches, and one with a parameter `context` answers. Raises InputError for another function without `returns`.
    """
    try:
        made = value() if is_factory(value) else value  # type: ignore[operator]
    except (Exception, SystemExit) as error:  # a stranger's class may raise anything
        what = f"{name} cannot be made ({type(error).__name__}: {error})"
        raise InputError(what, "pass an object, or a function of the question") from error
    if returns:
        return PythonTarget(name=name, **{"search" if returns == "hits" else "answer": made}, **settings)
    methods = methods_of(made)
    roles = [role for role in ("search", "answer", "ingest", "remove") if role in methods]
    if not {"search", "answer"} & set(roles) or _is_retriever(made, methods):
        roles = [_role(name, made, methods), *(role for role in roles if role in ("ingest", "remove"))]
    if "answer" in roles and not methods & {"answer", "query", "invoke"}:
        settings = {"context": CallableInterface(name, made).takes("context"), **settings}  # type: ignore[arg-type]
    return PythonTarget(name=name, **dict.fromkeys(roles, made), **settings)


def _is_retriever(value: object, methods: set[str]) -> bool:
    """Return True if an object is a retriever or a vector store of a library."""
    return hasattr(value, "_get_relevant_documents") or "retrieve" in methods or "similarity_search" in methods


def _role(name: str, value: object, methods: set[str]) -> Role:
    if _is_retriever(value, methods):
        return "search"
    if methods & {"query", "invoke"}:
        return "answer"
    if not callable(value):
        kind = type(value).__name__
        raise InputError(
            f"{name} is a {kind}, which can neither search nor answer", "pass a function, or an object with a method search or answer"
        )
    interface = CallableInterface(name, value)
    if interface.takes("k"):
        return "search"
    if interface.takes("context"):
        return "answer"
    parameters = str(inspect.signature(value)) if not inspect.isbuiltin(value) else "(…)"
    raise InputError(f"{name}{parameters} can return hits or answers", 'say which with returns="hits" or returns="answer"')
