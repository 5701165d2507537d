"""Score any program's rankings: compute document metrics with intervals from a dataframe."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.core.formatting import count, interval, listed, number, plural
from workbench.errors import InputError
from workbench.metrics.coverage import Ints
from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.records import Dataset, Document, Qrel, Query
from workbench.report.cells import words
from workbench.report.model import Cell, Column, Lines, Row, Table
from workbench.report.render.notebook import show
from workbench.scoring.frames import Given, read_frame, some
from workbench.statistics.clusters import query_clusters
from workbench.statistics.summary import summarise

# Without the relevant documents that were not retrieved, these have no denominator, or leave out queries that did well.
NEEDS_ALL = ("recall", "recall_cap", "ndcg", "map", "irrelevant")
# Ids are never empty, so no document has this name.
_UNSEEN = ""


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The result of `score`.

    `table`: `metric, value, low, high, n, clusters, unscored, attainable`, one row per metric, 95 % intervals. `queries`: `query_id,
    metric, value, state, reason`, one row per metric and query. `notes`: sentences that explain them.
    """

    table: pd.DataFrame
    queries: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        text = pd.DataFrame(self._cells(), columns=[column.title for column in _COLUMNS]).to_string(index=False)
        return "\n".join([text, *self.notes])

    def _repr_html_(self) -> str:
        caption = f"{plural(self.queries['query_id'].nunique(), 'query', 'queries')}; n is the number of queries in a mean"
        rows = [Row([Cell(text) for text in row]) for row in self._cells()]
        return show(Table(caption, _COLUMNS, rows), Lines(self.notes) if self.notes else None)._repr_html_()

    def _cells(self) -> list[list[str]]:
        return [
            [
                *(str(row["metric"]), number(row["value"]), interval(row["low"], row["high"])),
                *(count(row["n"]), count(row["clusters"]), count(row["unscored"]), number(row["attainable"])),
            ]
            for row in self.table.to_dict("records")
        ]


_COLUMNS = [words("metric"), *map(Column, ("value", "95 % interval", "n", "clusters", "unscored", "attainable"))]


def score(dataframe: pd.DataFrame, metrics: Sequence[str], qrels: pd.DataFrame | None = None, *, all_judged: bool = False) -> Scores:
    """Compute document metrics such as `recall@5` for the rankings in a dataframe of either shape.

    One row per query: `retrieved` (doc ids, best first), `relevant` (doc ids, or doc id to grade) and, if known, `irrelevant`,
    `query_id`, `answerable`, `cluster`. One row per document: `query_id`, `doc_id`, and `rank` or `score`, with judgements in `relevance`
    or in `qrels` (`query_id, doc_id, relevance`). `all_judged` says that such a frame has every judged document, with rank NaN for
    those that were not retrieved. Raises InputError for invalid data.
    """
    chosen = _chosen(metrics)
    given = read_frame(dataframe, qrels, all_judged=all_judged)
    _check(given, chosen)
    dataset = _dataset(given)
    labels = Labels.of(dataset)
    rows = evaluate(labels, _retrieved(given, dataset), chosen)
    if not given.complete:
        rows.loc[rows["metric"].str.startswith("precision@"), "attainable"] = np.nan
    table = summarise(rows, _clusters(given, labels)).drop(columns="slice")
    query_ids = pd.Series(list(given.queries.values())).iloc[rows["query"]].to_numpy()
    queries = rows.assign(query_id=query_ids)[["query_id", "metric", "value", "state", "reason"]]
    return Scores(table, queries, tuple(_notes(given, chosen)))


def _chosen(metrics: Sequence[str]) -> list[Metric]:
    found = [Metric.parse(name) for name in ([metrics] if isinstance(metrics, str) else metrics)]
    if not found:
        raise InputError("no metric is given", "write metrics=['recall@5', 'mrr@10']")
    for metric in found:
        if metric.family != "documents":
            raise InputError(f"{metric} needs the documents and their chunks, not only ids", "measure it in an experiment")
    return found


def _check(given: Given, chosen: Sequence[Metric]) -> None:
    for name, docs in given.run.items():
        if len(set(docs)) < len(docs):
            twice = next(doc for position, doc in enumerate(docs) if doc in docs[:position])
            raise InputError(
                f"query {name!r} has document {twice!r} twice",
                "rank documents, each by its best chunk: docs/how-to/score_another_program.md says how",
            )
    blind = [str(metric) for metric in chosen if metric.name in NEEDS_ALL]
    if blind and not given.complete:
        fix = "give qrels=, or say all_judged=True if the frame holds every judged document"
        raise InputError(f"{', '.join(blind)}: documents that are judged but were not retrieved count too, and are not known", fix)
    relevant = {name: any(grade > 0 for grade in given.grades[name].values()) for name in given.queries}
    bare = [name for name in given.queries if given.answerable[name] and given.complete and not relevant[name]]
    if bare:
        raise InputError(f"{some(bare)} without a relevant document and not unanswerable", "set answerable to False there, or leave it out")
    marked = [name for name in given.queries if not given.answerable[name] and relevant[name]]
    if marked:
        raise InputError(f"{some(marked)} marked unanswerable and with a relevant document", "correct one of the two")


def _dataset(given: Given) -> Dataset:
    judged = [Qrel(name, doc, grade) for name, grades in given.grades.items() for doc, grade in grades.items()]
    if not given.complete:
        # Stands for unknown relevant documents, so that a query without relevant results scores 0 instead of leaving the mean.
        judged += [Qrel(name, _UNSEEN, 1) for name in given.queries if given.answerable[name]]
    docs = dict.fromkeys(itertools.chain([_UNSEEN], *given.run.values(), *given.grades.values()))
    queries = tuple(Query(name, "", answerable=given.answerable[name]) for name in given.queries)
    return Dataset("dataframe", tuple(Document(doc, "") for doc in docs), queries, tuple(judged))


def _retrieved(given: Given, dataset: Dataset) -> Retrieved:
    position = {document.doc_id: number for number, document in enumerate(dataset.documents)}
    rows = [(query, rank, position[doc]) for query, docs in enumerate(given.run.values()) for rank, doc in enumerate(docs, 1)]
    ranking = pd.DataFrame(rows, columns=["query", "rank", "doc"], dtype=np.int64)
    chunks = pd.DataFrame(columns=["doc", "start", "end", "delivered_start", "delivered_end"], dtype=np.int64)
    hits = pd.DataFrame(columns=["query", "rank", "chunk", "score"], dtype=np.int64)
    return Retrieved(chunks, hits, ranking.assign(score=-ranking["rank"]), np.zeros(len(given.queries)))


def _clusters(given: Given, labels: Labels) -> Ints:
    """The given clusters, else each query's only relevant document, which requires complete judgements."""
    if given.clusters is not None:
        return pd.factorize(pd.Series([given.clusters[name] for name in given.queries], dtype=object))[0].astype(np.int64)
    return query_clusters(labels) if given.complete else np.arange(labels.queries, dtype=np.int64)


def _notes(given: Given, chosen: Sequence[Metric]) -> Iterator[str]:
    empty = sum(given.answerable[name] and not docs for name, docs in given.run.items())
    if empty:
        yield f"{plural(empty, 'answerable query has', 'answerable queries have')} no results: 0, and in the mean."
    found = [doc in given.grades[name] for name, docs in given.run.items() for doc in docs]
    if found and not any(found):
        yield "No retrieved document is judged: do the ids of documents and judgements match?"
    deepest = max(map(len, given.run.values()))
    deeper = [str(metric) for metric in chosen if (metric.k or 0) > deepest > 0]
    if deeper:
        yield f"No ranking has more than {plural(deepest, 'document')}: {listed(deeper)} counted deeper documents as not retrieved."
    if not given.complete:
        yield "Relevant documents that were not retrieved are unknown: so is precision's maximum, and each query is its own cluster unless given."
