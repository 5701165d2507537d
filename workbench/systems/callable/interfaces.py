"""Recognize how a Python object is called: a function, an object with methods, or a retriever, runnable or query engine of a library."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.core.errors import InputError

Role = Literal["search", "answer", "ingest", "remove"]

# The methods that serve a role, the first that an object has. LangChain's are `invoke` and `similarity_search`, LlamaIndex's are `retrieve` and
# `query`. Not imported: a method of the name is enough.
_METHODS: Mapping[Role, tuple[str, ...]] = {
    "search": ("retrieve", "similarity_search", "search", "invoke", "query"),
    "answer": ("answer", "query", "invoke"),
    "ingest": ("ingest",),
    "remove": ("remove",),
}
_K = ("k", "top_k", "limit", "n_results", "num_results", "max_results", "n")
_CONTEXT = ("context", "contexts", "passages")
_WHERE = "where"
_QUESTION = ("query", "question", "q", "text", "input", "prompt")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class CallableInterface:
    """The function that serves a role, and its asynchronous twin for objects that implement only that one."""

    label: str
    function: Callable[..., Any]
    twin: Callable[..., Any] | None = None

    @property
    def takes_mapping(self) -> bool:
        """True if the function is a runnable's, whose single argument contains a context too."""
        return getattr(self.function, "__name__", "") == "invoke"

    @property
    def takes_number(self) -> bool:
        """True if the function is given the number of hits, by whatever name."""
        parameters = parameters_of(self.function)
        question = _question(parameters)
        return not parameters or bool(_named(parameters, _K, question) or _second(parameters, question))

    def takes(self, role: Literal["k", "context"]) -> bool:
        """Return True if the function has a parameter for the number of hits, or for a context."""
        return any(name in parameters_of(self.function) for name in (_K if role == "k" else _CONTEXT))

    def arguments(
        self, first: object, k: int | None = None, context: object = None, where: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of one call. `where` is the question's filter. Raises InputError if the function needs others."""
        parameters = parameters_of(self.function)
        if not parameters:  # some functions written in C have no signature
            return (first, *([] if k is None else [k])), {}
        question = _question(parameters)
        given: dict[str, Any] = {question: first} if question else {}
        if k is not None and (name := _named(parameters, _K, question) or _second(parameters, question)):
            given[name] = k
        if context is not None and (name := _named(parameters, _CONTEXT, question)):
            given[name] = context
        if _WHERE in parameters and (where or parameters[_WHERE].default is inspect.Parameter.empty):
            given[_WHERE] = where
        missing = [name for name, each in parameters.items() if name not in given and is_needed(each)]
        if not question or missing:
            fault = f"needs {', '.join(missing)}" if question else "takes no question"
            fix = "it is called with the question, and with k and context if it has parameters of these names"
            if any(_is_self(each) for each in parameters.values()):
                fix = "name the class or an object of it, not its method"
            elif any(name in _CONTEXT for name in missing):
                fix = "give it the default None, for what the function retrieves, and set context: true for conditions such as gold"
            raise InputError(f"{self.label}({', '.join(parameters)}) {fault}", fix)
        # By name what can be, so that parameters with defaults are left out.
        by_position = {
            name
            for name, each in parameters.items()
            if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL) or (name == next(iter(parameters)) and each.kind in _POSITIONAL)
        }
        args = tuple(value for name, value in given.items() if name in by_position)
        return args, {name: value for name, value in given.items() if name not in by_position}


def parameters_of(function: object) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, none if it does not have a signature."""
    try:
        return inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}


def is_needed(parameter: inspect.Parameter) -> bool:
    """Return True if a call must give a parameter."""
    return parameter.default is parameter.empty and parameter.kind not in _VARIABLE


def is_factory(value: object) -> bool:
    """Return True if a value is a class, or a function without parameters, which returns the object to call."""
    if inspect.isclass(value):
        return True
    try:
        return inspect.isroutine(value) and not inspect.signature(value).parameters
    except ValueError:
        return False


def interface_of(label: str, value: object, role: Role) -> CallableInterface:
    """Return how an object or a class serves a role. Raises InputError if it does not."""
    if not inspect.isroutine(value):
        for name in _METHODS[role]:
            method = getattr(value, name, None)
            if callable(method) and not takes_query_bundle(method):
                twin = getattr(value, f"a{name}", None)
                return CallableInterface(f"{label}.{name}", method, twin if callable(twin) else None)
    # The objects of a class are functions if it has `__call__` itself: every class has that of its metaclass.
    if not callable(value) or (inspect.isclass(value) and not any("__call__" in vars(base) for base in value.__mro__)):
        kind = value.__name__ if inspect.isclass(value) else type(value).__name__
        raise InputError(
            f"{label} is a {kind}, which cannot {role}",
            f"name a function, or an object with a method {' or '.join(_METHODS[role])}",
        )
    return CallableInterface(label, value)


def methods_of(value: object) -> set[str]:
    """Return the recognized methods that an object has."""
    names = {name for names in _METHODS.values() for name in names}
    return {name for name in names if callable(method := getattr(value, name, None)) and not takes_query_bundle(method)}


def takes_query_bundle(method: object) -> bool:
    """Return True if a method is the `retrieve` of a query engine of LlamaIndex, which takes no text."""
    return "query_bundle" in list(parameters_of(method))[:2]


def _question(parameters: Mapping[str, inspect.Parameter]) -> str:
    for name, each in parameters.items():
        if each.kind in _POSITIONAL or each.kind is inspect.Parameter.VAR_POSITIONAL:
            return "" if _is_self(each) else name
    return next((name for name in _QUESTION if name in parameters), "")


def _is_self(parameter: inspect.Parameter) -> bool:
    """Return True if a parameter is the object of a method that is named by its class. Methods written in C can be named so."""
    return parameter.name == "self" and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def _named(parameters: Mapping[str, inspect.Parameter], names: tuple[str, ...], question: str) -> str:
    return next((name for name in names if name in parameters and name != question), "")


def _second(parameters: Mapping[str, inspect.Parameter], question: str) -> str:
    """Return the second parameter if it must be given by position: in a search it is the number of hits, whatever its name."""
    others = [name for name, each in parameters.items() if name != question and each.kind in _POSITIONAL]
    return others[0] if others and parameters[others[0]].default is inspect.Parameter.empty and others[0] not in _CONTEXT else ""
