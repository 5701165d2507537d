"""Score any program's rankings: compute document metrics with intervals from a dataframe."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.api.scoring.frames import ScoringInput, examples, read_frame
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Qrel, Query
from workbench.core.text.formatting import count, listed, meant, number, plural
from workbench.core.text.guessed_names import AdvisedNames, checked_names
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.measures.statistics.clusters import Clusters, query_clusters
from workbench.measures.statistics.intervals import THIS_CORPUS, bounds_text
from workbench.measures.statistics.summary import summarise
from workbench.report.cells import words
from workbench.report.model import Cell, Column, Lines, Row, Table
from workbench.report.render.notebook import show

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
    """Score the rankings in a DataFrame by document metrics such as `recall@5`.

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
        raise InputError(f"no relevant document for {examples(bare)}", "add one, set answerable to False, or leave the question out")
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
