"""Functions and objects that are given in Python."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic import PrivateAttr

from workbench.errors import InputError
from workbench.records import TargetHit
from workbench.targets.base import System, TargetResources
from workbench.targets.callable.interfaces import CallableInterface, Role, interface_of, is_factory, methods_of
from workbench.targets.callable.session import CallableOptions, callable_session, check_interface
from workbench.targets.callable.target import PythonCallsTarget

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
        for role, (label, value) in self._labelled().items():
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

    def session(self, resources: TargetResources) -> AbstractAsyncContextManager[System]:
        """Make the objects of classes, and open a session."""
        return callable_session(self._labelled, self.options, self.ingest_timeout)

    def _labelled(self) -> Mapping[Role, tuple[str, object]]:
        return {role: (getattr(value, "__name__", type(value).__name__), value) for role, value in self._objects.items()}


def target_of(name: str, value: object, returns: Returns | None = None, **settings: Any) -> PythonTarget:
    """Make a target of a function or an object, with the roles that it is seen to have.

    A retriever searches; a query engine and a runnable answer; an object searches or answers by its methods of these names; a function with a
    parameter `k` searches, and one with a parameter `context` answers. Raises InputError for another function without `returns`.
    """
    made = _instance(name, value)
    if returns:
        return PythonTarget(name=name, **{"search" if returns == "hits" else "answer": made}, **settings)
    methods = methods_of(made)
    roles = [role for role in ("search", "answer", "ingest", "remove") if role in methods]
    if not {"search", "answer"} & set(roles) or _is_retriever(made, methods):
        roles = [_role(name, made, methods), *(role for role in roles if role in ("ingest", "remove"))]
    if "answer" in roles and not methods & {"answer", "query", "invoke"}:
        settings = {"context": CallableInterface(name, made).takes("context"), **settings}  # type: ignore[arg-type]
    return PythonTarget(name=name, **dict.fromkeys(roles, made), **settings)


def _instance(name: str, value: object) -> object:
    """Return the object of a class or of a function without parameters, or the value itself."""
    if not is_factory(value):
        return value
    try:
        return value()  # type: ignore[operator]
    except (Exception, SystemExit) as error:  # a stranger's class may raise anything
        raise InputError(
            f"{name} cannot be made ({type(error).__name__}: {error})", "pass an object, or a function of the question"
        ) from error


def _is_retriever(value: object, methods: set[str]) -> bool:
    """Return whether an object is a retriever or a vector store of a library."""
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
