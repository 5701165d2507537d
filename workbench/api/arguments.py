"""Check the types of arguments, so that a slip is one line and not an error deep inside."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from workbench.errors import InputError
from workbench.records import Document

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


def require(value: object, kind: type, name: str) -> None:
    """Raise InputError unless a value is of a kind. A class in place of an instance gets the call as the fix."""
    if isinstance(value, kind):
        return
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(f"{name} is the class {value.__name__}", f"make one with its settings: {value.__name__}(...)")
    raise InputError(f"{name} is of type {type(value).__name__}", f"give {_MAKERS.get(kind.__name__, f'{article} {kind.__name__}')}")


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
