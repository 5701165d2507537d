"""Convert hits of any form to rows of a log, those of usual forms fast."""

import functools
from collections.abc import Collection
from itertools import islice
from numbers import Real
from typing import Any

from workbench.records import Hit
from workbench.targets.base import TargetHit
from workbench.targets.callable.hits import ENDS, IDS, LATER_IDS, SCORES, STARTS, TEXTS, hits_of
from workbench.targets.callable.values import number

# The fields of hits by their names and the types of values.
_USUAL: tuple[tuple[str, Collection[str], type], ...] = (
    ("doc_id", (*IDS, *LATER_IDS), str),
    ("text", TEXTS, str),
    ("score", SCORES, Real),
    ("start", STARTS, int),
    ("end", ENDS, int),
    ("hop", ("hop",), int),
    ("metadata", ("metadata",), dict),
)
# The hits of a question that are logged. More would block its caller, and an iterator may have no end.
MOST_HITS = 1_000
_DOCUMENT = ("id", "page_content", "metadata")
# The metadata that names a hit's document or its place, and the usual types of it.
_IN_METADATA = frozenset((*IDS, *STARTS, *ENDS))
_READ_HERE = {"doc_id": str, "start_index": int}


class HitRows(list[dict[str, Any]]):
    """Hits as rows of a log."""


def hit_rows(hits: object) -> HitRows:
    """Convert hits to rows of a log: the first 1,000, and one more if there are more. Raises TargetError for another shape."""
    if isinstance(hits, HitRows):
        return hits
    return HitRows(map(_row, islice(hits, MOST_HITS + 1) if isinstance(hits, list | tuple) else hits_of(hits, "ids", MOST_HITS + 1)))


def _row(hit: Any) -> dict[str, Any]:
    # The usual forms first: every question of a service passes here.
    if type(hit) is Hit:
        document, start, end = hit.document, hit.start, hit.end
        return {"doc_id": document.doc_id, "text": document.text[start:end], "score": hit.score, "start": start, "end": end}
    if type(hit) is tuple and len(hit) == 2 and (score := number(hit[1])) is not None:
        return {**_row(hit[0]), "score": score}
    if isinstance(hit, str):
        return {"text" if " " in hit else "doc_id": hit}
    fields = hit
    if "page_content" in (attributes := getattr(hit, "__dict__", {})):  # a Document of LangChain
        fields = {name: attributes[name] for name in _DOCUMENT if attributes.get(name) is not None}
    if type(fields) is dict and (names := _field_names(tuple(fields), tuple(map(type, fields.values())))):
        row = dict(zip(names, fields.values(), strict=True))
        if not (metadata := row.get("metadata")) or _IN_METADATA.isdisjoint(metadata):
            return row
        if all(type(metadata[name]) is _READ_HERE.get(name) for name in metadata.keys() & _IN_METADATA):
            if "doc_id" in metadata and "doc_id" not in fields:
                row["doc_id"] = metadata["doc_id"]
            if "start_index" in metadata and "text" in row and "start" not in row:
                row |= {"start": metadata["start_index"], "end": metadata["start_index"] + len(row["text"])}
            return row
    found = hit if isinstance(hit, TargetHit) else hits_of([fields], "ids")[0]
    return {name: value for name, value in vars(found).items() if value not in (None, {})}


@functools.lru_cache(1_000)
def _field_names(names: tuple[object, ...], kinds: tuple[type, ...]) -> tuple[str, ...]:
    """Return the fields of a hit with these names and types of values, or () if `hits_of` must convert it, which takes ten times as long."""
    fields = [
        next((field for field, known, usual in _USUAL if name in known and issubclass(kind, usual) and kind is not bool), "")
        for name, kind in zip(names, kinds, strict=True)
    ]
    usual = "" not in fields and len({*fields}) == len(fields) and ("start" in fields) == ("end" in fields)
    return tuple(fields) if usual and ("doc_id" in fields or "text" in fields) else ()
