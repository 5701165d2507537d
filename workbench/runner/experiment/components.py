"""Make components from their settings and report faults as sentences. Reads the settings of models but loads none."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from workbench.components.answering.base import Generator
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.judging.base import ClaimSplitter, Judge
from workbench.components.registry import CHUNKERS, GENERATORS, JUDGES, RETRIEVERS
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Retriever
from workbench.components.rewriting.base import Rewriter
from workbench.core.component import Component, field_fault, is_mapping
from workbench.core.errors import InputError
from workbench.core.text.formatting import meant
from workbench.runner.experiment.yaml_file import DEEPEST
from workbench.systems.base import Target

# The components that a component can contain.
_REGISTRIES: Mapping[type[Component], Mapping[str, type[BaseModel]]] = {
    Retriever: RETRIEVERS,
    Judge: JUDGES,
    Chunker: CHUNKERS,
    Embedder: EMBEDDERS,
    Generator: GENERATORS,
}
# Beyond this, numbers do not fit into the columns of a table.
_LARGEST = 2.0**63
# No path, file or table can contain these.
_UNUSABLE = re.compile("[\0\ud800-\udfff]")


def component(
    stage: str, settings: Any, table: Mapping[str, type[BaseModel]], faults: list[str], partial: bool = False
) -> BaseModel | None:
    """Make a component by its `kind` in the table, or add its faults and return None. `partial` settings may be incomplete.

    A component of the table that was made in Python, alone or as `kind`, is returned as it is.
    """
    made = settings.get("kind") if isinstance(settings, Mapping) and len(settings) == 1 else settings
    if isinstance(made, Component):
        if made.kind in table and type(made) is table[made.kind]:
            return made
        settings = written(made)
    if not is_mapping(settings):
        what = "missing" if settings is None else f"{settings!r}, not a mapping"
        path = f", path: {settings if isinstance(settings, str) else 'data/mine'}" if stage == "dataset" else ""
        usual = settings if isinstance(settings, str) and settings in table else next(iter(table))
        faults.append(f"{stage} is {what}; write for example {stage}: {{kind: {usual}{path}}}; kinds are {', '.join(table)}")
        return None
    kind = settings.get("kind")
    if kind is None:
        faults.append(f"{stage} needs 'kind'; kinds are {', '.join(table)}")
        return None
    if not isinstance(kind, str) or kind not in table:
        faults.append(f"{stage} has no kind {kind!r}{meant(str(kind), table)}; kinds are {', '.join(table)}")
        return None
    owner = f"{stage} {kind!r}"
    before = len(faults)
    settings = {key: _parts(f"{owner} {key}", value, table[kind], key, faults) for key, value in settings.items()}
    if len(faults) > before:
        return None
    # A configuration sets a chunker's model and excluded fields.
    known = [name for name, field in table[kind].model_fields.items() if (stage, name) != ("chunking", "model") and not field.exclude]
    strange = [unknown(owner, key, known) for key in settings if key not in known]
    faults += strange
    given = {key: value for key, value in settings.items() if key in known}
    try:
        made = table[kind].model_validate(given)
    except ValidationError as error:
        details = [detail for detail in error.errors() if not partial or (detail["loc"] and detail["type"] != "missing")]
        faults += [field_fault(owner, dict(detail)) for detail in details]
        return None
    # Pydantic reads `k: yes` as 1.
    flags = list(_flags(given, made))
    faults += [f"{owner} {key} is {flag}, not a number" for key, flag in flags]
    return None if strange or flags else made


def _flags(settings: Mapping[str, Any], made: Any, above: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the place and the value of each flag that a model, or one inside it, has read as a number."""
    for key, value in settings.items():
        part = getattr(made, key, value)
        if isinstance(value, bool) and not isinstance(part, bool):
            yield f"{above}{key}", value
        elif is_mapping(value):
            yield from _flags(value, part, f"{above}{key}.")


def _parts(place: str, value: Any, owner: type[BaseModel], field: str, faults: list[str]) -> Any:
    """Return the value of a field, with components made from the settings of a field that has a component, or components by name."""
    if not (issubclass(owner, Component) and field in owner.nested) or isinstance(value, Component):
        return value
    table = _REGISTRIES[owner.nested[field]]
    if is_mapping(value) and "kind" in value:
        return component(place, value, table, faults)
    if not is_mapping(value):
        faults.append(
            f"{place} is {value!r}; name each with its settings, such as {{{', '.join(f'{kind}: {{}}' for kind in [*table][:2])}}}"
        )
        return None
    settings = {name: {"kind": name} | part if is_mapping(part) else part or {"kind": name} for name, part in value.items()}
    made = {name: component(f"{place}.{name}", part, table, faults) for name, part in settings.items()}
    return {name: part for name, part in made.items() if part is not None}


def usable(stage: str, made: BaseModel, faults: list[str]) -> bool:
    """Return True if the files of a component allow its settings, and add a fault if they do not."""
    try:
        if isinstance(made, Embedder | Rewriter | Reranker | Generator | ClaimSplitter | Judge | Target):
            made.check()
    except InputError as error:
        faults.append(f"{stage}: {error}")
        return False
    return True


def unusable(value: Any, place: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the fault of each value that no setting has and no output can contain, such as infinity, NUL or a date."""
    if depth > DEEPEST:
        yield f"{place[:80]}… is nested more than {DEEPEST} deep"
    elif isinstance(value, Mapping):
        yield from (
            f"{place or 'the experiment'} has the key {key!r}, which is not a text; put it in quotes"
            for key in value
            if not isinstance(key, str)
        )
        for key, part in value.items():
            yield from unusable(part, f"{place}.{key}" if place else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from unusable(part, f"{place}.{number}", depth + 1)
    elif isinstance(value, str):
        if _UNUSABLE.search(value) or _UNUSABLE.search(place):
            yield f"{place} is {value!r}, a text with the character NUL or half a character"
    elif isinstance(value, int | float):
        if not abs(value) < _LARGEST:
            yield f"{place} is {'not finite' if isinstance(value, float) else 'a number of too many digits'}; write a smaller number"
    elif value is not None and not isinstance(value, Component):
        yield f"{place} is of the type {type(value).__name__}; write a text, a number, true or false, a list or a mapping"


def written(value: Any) -> Any:
    """Return settings as in an experiment file, with those of components that were made in Python, without what the experiment sets."""
    if isinstance(value, Component):
        return {name: part for name, part in value.settings().items() if not (isinstance(value, Chunker) and name == "model")}
    if isinstance(value, Mapping):
        return {key: written(part) for key, part in value.items()}
    return [written(part) for part in value] if isinstance(value, list | tuple) else value


def unknown(owner: str, key: Any, known: Collection[str]) -> str:
    """Return the fault of an unknown key, suggesting the nearest known one."""
    name, colon, value = str(key).partition(":")
    if colon and name in known:
        return f"{owner} has {key!r} as a key; write a space after the colon, '{name}: {value}'"
    return f"{owner} has no parameter {key!r}{meant(str(key), known)}; it has {', '.join(known)}"
