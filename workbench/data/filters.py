"""Filters on documents by their metadata, such as `{"year": {"$gte": 2024}, "team": "hr"}`, in the notation of Chroma and MongoDB.

A field has a value, or an object of conditions: `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`. All of a filter's fields must
match; `$and` and `$or` take a list of filters. Every document also has the fields `doc_id`, `title` and `folder`, the part of its id before the
last slash. A field that is a list matches if one of its items does. Only `$ne` and `$nin` match documents without the field. Texts are equal if
they have the same characters, in whatever normal form of Unicode.
"""

import operator
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.core.records import Document
from workbench.core.text.formatting import listed, meant

Where = Mapping[str, Any]
BUILT_IN = ("doc_id", "title", "folder")
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
_LISTS = ("$in", "$nin")
_CONDITIONS = ("$eq", "$ne", *_ORDER, *_LISTS)
_GROUPS = ("$and", "$or")
# Far from Python's limit of recursion.
_DEEPEST = 20


def metadata_fields(documents: Iterable[Document]) -> tuple[str, ...]:
    """Return the fields that any of the documents has in its metadata."""
    return tuple(dict.fromkeys(field for document in documents for field in document.metadata))


def matches(where: Where, document: Document) -> bool:
    """Return True if a document matches a filter without faults."""
    return all(_matches(field, wanted, document) for field, wanted in where.items())


def filter_faults(where: object, fields: Sequence[str], depth: int = 0) -> Iterator[str]:
    """Yield the faults of a filter on documents that have these fields in their metadata."""
    if depth > _DEEPEST:
        yield f"filters inside filters, more than {_DEEPEST} deep"
        return
    if not isinstance(where, Mapping):
        yield f"{where!r}, not an object such as {{'year': 2024}}"
        return
    if not where:
        yield "{}, which has no condition; leave it out to search all documents"
        return
    known = (*BUILT_IN, *fields)
    for field, wanted in where.items():
        if field in _GROUPS:
            if not isinstance(wanted, list) or not wanted:
                yield f"{field} {wanted!r}, not a list of filters"
            else:
                for part in wanted:
                    yield from filter_faults(part, fields, depth + 1)
        elif field not in known:
            yield f"the unknown field {field!r}{meant(str(field), known)}; documents have {listed(known)}"
        elif isinstance(wanted, Mapping) and not wanted:
            yield f"{field} {{}}, which has no condition; give a value or a condition such as {{'$gte': 2024}}"
        elif isinstance(wanted, Mapping):
            yield from (fault for condition, value in wanted.items() if (fault := _condition_fault(field, condition, value)))
        elif isinstance(wanted, list):
            yield f"{field} {wanted!r}; for one of several write {{'$in': {wanted!r}}}"


def _condition_fault(field: str, condition: object, value: object) -> str:
    if condition not in _CONDITIONS:
        return f"{field} with the unknown condition {condition!r}{meant(str(condition), _CONDITIONS)}; they are {', '.join(_CONDITIONS)}"
    if (condition in _LISTS) != isinstance(value, list):
        return f"{field} {condition} {value!r}, which is {'not ' if condition in _LISTS else ''}a list"
    return ""


def _matches(field: str, wanted: Any, document: Document) -> bool:
    if field in _GROUPS:
        return (all if field == "$and" else any)(matches(part, document) for part in wanted)
    values = _values(field, document)
    conditions = wanted if isinstance(wanted, Mapping) else {"$eq": wanted}
    return all(_holds(condition, value, values) for condition, value in conditions.items())


def _values(field: str, document: Document) -> list[Any]:
    if field in BUILT_IN:
        own = {"doc_id": document.doc_id, "title": document.title, "folder": document.doc_id.rpartition("/")[0]}
        return [own[field]]
    value = document.metadata.get(field)
    return value if isinstance(value, list) else [] if value is None else [value]


def _holds(condition: str, wanted: Any, values: Sequence[Any]) -> bool:
    if condition in _ORDER:
        return any(_comparable(value, wanted) and _ORDER[condition](value, wanted) for value in values)
    among = any(_same(value, other) for value in values for other in (wanted if condition in _LISTS else [wanted]))
    return among if condition in ("$eq", "$in") else not among


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or unicodedata.normalize("NFC", value) == unicodedata.normalize("NFC", wanted)
    # In Python, true equals 1.
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _comparable(value: Any, wanted: Any) -> bool:
    return all(isinstance(either, str) for either in (value, wanted)) or all(
        isinstance(either, int | float) and not isinstance(either, bool) for either in (value, wanted)
    )
