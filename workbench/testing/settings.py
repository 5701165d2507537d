"""The laws of components with settings: chunkers, claim splitters, embedders, generators, judges, rerankers, retrievers and rewriters."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from workbench.components.answering.base import Generator
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import Embedder
from workbench.components.judging.base import Judge
from workbench.components.judging.claims.base import ClaimSplitter
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Retriever
from workbench.components.rewriting.base import Rewriter
from workbench.core.errors import WorkbenchError
from workbench.core.fingerprint import fingerprint
from workbench.testing.law import law

Component = Chunker | ClaimSplitter | Embedder | Generator | Judge | Reranker | Retriever | Rewriter
S = TypeVar("S", bound=BaseModel)
T = TypeVar("T", Embedder, Generator, Reranker)
R = TypeVar("R")


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


def changed_results(component: T, compute: Callable[[T], R]) -> Iterator[tuple[str, T, R]]:
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
