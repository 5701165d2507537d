"""Laws: functions that raise LawError with the law's name, the input and the result if a component breaks them, and those of all components with settings."""

import copy
import functools
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from workbench.components.answering.base import Generator
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import Embedder
from workbench.components.judging.base import ClaimSplitter, Judge
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Retriever
from workbench.components.rewriting.base import Rewriter
from workbench.core.errors import InputError, LawError, WorkbenchError
from workbench.core.fingerprint import fingerprint

P = ParamSpec("P")
T = TypeVar("T")
Q = TypeVar("Q")
R = TypeVar("R")
_LONGEST = 200


def law(check: Callable[P, Iterator[str]]) -> Callable[P, None]:
    """Turn a generator of faults into a law, which takes the component first and raises LawError for the first fault.

    The generator's name is the law's name, and the first line of its docstring states the law.
    """

    @functools.wraps(check)
    def hold(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            fault, cause = next(check(*args, **kwargs), ""), None
        except WorkbenchError:  # says itself what is wrong, such as a server that does not answer
            raise
        except Exception as error:  # a component of another package can raise anything
            fault = ", ".join([*getattr(error, "__notes__", []), f"it raised {type(error).__name__}: {error}"])
            cause = error
        if fault:
            statement = str(check.__doc__).splitlines()[0].rstrip(".")
            raise LawError(f"{described(args[0])} breaks the law {check.__name__} ({statement}): {fault}") from cause

    return hold


@contextmanager
def given(what: str) -> Iterator[None]:
    """Name the input of a component's method in the report of any error that the method raises."""
    try:
        yield
    except Exception as error:
        error.add_note(what)
        raise


class Laws(list[Callable[..., None]]):
    """The laws of a kind of component. As a decorator, it turns a generator of faults into a law and adds it."""

    def __init__(self, base: type[object]) -> None:
        super().__init__()
        self._base = base

    def __call__(self, check: Callable[P, Iterator[str]]) -> Callable[P, None]:
        """Add a law."""
        self.append(law(check))
        return self[-1]

    def check(self, component: object) -> None:
        """Check every law of a component. Raises LawError for the first broken one, and InputError for anything but an instance."""
        if not isinstance(component, self._base):
            received = f"the class {component.__name__}" if isinstance(component, type) else f"a {type(component).__name__}"
            expected = f"{self._base.__module__}.{self._base.__name__}"
            raise InputError(f"expected an instance of {expected}, not {received}", "pass a component with its settings")
        for one in self:
            one(component)


def faults_by_place(yielded: Sequence[tuple[int, object]], requests: int, kind: type[object], nothing: Sequence[object]) -> Iterator[str]:
    """Yield what is wrong with results that name the place of their request, and with `nothing`, the results of no requests."""
    if sorted(place for place, _ in yielded) != list(range(requests)):
        yield f"for {requests} requests, it yields the places {shown([place for place, _ in yielded])}"
    if wrong := next((result for _, result in yielded if not isinstance(result, kind)), None):
        yield f"it yields {shown(wrong)}, a {type(wrong).__name__}"
    if nothing:
        yield f"for no requests, it yields {shown(nothing)}"


def in_order(yielded: Sequence[tuple[int, T]]) -> list[T]:
    """Return the results in the order of their requests."""
    return [result for _, result in sorted(yielded, key=lambda pair: pair[0])]


def asked_again(component: T, requests: Sequence[Q], results: Callable[[T, Sequence[Q]], list[R]]) -> Iterator[tuple[str, list[R]]]:
    """Yield the results of the requests in another order, alone and from a pickled copy, each with a phrase for it."""
    yield "in another order of requests", results(component, requests[::-1])[::-1]
    yield "alone", [results(component, [request])[0] for request in requests]
    yield "from a pickled copy", results(pickle.loads(pickle.dumps(component)), requests)


def faults_of_copies(component: object) -> Iterator[str]:
    """Yield a copy that does not equal the component, also one through pickle as workers get it."""
    for how, copied in (("a copy", copy.deepcopy(component)), ("a pickled copy", pickle.loads(pickle.dumps(component)))):
        if copied != component:
            yield f"{how} is {copied!r}"


def described(component: object) -> str:
    """Describe a component in a message: a metric by the name of its function, others by their settings."""
    return getattr(getattr(component, "compute", None), "__name__", None) or shown(component)


def shown(value: Any) -> str:
    """Format a value for a message, shortened to 200 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


Component = Chunker | ClaimSplitter | Embedder | Generator | Judge | Reranker | Retriever | Rewriter
S = TypeVar("S", bound=BaseModel)
K = TypeVar("K", Embedder, Generator, Reranker)


@law
def settings_survive_json(component: Component) -> Iterator[str]:
    """A component equals the one made from its settings, also after they have been JSON."""
    text = component.model_dump_json()
    restored = type(component).model_validate_json(text)
    if restored != component:
        yield f"from the settings {text} one gets {restored!r}"


@law
def unknown_settings_are_refused(component: Component) -> Iterator[str]:
    """A setting that is not a field is an error, so that a misspelled one in an experiment is noticed."""
    try:
        type(component).model_validate(component.model_dump() | {"no_such_setting": 5})
    except ValidationError:
        return
    yield "it accepts no_such_setting=5; leave model_config as it is in the base class"


@law
def equal_settings_have_equal_identities(component: Component) -> Iterator[str]:
    """The identity is canonical JSON and the same for equal settings."""
    identity, again = identity_of(component), identity_of(_restored(component))
    try:
        parsed = json.loads(json.dumps(identity, allow_nan=False))
    except (TypeError, ValueError) as error:
        yield f"the identity {identity} is not JSON ({error})"
        return
    if parsed != identity:
        yield f"the identity {identity} becomes {parsed} in JSON"
    if again != identity:
        yield f"the identity is first {identity}, then {again}"


@law
def the_version_is_part_of_the_identity(component: Component) -> Iterator[str]:
    """A new version of the code has another identity, so that results in the store are computed again."""
    with _raised_version(type(component)):
        newer = identity_of(_restored(component))
    if fingerprint(newer) == fingerprint(identity_of(component)):
        yield f'the identity stays {newer} when the version is raised; add "version": self.version to it'


@law
def every_setting_is_part_of_the_identity(component: Chunker | Retriever | Rewriter) -> Iterator[str]:
    """Another value of any setting gives another identity, so that no result is reused for it."""
    identity = identity_of(component)
    for name, variant in variants(component):
        try:
            changed = identity_of(variant)
        except Exception:  # not a possible value, such as the path of a file that does not exist
            continue
        if fingerprint(changed) == fingerprint(identity):
            yield f"the identity {identity} stays the same when {name} becomes {getattr(variant, name)!r}"


SETTING_LAWS = (
    settings_survive_json,
    unknown_settings_are_refused,
    equal_settings_have_equal_identities,
    the_version_is_part_of_the_identity,
)


def identity_of(component: Component) -> Any:
    """Return the component's identity, both of an embedder (for queries and for documents), or those of a judge for its tasks."""
    if isinstance(component, Judge):
        return {task: component.identity(task) for task in component.tasks}
    if isinstance(component, Embedder):
        return {"query": component.identity("query"), "document": component.identity("document")}
    return component.identity()


def variants(component: S) -> Iterator[tuple[str, S]]:
    """Yield copies that differ in one setting, with its name. The values are not validated; settings such as dictionaries are left out."""
    for name, field in type(component).model_fields.items():
        # A vocabulary is identified by its content. Neighbours are added to rankings later.
        if name in ("kind", "neighbours") or field.exclude or (name == "model" and isinstance(component, Chunker)):
            continue
        other = _other(getattr(component, name), field.annotation)
        if other is not None:
            yield name, component.model_copy(update={name: other})


def changed_results(component: K, compute: Callable[[K], R]) -> Iterator[tuple[str, K, R]]:
    """Yield the results of components that differ in one setting and have the same identity, with a phrase for the setting and the component."""
    for name, changed in variants(component):
        try:
            other = type(component).model_validate(changed.model_dump())
            if fingerprint(identity_of(other)) == fingerprint(identity_of(component)):
                yield f"with {name}={getattr(other, name)!r}", other, compute(other)
        except (ValidationError, WorkbenchError):  # not a possible value of this setting, or not on this machine
            continue


def _other(value: object, annotation: object) -> object:
    """Return another value of a setting, or None if none is known."""
    if get_origin(annotation) is Literal:
        return next((choice for choice in get_args(annotation) if choice != value), None)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}2" if isinstance(value, str) else None


def _restored(component: Component) -> Component:
    return type(component).model_validate(component.model_dump())


@contextmanager
def _raised_version(kind: type[Component]) -> Iterator[None]:
    inherited, version = "version" not in vars(kind), kind.version
    kind.version = version + 1
    try:
        yield
    finally:
        if inherited:
            del kind.version
        else:
            kind.version = version
