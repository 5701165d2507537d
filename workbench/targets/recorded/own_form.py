"""Read results in Workbench's own form: one row for each question, with its hits, its answer or both."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.answering.answer_file import CHECKS, Checks, key_fault, refused_of, variant_fault
from workbench.answering.base import Answer
from workbench.context.conditions import RETRIEVED
from workbench.datasets.draft import DatasetDraft, Rows
from workbench.records import TargetHit
from workbench.targets.recorded.results import RecordedResult

_EXAMPLE = '{"query_id": "q1", "hits": [{"doc_id": "d1", "score": 0.9}], "answer": "a text"}'
_FIELDS = ("doc_id", "text", "score", "start", "end", "metadata")


def own_results(rows: Rows, draft: DatasetDraft) -> Iterator[RecordedResult]:
    """Yield the results of rows. Those under another condition than `retrieved` are checked and left out."""
    for row, where in rows:
        if fault := _fault(row):
            draft.fault(where, fault)
        elif row.get("condition", RETRIEVED) == RETRIEVED:
            yield _result(row, where)


def _result(row: Mapping[str, Any], where: str) -> RecordedResult:
    hits, sources = (tuple(map(_hit, row[key])) if row.get(key) is not None else None for key in ("hits", "sources"))
    answer = None
    if "answer" in row:
        # Without sources, what was found is what the answer was made from.
        used = hits if sources is None else sources
        confidence, truncated = row.get("confidence"), row.get("truncated")
        answer = Answer(text=row["answer"], sources=used, refused=refused_of(row), confidence=confidence, truncated=truncated)
    return RecordedResult(where, row.get("query_id"), row.get("query"), hits, answer)


def _hit(value: Mapping[str, Any] | str) -> TargetHit:
    if isinstance(value, str):
        return TargetHit(doc_id=value)
    fields = {key: value[key] for key in _FIELDS if value.get(key) is not None}
    return TargetHit(**fields)


def _fault(row: Mapping[str, Any]) -> str:
    """Return why a row is no result, and the fix, or an empty text."""
    if fault := key_fault(row, _CHECKS, "a result", _EXAMPLE):
        return fault
    if row.get("hits") is None and "answer" not in row:
        return f"has neither hits nor an answer; write for example {_EXAMPLE}"
    for key in ("hits", "sources"):
        for place, hit in enumerate(row.get(key) or (), 1):
            if fault := _hit_fault(hit):
                return f"has {fault} in {key}, item {place}"
    return variant_fault(row)


def _hit_fault(hit: Mapping[str, Any] | str) -> str:
    if isinstance(hit, str):
        return "" if hit.strip() else "a blank id"
    if unknown := [key for key in hit if key not in _FIELDS]:
        return f"the key {unknown[0]!r} (a hit has {', '.join(_FIELDS)})"
    if wrong := [key for key, value in hit.items() if value is not None and not _HIT_CHECKS[key](value)]:
        return f"{json.dumps(hit[wrong[0]], ensure_ascii=False)[:40]} as {wrong[0]}"
    if all(hit.get(key) is None for key in ("doc_id", "text", "metadata")):
        return "neither doc_id nor text"
    start, end = hit.get("start"), hit.get("end")
    if (start is None) != (end is None) or (start is not None and not start < (end or 0)):
        return f"the positions {start} and {end}"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_hits(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str | dict) for item in value))


_HIT_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "doc_id": lambda value: isinstance(value, str) and bool(value),
    "text": lambda value: isinstance(value, str),
    "score": _is_number,
    "start": _is_position,
    "end": _is_position,
    "metadata": lambda value: isinstance(value, dict),
}
_CHECKS: Checks = {**CHECKS, **dict.fromkeys(("hits", "sources"), (_are_hits, 'a list such as [{"doc_id": "d1", "text": "…"}]'))}
