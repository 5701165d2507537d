"""Read text files, JSON and JSON Lines. What is not UTF-8 or not JSON is a fault with its place."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeGuard

from workbench.core.files import decoded, unique_keys
from workbench.data.draft import DatasetDraft, Rows

_HEADER = re.compile(r"(query[-_]?id|qid|id)\t", re.IGNORECASE)
Column = Literal["query-id", "text", "iteration", "doc-id", "relevance", "rank", "score", "tag"]
# The columns that names in headers mean, without hyphens.
_COLUMNS: dict[str, Column] = {
    **dict.fromkeys(("queryid", "qid", "id", "topicid"), "query-id"),
    **dict.fromkeys(("corpusid", "docid", "docno", "documentid", "pid"), "doc-id"),
    **dict.fromkeys(("relevance", "rel", "relevant", "grade", "label", "judgement", "judgment"), "relevance"),
    **dict.fromkeys(("text", "query", "question", "title"), "text"),
    "rank": "rank",
}
_JSON_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a decimal number"}
# What a person types where JSON expects something else.
_HINTS = (
    (r"['‘’]", "write texts in double quotes"),
    (r"[“”„]", "write straight quotes in place of “ and ”"),
    (r"(True|False|None)\b", "write true, false and null"),
    (r"//|#|/\*", "JSON has no comments"),
    (r"\s*,\s*$", "remove the comma at the end of the line"),
    (r"[}\]]", "remove the comma before it"),
)


def read_text(path: Path, draft: DatasetDraft) -> str:
    """Read a text file, without its byte order mark. Bytes that are not UTF-8 are a fault, and so is a file that cannot be read."""
    raw = draft.read_bytes(path)
    text, fault = decoded(raw)
    if raw.startswith(codecs.BOM_UTF8):
        draft.marked.add(str(path))
    if fault:
        draft.faults.append(f"{path}{fault}")
        draft.faulty.add(str(path))
    return text


def parse_json(text: str) -> Any:
    """Parse JSON. Raises ValueError also for NaN, a repeated key, half a surrogate pair and nesting beyond Python's limit."""
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=unique_keys)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def reason(error: ValueError) -> str:
    """Describe why a text is not JSON, with the column if it is known and the likely fix."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    hint = next((f"; {fix}" for pattern, fix in _HINTS if re.match(pattern, error.doc[error.pos :])), "")
    return f"{error.msg} at column {error.colno}{hint}"


def is_text(value: object) -> TypeGuard[str]:
    """Return True if a value is a text with a character that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def json_kind(value: Any) -> str:
    """Return the kind of a JSON value, such as `a list`."""
    return _JSON_KINDS.get(type(value), "null")


def text_lines(path: Path, draft: DatasetDraft) -> Iterator[tuple[str, str]]:
    """Yield the nonblank lines of a file with their `file:line`."""
    # Not splitlines(): a document may contain U+2028 or U+0085, which JSON leaves unescaped.
    for number, line in enumerate(read_text(path, draft).split("\n"), 1):
        if line.strip():
            yield line.removesuffix("\r"), f"{path}:{number}"


def tabbed_lines(path: Path, columns: Sequence[Column], draft: DatasetDraft) -> Iterator[tuple[str, str]]:
    """Yield the lines of a tabular file without its header. A header whose columns have another order is a fault, and the file is empty."""
    for line, where in text_lines(path, draft):
        if where != f"{path}:1" or not _HEADER.match(line) or re.search(r"\t[+-]?\d+\s*$", line):
            yield line, where
            continue
        names = [re.sub("[-_ ]", "", cell).lower() for cell in line.split("\t")]
        if any(_COLUMNS.get(name, column) != column for column, name in zip(columns, names, strict=False)):
            draft.fault(where, f"has the columns {', '.join(line.split())}, not {', '.join(columns)}; write them in this order")
            return


def json_lines(path: Path, draft: DatasetDraft) -> Rows:
    """Yield the objects of a JSON Lines file with their `file:line`. Any other line is a fault."""
    lines = list(text_lines(path, draft))
    if lines and _several_lines([line for line, _ in lines]):
        draft.fault(lines[0][1], "begins a JSON value of several lines; write each object on a line of its own")
        return
    for line, where in lines:
        try:
            value = parse_json(line)
        except ValueError as error:
            fix = "" if line.lstrip().startswith("{") else '; write each row as an object, such as {"field": "text"}'
            draft.fault(where, f"is not JSON ({reason(error)}){fix}")
        else:
            yield from objects([(value, where)], draft)


def objects(values: Iterable[tuple[Any, str]], draft: DatasetDraft) -> Rows:
    """Yield the values that are JSON objects. Any other value is a fault."""
    for value, where in values:
        if isinstance(value, dict):
            yield value, where
        else:
            fix = "; write each object on a line of its own" if isinstance(value, list) else ""
            draft.fault(where, f"is {json_kind(value)}, not an object{fix}")


def _several_lines(lines: list[str]) -> bool:
    """Return True if a JSON value begins on the first line and ends on another."""
    try:
        json.loads(lines[0])
    except (ValueError, RecursionError):
        try:
            end = json.JSONDecoder().raw_decode("\n".join(lines).lstrip())[1]
        except (ValueError, RecursionError):
            return False
        return end > len(lines[0])
    return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
