"""Score any program's rankings: compute document metrics with intervals from a dataframe."""

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.api.types import is_complex_dtype, is_numeric_dtype

from workbench.components.retrieval.rank import tie_breakers
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Qrel, Query
from workbench.core.schemas import pandas_frame
from workbench.core.text.formatting import count, listed, meant, number, plural
from workbench.core.text.guessed_names import AdvisedNames, checked_names
from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.measures.statistics.clusters import Clusters, query_clusters
from workbench.measures.statistics.intervals import THIS_CORPUS, bounds_text
from workbench.measures.statistics.summary import summarise
from workbench.report.cells import words
from workbench.report.model import Cell, Column, Lines, Row, Table
from workbench.report.render.notebook import show

_QUERY = {"query_id": ("qid", "question_id")}
LISTS: dict[str, tuple[str, ...]] = _QUERY | {
    "retrieved": ("retrieved_doc_ids", "retrieved_ids"),
    "relevant": ("relevant_doc_ids", "expected_doc_ids", "relevant_ids", "expected_ids"),
    "irrelevant": ("irrelevant_doc_ids", "irrelevant_ids"),
}
ROWS: dict[str, tuple[str, ...]] = _QUERY | {"doc_id": ("docno", "docid", "document_id"), "relevance": ("label", "grade", "relevant")}
# trec_eval reserves memory for every grade up to the largest one.
MOST_GRADE = 1000
_NUMBER_TYPES: tuple[Any, ...] = (int, float, str, Decimal, np.integer, np.floating, np.bool_)
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


def _checked(given: Any, name: str) -> pd.DataFrame:
    frame = pandas_frame(given)
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
        if not (isinstance(value, str) and value) and (not isinstance(value, int | np.integer) or isinstance(value, bool | np.timedelta64)):
            raise InputError(f"{column} contains {_shown(value)}, which is not an id", "give text or whole numbers, and leave none out")
        ids.append(str(value))
    return ids


def _shown(value: object) -> str:
    return f"{str(value)[:40]!r} ({type(value).__name__})"


def _list(cell: object, column: str, query: str) -> list[str]:
    if isinstance(cell, list | tuple | np.ndarray):
        return _ids(cell, f"{column} of question {query!r}")
    fix = (
        "parse the text first, e.g. .map(json.loads) or .str.split()"
        if isinstance(cell, str)
        else "write [] if nothing was found, which scores 0, or leave the question out"
    )
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
        whole = _number(grade)
        if whole % 1 or abs(whole) > MOST_GRADE:
            fix = f"grades are whole numbers up to {MOST_GRADE:,}, relevant from 1"
            raise InputError(f"document {doc!r} of question {query!r} has the relevance {_shown(grade)}", fix)
        if grades.setdefault(query, {}).setdefault(doc, int(whole)) != whole:
            conflict = f"{grades[query][doc]} and {int(whole)}"
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


def _number(cell: Any) -> float:
    """The finite number in a cell, also as text, or NaN. numpy counts durations among its whole numbers, and Python reads 1_0 as 10."""
    if not isinstance(cell, _NUMBER_TYPES) or isinstance(cell, np.timedelta64) or (isinstance(cell, str) and "_" in cell):
        return math.nan
    try:
        return value if math.isfinite(value := float(cell)) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _numbers(values: "pd.Series[Any]", column: str) -> Floats:
    # pandas makes numbers of times and of bytes, too.
    fast = is_numeric_dtype(values) and not is_complex_dtype(values)
    numbers = (values if fast else values.astype(object).map(_number)).to_numpy(dtype=np.float64, na_value=np.nan)
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


# Ids are never empty, so no document has this name.
_UNSEEN = ""


@dataclass(frozen=True, eq=False, repr=False)
class Scores(AdvisedNames):
    """The result of `score` and of `evaluate`: means with intervals, and the value of every query.

    `scores["recall@5"]` is the mean of a metric. `table` has one row per metric with `metric, value, low, high, n, clusters, unscored, attainable, conditional` and 95 % intervals. `queries` has
    one row per metric and query with `query_id, metric, value, state, reason`. `notes` contains sentences about unusual data.
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            (
                "df",
                "to_df",
                "to_pandas",
                "means",
                "mean",
                "values",
                "summary",
                "metrics",
                "scores",
                "to_dict",
                "items",
                "keys",
                "intervals",
            ),
            "scores.table, a DataFrame with a row for each metric, or scores['recall@5'], a mean",
        ),
        **dict.fromkeys(
            ("per_query", "per_question", "questions", "details", "rows"), "scores.queries, a DataFrame with the value of each question"
        ),
        **dict.fromkeys(("to_csv", "to_json", "save"), "scores.table.to_csv(path)"),
        **dict.fromkeys(
            ("plot", "compare", "leaderboard", "verdict", "results"), "wb.compare({'a': one, 'b': other}, dataset), whose results have it"
        ),
    }
    table: pd.DataFrame
    queries: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str | Metric) -> float:
        """Return the mean of a metric, NaN without a scored question. Raises InputError for a metric that was not computed."""
        names = list(self)
        if str(metric) not in names:
            raise InputError(f"the scores have no metric {str(metric)!r}{meant(str(metric), names)}", f"they have {', '.join(names)}")
        return float(self.table["value"].iloc[names.index(str(metric))])

    def __iter__(self) -> Iterator[str]:
        return iter(self.table["metric"].tolist())

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        text = pd.DataFrame(self._cells(), columns=[column.title for column in _COLUMNS]).to_string(index=False)
        return "\n".join([text, *self._lines()])

    def _repr_html_(self) -> str:
        caption = f"{plural(self.queries['query_id'].nunique(), 'question')}; n is the number of questions in a mean"
        rows = [Row([Cell(text) for text in row]) for row in self._cells()]
        lines = self._lines()
        return show(Table(caption, _COLUMNS, rows), Lines(lines) if lines else None)._repr_html_()

    def _lines(self) -> list[str]:
        """Return the notes, and why metrics apply to no question."""
        idle = self.queries.groupby("metric", sort=False).filter(lambda rows: (rows["state"] == "not_applicable").all())
        reasons = idle.groupby("metric", sort=False)["reason"].agg(lambda rows: rows.mode()[0])
        return [*self.notes, *(f"{metric} applies to no question: {reason}" for metric, reason in reasons.items())]

    def _cells(self) -> list[list[str]]:
        return [
            [
                *(str(row["metric"]), number(row["value"]), bounds_text(row["low"], row["high"], row["clusters"], row["conditional"])),
                *(count(row["n"]), count(row["clusters"]), count(row["unscored"]), number(row["attainable"])),
            ]
            for row in self.table.to_dict("records")
        ]


_COLUMNS = [words("metric"), *map(Column, ("value", "95 % interval", "n", "clusters", "unscored", "attainable"))]


@checked_names
def score(
    dataframe: pd.DataFrame, metrics: Sequence[str | Metric], qrels: pd.DataFrame | None = None, *, all_judged: bool = False
) -> Scores:
    """Score the rankings in a DataFrame, of pandas or of polars, by document metrics such as `recall@5`.

    A DataFrame with one row per query has the columns `retrieved` (doc ids, best first), `relevant` (doc ids, or doc id to grade) and
    optionally `irrelevant`, `query_id`, `answerable` and `cluster`. One with a row per document has `query_id`, `doc_id`, and `rank` or
    `score`. Its judgements are in `relevance` or in `qrels` (`query_id, doc_id, relevance`). Pass `all_judged=True` if it contains every
    judged document, with rank NaN for those that were not retrieved. Raises InputError for invalid data.

    Examples
    --------
    >>> import pandas as pd
    >>> import workbench as wb
    >>> rankings = pd.DataFrame({"retrieved": [["a", "b"], ["c", "d"]], "relevant": [["b"], ["c"]]})
    >>> wb.score(rankings, ["recall@1", wb.mrr @ 10]).table["value"].tolist()
    [0.5, 0.75]
    """
    chosen = metrics_given(metrics)
    for metric in chosen:
        if metric.family != "documents":
            raise InputError(f"{metric} needs the documents and their chunks, not only ids", "measure it with workbench.evaluate")
    data = read_frame(dataframe, qrels, all_judged=all_judged)
    _check(data, chosen)
    dataset = _dataset(data)
    labels = Labels.of(dataset)
    rows = evaluate(labels, _retrieved(data, dataset), chosen)
    if not data.complete:
        rows.loc[rows["metric"].str.startswith("precision@"), "attainable"] = np.nan
    return scores_of(rows, list(data.queries.values()), _clusters(data, labels), tuple(_notes(data, chosen)))


def scores_of(rows: pd.DataFrame, query_ids: Sequence[str], clusters: Clusters, notes: tuple[str, ...] = ()) -> Scores:
    """Summarise the rows of `metrics.evaluate` for queries (q) in `clusters` (q)."""
    named = rows.assign(query_id=pd.Series(query_ids, dtype=object).iloc[rows["query"]].to_numpy())
    table = summarise(rows, clusters).drop(columns="slice")
    limited = (THIS_CORPUS,) if table["conditional"].any() else ()
    return Scores(table, named[["query_id", "metric", "value", "state", "reason"]], (*notes, *limited))


def _check(data: ScoringInput, chosen: Sequence[Metric]) -> None:
    for name, docs in data.run.items():
        if len(set(docs)) < len(docs):
            twice = next(doc for position, doc in enumerate(docs) if doc in docs[:position])
            raise InputError(
                f"question {name!r} lists document {twice!r} twice",
                "rank each document once, by its best chunk (docs/how-to/evaluate_your_system.md#a-table-of-rankings)",
            )
    # Without the relevant documents that were not retrieved, these have no denominator, or leave out queries that did well.
    blind = [str(metric) for metric in chosen if metric.definition.labels_read == "all"]
    if blind and not data.complete:
        fix = "pass qrels=, or all_judged=True if the frame contains every judged document"
        raise InputError(f"{', '.join(blind)} cannot be computed without the judged documents that were not retrieved", fix)
    relevant = {name: any(grade > 0 for grade in data.grades[name].values()) for name in data.queries}
    bare = [name for name in data.queries if data.answerable[name] and data.complete and not relevant[name]]
    if bare:
        grades = data.grades[bare[0]].values()
        why = f"the highest grade of {bare[0]!r} is {max(grades)}" if grades else f"no document of {bare[0]!r} has a grade"
        fix = "add one with a grade from 1, set answerable to False, or leave the question out"
        raise InputError(f"no relevant document for {examples(bare)}: {why}", fix)
    marked = [name for name in data.queries if not data.answerable[name] and relevant[name]]
    if marked:
        raise InputError(f"answerable is False, but a relevant document is given, for {examples(marked)}", "correct one of the two")


def _dataset(data: ScoringInput) -> Dataset:
    judged = [Qrel(name, doc, grade) for name, grades in data.grades.items() for doc, grade in grades.items()]
    if not data.complete:
        # Stands for unknown relevant documents, so that a query without relevant results scores 0 instead of leaving the mean.
        judged += [Qrel(name, _UNSEEN, 1) for name in data.queries if data.answerable[name]]
    docs = dict.fromkeys(itertools.chain([_UNSEEN], *data.run.values(), *data.grades.values()))
    queries = tuple(Query(name, "", answerable=data.answerable[name]) for name in data.queries)
    return Dataset("dataframe", tuple(Document(doc, "") for doc in docs), queries, tuple(judged))


def _retrieved(data: ScoringInput, dataset: Dataset) -> Retrieved:
    position = {document.doc_id: number for number, document in enumerate(dataset.documents)}
    rows = [(query, rank, position[doc]) for query, docs in enumerate(data.run.values()) for rank, doc in enumerate(docs, 1)]
    ranking = pd.DataFrame(rows, columns=["query", "rank", "doc"], dtype=np.int64)
    chunks = pd.DataFrame(columns=["doc", "start", "end", "delivered_start", "delivered_end"], dtype=np.int64)
    hits = pd.DataFrame(columns=["query", "rank", "chunk", "score"], dtype=np.int64)
    return Retrieved(chunks, hits, ranking.assign(score=-ranking["rank"]), np.zeros(len(data.queries)))


def _clusters(data: ScoringInput, labels: Labels) -> Clusters:
    """The given clusters, else each query's only relevant document, which requires complete judgements."""
    if data.clusters is not None:
        return Clusters.of(pd.factorize(pd.Series([data.clusters[name] for name in data.queries], dtype=object))[0])
    return query_clusters(labels) if data.complete else Clusters.of(range(labels.queries))


def _notes(data: ScoringInput, chosen: Sequence[Metric]) -> Iterator[str]:
    empty = sum(data.answerable[name] and not docs for name, docs in data.run.items())
    if empty:
        yield f"{plural(empty, 'answerable question has', 'answerable questions have')} no results: each counts as 0 in the mean."
    judged = [doc in data.grades[name] for name, docs in data.run.items() for doc in docs]
    if judged and not any(judged):
        yield "No retrieved document is judged: do the ids of documents and judgements match?"
    deepest = max(map(len, data.run.values()))
    deeper = [str(metric) for metric in chosen if (metric.k or 0) > deepest > 0]
    if deeper:
        yield f"No ranking has more than {plural(deepest, 'document')}: {listed(deeper)} counted deeper documents as not retrieved."
    if not data.complete:
        yield "Relevant documents that were not retrieved are unknown, so precision has no attainable maximum, and each question is its own cluster unless `cluster` is given."
