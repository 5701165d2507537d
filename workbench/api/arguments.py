"""Check and read arguments, so that a slip is one line and not an error deep inside."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.component import Component
from workbench.core.errors import InputError
from workbench.core.imported_functions import imported_object
from workbench.core.records import Document

if TYPE_CHECKING:
    from workbench.components.chunking.foreign import CallableChunker

# How a value of a type is usually made, where its name alone does not say it.
_MAKERS: Mapping[str, str] = {
    "Dataset": "a Dataset, which wb.load_dataset(path) loads",
    "Document": "a Document, such as dataset.documents[0] or wb.Document(doc_id, text)",
    "Experiment": "an Experiment, or the path of its file; wb.Experiment(name, dataset, pipeline=pipeline) makes one",
    "Mapping": 'a name for each: {"old": search, "new": other_search}',
    "Results": "Results, or the folder of a run",
    "str": "a text",
    "int": "a whole number",
}
# How a function takes the place of a component.
_WRAPPERS = {
    "embedding": "derive a class from wb.Embedder: docs/extending.md, An embedder",
    "retrieval": "evaluate the function itself: wb.evaluate(search, dataset); or derive a class from wb.Retriever: docs/extending.md",
    "rerank": "derive a class from wb.Reranker: docs/extending.md; or evaluate the function that searches and reranks: wb.evaluate(search, dataset)",
    "rewrite": "derive a class from wb.Rewriter: docs/extending.md",
    "context": "make it with wb.ContextPacking(...)",
    "answering": "evaluate the function itself: wb.evaluate(answer, dataset, metrics); or derive a class from wb.Generator: docs/extending.md",
    "judging": "derive a class from wb.Judge: docs/extending.md, A judge",
    "targets": 'name it: wb.CallableTarget(name="mine", search="my_rag:search"); wb.compare({"mine": search}, dataset) takes the function itself',
}


def require(value: object, kind: type, name: str) -> None:
    """Raise InputError unless a value is of a kind. A class in place of an instance gets the call as the fix."""
    if isinstance(value, kind):
        return
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(f"{name} is the class {value.__name__}", f"make one with its settings: {value.__name__}(...)")
    raise InputError(f"{name} is of type {type(value).__name__}", f"give {_MAKERS.get(kind.__name__, f'{article} {kind.__name__}')}")


def require_k(k: int | None) -> None:
    """Raise InputError unless a number of hits is None, or a whole number that a search accepts."""
    from workbench.measures.metrics.names import MOST_K

    if k is None:
        return
    if isinstance(k, bool):
        raise InputError(f"k is {k}", "give a whole number")
    require(k, int, "k")
    if not 1 <= k <= MOST_K:
        raise InputError(f"k is {k}", f"choose one from 1 to {MOST_K:,}")


def documents_of(documents: object) -> tuple[Document, ...]:
    """Return documents that are given one by one. Raises InputError for anything else, such as the path of a dataset."""
    if isinstance(documents, str | Path) or not isinstance(documents, Iterable):
        raise InputError(
            f"documents is of type {type(documents).__name__}", "give a dataset, which wb.load_dataset(path) loads, or a list of documents"
        )
    given = tuple(documents)
    for document in given:
        if not isinstance(document, Document):
            raise InputError(
                f"documents contains a value of type {type(document).__name__}", "make documents of it: wb.Document(doc_id, text)"
            )
    return given


def given_component(stage: str, value: object) -> object:
    """Return the component for a kind, for settings with a kind, or for a function that can be wrapped. Other values are returned as they are.

    A kind that needs a size has that of the default, 256. Raises InputError for an unknown kind, invalid settings or another function.
    """
    # Deferred: a run is opened without the packages of all components.
    from workbench.runner.experiment.components import component
    from workbench.runner.experiment.expand import NONE, OPTIONAL, STAGES

    if is_function(value):
        return wrapped(stage, value)
    if isinstance(value, str):
        if stage == "embedding" and value not in STAGES[stage]:
            kinds = ", ".join(STAGES[stage])
            raise InputError(
                f"embedding has no kind {value!r}", f"for a model give wb.SentenceTransformerEmbedder(model={value!r}); kinds are {kinds}"
            )
        value = kind_settings(stage, value)
    if not isinstance(value, Mapping) or (value == NONE and stage in OPTIONAL):
        return None if value == NONE else value
    faults: list[str] = []
    made = component(stage, dict(value), STAGES[stage], faults)
    if faults or made is None:
        raise InputError("; ".join(faults))
    return made


def kind_settings(stage: str, kind: str) -> dict[str, Any]:
    """Return the settings that the name of a kind stands for. An unknown kind keeps its name, and is reported where settings are read."""
    from workbench.runner.experiment.expand import DEFAULTS, STAGES

    fields = STAGES[stage][kind].model_fields if kind in STAGES[stage] else {}
    needed = {name: value for name, value in DEFAULTS[stage].items() if name in fields and fields[name].is_required()}
    return {"kind": kind, **needed}


def is_function(value: object) -> bool:
    """Return True if a value is called and no component."""
    return callable(value) and not isinstance(value, Component | type)


def wrapped(stage: str, function: Any) -> "CallableChunker":
    """Return a chunker that calls a function of a module. Raises InputError for a function of a notebook or script, and for other stages."""
    from workbench.components.chunking.foreign import CallableChunker

    name = getattr(function, "__name__", type(function).__name__)
    if stage != "chunking":
        raise InputError(f"{stage} is the function {name}", _WRAPPERS[stage])
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or not path.replace(".", "").isidentifier() or imported_object(f"{module}:{path}") is not function:
        fix = f'save it in a module, such as my_chunks.py, and give wb.CallableChunker(callable="my_chunks:{path.rpartition(".")[2].strip("<>")}")'
        raise InputError(f"chunking is the function {name}, which results cannot name: it is in no module", fix)
    return CallableChunker(callable=f"{module}:{path}")
