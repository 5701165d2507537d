"""Read dataframes of rankings and judgements, of either shape, into one value with text ids."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.retrieval.rank import tie_breakers
from workbench.core.errors import InputError
from workbench.core.text.formatting import listed, plural
from workbench.measures.metrics.coverage import Floats, Ints

_QUERY = {"query_id": ("qid", "question_id")}
LISTS: dict[str, tuple[str, ...]] = _QUERY | {
    "retrieved": ("retrieved_doc_ids", "retrieved_ids"),
    "relevant": ("relevant_doc_ids", "expected_doc_ids", "relevant_ids", "expected_ids"),
    "irrelevant": ("irrelevant_doc_ids", "irrelevant_ids"),
}
ROWS: dict[str, tuple[str, ...]] = _QUERY | {
    "doc_id": ("docno", "docid", "document_id"),
    "relevance": ("label", "grade", "relevant"),
}
# trec_eval reserves memory for every grade up to the largest one.
MOST_GRADE = 1000
_GRADE_TYPES: tuple[Any, ...] = (int, float, np.integer, np.floating, np.bool_)
_SHARED = ("answerable", "cluster", "rank", "score")
_FRAME = "the dataframe"

Ids = dict[str, Any]
Grades = dict[str, dict[str, int]]


@dataclass(frozen=True, eq=False)
class ScoringInput:
    """The rankings and judgements of a dataframe, with text ids.

    `queries`: each query's original id. `run`: its documents, best first. `grades`: its judged documents. `complete`: whether
    these include all its relevant documents.
    """

    queries: Ids
    run: Mapping[str, Sequence[str]]
    grades: Mapping[str, Mapping[str, int]]
    answerable: Mapping[str, bool]
    clusters: Mapping[str, object] | None
    complete: bool


def read_frame(dataframe: pd.DataFrame, qrels: pd.DataFrame | None, *, all_judged: bool) -> ScoringInput:
    """Read a dataframe of either shape. Raises InputError if it is invalid."""
    frame = _checked(dataframe, _FRAME)
    by_query = not {"retrieved", *LISTS["retrieved"]}.isdisjoint(frame.columns)
    return (_of_lists if by_query else _of_rows)(_renamed(frame, LISTS if by_query else ROWS, _FRAME), qrels, all_judged)


def _checked(frame: Any, name: str) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{name} is of type {type(frame).__name__}", "make it a pandas DataFrame: pd.DataFrame(...), .to_pandas()")
    if frame.empty:
        raise InputError(f"{name} is empty", "give at least one row")
    return frame


def _renamed(frame: pd.DataFrame, aliases: Mapping[str, tuple[str, ...]], name: str) -> pd.DataFrame:
    ours = {alias: column for column, others in aliases.items() for alias in others}
    columns = [ours.get(column, column) for column in frame.columns]
    for column in [*aliases, *_SHARED]:
        if columns.count(column) > 1:
            duplicates = [str(old) for old, new in zip(frame.columns, columns, strict=True) if new == column]
            raise InputError(f"the columns {' and '.join(duplicates)} of {name} are both {column}", "drop one of them")
    return frame.set_axis(columns, axis="columns")


def _require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        shapes = "one row per question has retrieved and relevant; one per document query_id, doc_id, rank or score, and relevance unless qrels are given"
        raise InputError(f"{name} has no column {', '.join(missing)} (it has {', '.join(map(str, frame.columns))})", shapes)


def _once(frame: pd.DataFrame, column: str) -> None:
    if column in frame.columns:
        raise InputError(f"judgements are given twice, in the column {column} and in qrels", "leave one of them out")


def _of_lists(frame: pd.DataFrame, qrels: pd.DataFrame | None, all_judged: bool) -> ScoringInput:
    if all_judged:
        raise InputError("all_judged is for a frame of one row per document", "leave it out: `relevant` contains all relevant documents")
    ids = frame["query_id"].tolist() if "query_id" in frame.columns else list(range(len(frame)))
    names = _ids(ids, "query_id")
    repeated = pd.Series(names).duplicated()
    if repeated.any():
        raise InputError(f"question {names[int(repeated.argmax())]!r} has two rows", "give one row per question, or unique query_id")
    queries = dict(zip(names, ids, strict=True))
    run = {name: _list(cell, "retrieved", name) for name, cell in zip(names, frame["retrieved"], strict=True)}
    if qrels is None:
        _require(frame, ["relevant"], _FRAME)
        return _joined(queries, run, _grades(_judgements(names, frame)), [frame.assign(query_id=names)], complete=True)
    _once(frame, "relevant")
    return _with_qrels(frame.assign(query_id=names), queries, run, qrels)


def _of_rows(frame: pd.DataFrame, qrels: pd.DataFrame | None, all_judged: bool) -> ScoringInput:
    _require(frame, ["query_id", "doc_id"], _FRAME)
    names, docs = _ids(frame["query_id"], "query_id"), _ids(frame["doc_id"], "doc_id")
    queries = dict(zip(names, frame["query_id"].tolist(), strict=True))
    run: dict[str, list[str]] = {name: [] for name in queries}
    for row in _order(frame, names, docs, all_judged):
        run[names[row]].append(docs[row])
    named = frame.assign(query_id=names, doc_id=docs)
    if qrels is not None:
        _once(named, "relevance")
        if all_judged:
            raise InputError("all_judged is for a frame without qrels", "leave it out: qrels contain the judgements")
        return _with_qrels(named, queries, run, qrels)
    _require(frame, ["relevance"], _FRAME)
    return _joined(queries, run, _grades(zip(names, docs, frame["relevance"], strict=True)), [named], complete=all_judged)


def _with_qrels(frame: pd.DataFrame, queries: Ids, run: dict[str, list[str]], qrels: pd.DataFrame) -> ScoringInput:
    """Add the judgements. Queries that are only in the qrels have no results."""
    judged = _renamed(_checked(qrels, "qrels"), ROWS, "qrels")
    _require(judged, ["query_id", "doc_id", "relevance"], "qrels")
    ids = judged["query_id"].tolist()
    names, docs = _ids(ids, "query_id of qrels"), _ids(judged["doc_id"], "doc_id of qrels")
    grades = _grades(zip(names, docs, judged["relevance"], strict=True))
    # The frame's queries come first, with the ids as in the frame.
    queries = queries | {name: value for name, value in zip(names, ids, strict=True) if name not in queries}
    return _joined(queries, run, grades, [frame, judged.assign(query_id=names)], complete=True)


def _joined(queries: Ids, run: dict[str, list[str]], grades: Grades, frames: Sequence[pd.DataFrame], *, complete: bool) -> ScoringInput:
    answerable = dict.fromkeys(queries, True)
    for name, value in _of_queries(frames, "answerable").items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"answerable of question {name!r} is {_shown(value)}", "give True or False")
        answerable[name] = bool(value)
    clusters = _of_queries(frames, "cluster")
    lost = [name for name in queries if name not in clusters]
    if clusters and lost:
        raise InputError(f"no cluster for {examples(lost)}", "give every question its cluster, also a question that is only in the qrels")
    ranked = {name: run.get(name, []) for name in queries}
    return ScoringInput(queries, ranked, {name: grades.get(name, {}) for name in queries}, answerable, clusters or None, complete)


def _of_queries(frames: Sequence[pd.DataFrame], column: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for frame in frames:
        for name, value in zip(frame["query_id"], frame[column], strict=True) if column in frame.columns else ():
            if not isinstance(value, Hashable) or _missing(value):
                raise InputError(f"{column} of question {name!r} is {_shown(value)}", "give each question one plain value")
            if values.setdefault(name, value) != value:
                raise InputError(
                    f"{column} of question {name!r} is both {_shown(values[name])} and {_shown(value)}", "give each question one value"
                )
    return values


def _ids(values: Iterable[object], column: str) -> list[str]:
    """Convert ids to text, so that 7 in one frame equals "7" in the other."""
    ids = []
    for value in values:
        if not (isinstance(value, str) and value) and (not isinstance(value, int | np.integer) or isinstance(value, bool)):
            raise InputError(f"{column} contains {_shown(value)}, which is not an id", "give text or whole numbers, and leave none out")
        ids.append(str(value))
    return ids


def _shown(value: object) -> str:
    return f"{str(value)[:40]!r} ({type(value).__name__})"


def _list(cell: object, column: str, query: str) -> list[str]:
    if isinstance(cell, list | tuple | np.ndarray):
        return _ids(cell, f"{column} of question {query!r}")
    fix = "parse the text first, e.g. .map(json.loads) or .str.split()" if isinstance(cell, str) else "write [] for an empty list"
    raise InputError(f"{column} of question {query!r} is of type {type(cell).__name__}, not a list of doc ids", fix)


def _judgements(names: Sequence[str], frame: pd.DataFrame) -> Iterator[tuple[str, str, object]]:
    """The query, document and grade of each judgement in `relevant` and `irrelevant`. A missing cell has none."""
    for column, grade in (("relevant", 1), ("irrelevant", 0)):
        for name, cell in zip(names, frame[column] if column in frame.columns else (), strict=column in frame.columns):
            if isinstance(cell, Mapping) and grade:
                docs = _ids(cell, f"relevant of question {name!r}")
                yield from zip([name] * len(docs), docs, cell.values(), strict=True)
            elif not (isinstance(cell, Hashable) and _missing(cell)):
                docs = _list(sorted(cell, key=str) if isinstance(cell, set | frozenset) else cell, column, name)
                yield from zip([name] * len(docs), docs, [grade] * len(docs), strict=True)


def _grades(judgements: Iterable[tuple[str, str, Any]]) -> Grades:
    """The grades by query and document. A document without a grade is not judged."""
    grades: Grades = {}
    for query, doc, grade in judgements:
        if _missing(grade):
            continue
        if not isinstance(grade, _GRADE_TYPES) or grade % 1 or abs(grade) > MOST_GRADE:
            fix = f"grades are whole numbers up to {MOST_GRADE:,}, relevant from 1"
            raise InputError(f"document {doc!r} of question {query!r} has the relevance {_shown(grade)}", fix)
        if grades.setdefault(query, {}).setdefault(doc, int(grade)) != int(grade):
            conflict = f"{grades[query][doc]} and {int(grade)}"
            raise InputError(f"document {doc!r} of question {query!r} has the relevance {conflict}", "judge it once")
    return grades


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _order(frame: pd.DataFrame, names: Sequence[str], docs: Sequence[str], all_judged: bool) -> Sequence[int]:
    """The rows of retrieved documents, best first for each query: by rank, or by score with ties in seeded order."""
    column = "rank" if "rank" in frame.columns else "score"
    _require(frame, [column], _FRAME)
    values = _numbers(frame[column], column)
    scored = ~np.isnan(values)
    if not scored.all() and not all_judged:
        lost = f"{column} of document {docs[int(scored.argmin())]!r} of question {names[int(scored.argmin())]!r} is missing"
        raise InputError(lost, "drop the row, or pass all_judged=True if such rows are judged documents that were not retrieved")
    queries = pd.factorize(pd.Series(names))[0]
    ties = tie_breakers(docs) if column == "score" else np.zeros(len(docs), dtype=np.int64)
    order = np.lexsort((ties, -values if column == "score" else values, queries))
    order = order[scored[order]]
    if column == "rank":
        _check_ranks(values[order], queries[order], [names[row] for row in order])
    return [int(row) for row in order]


def _numbers(values: "pd.Series[Any]", column: str) -> Floats:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    invalid = (np.isnan(numbers) & values.notna().to_numpy()) | np.isinf(numbers)
    if invalid.any():
        raise InputError(f"{column} contains {_shown(values.iloc[int(invalid.argmax())])}", "give finite numbers")
    return numbers


def _check_ranks(ranks: Floats, queries: Ints, names: Sequence[str]) -> None:
    """Check that every query's ranks are 1, 2, 3 … (or all from 0). A gap is an omitted document, which would inflate later ranks."""
    due = np.arange(len(ranks)) - np.searchsorted(queries, queries) + (ranks.min(initial=1) != 0)
    if (ranks != due).any():
        row = int((ranks != due).argmax())
        fault = f"question {names[row]!r} has rank {ranks[row]:g} instead of {due[row]}"
        raise InputError(fault, "keep every document that was retrieved, judged or not, and give each its own rank")


def examples(names: Sequence[str]) -> str:
    """The number of questions, and the first few."""
    return f"{plural(len(names), 'question')} ({listed(names, 3)})"
