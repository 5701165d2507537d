"""The inputs of metrics: a dataset's labels and one configuration's results, as arrays of integer positions.

A query is its position in `dataset.queries`, a document its position in `dataset.documents`, a chunk its row in the chunk
table. Characters of all documents are on one line: position p of document d is `offsets[d] + p`, with one empty position
after each document, so that no document touches the next.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.records import Dataset, Need, Query
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenised
from workbench.measures.metrics.coverage import Bools, Floats, Ints

# Every character that str.strip and str.isspace treat as blank. All are in the basic plane.
_BLANK = np.array([code for code in range(0x10000) if chr(code).isspace()], dtype=np.uint32)

Row = TypeVar("Row")
_COLUMNS = {
    "chunks": ("doc", "start", "end", "delivered_start", "delivered_end"),
    "hits": ("query", "rank", "chunk", "score"),
    "ranking": ("query", "rank", "doc", "score"),
}


@dataclass(frozen=True, eq=False)
class Labels:
    """The judgements of q queries over d documents.

    `answerable` (q); `offsets` (d + 1); qrels as `qrel_query`, `qrel_doc`, `qrel_relevance`; `need_query` is the query of each
    need; alternatives as `alternative_need`, `alternative_doc`, and global characters `alternative_start`, `alternative_end`,
    in the dataset's order. `dataset` is None for the labels of a stored run.
    """

    texts: tuple[str, ...]
    answerable: Bools
    offsets: Ints
    qrel_query: Ints
    qrel_doc: Ints
    qrel_relevance: Ints
    need_query: Ints
    alternative_need: Ints
    alternative_doc: Ints
    alternative_start: Ints
    alternative_end: Ints
    dataset: Dataset | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> "Labels":
        """Read the labels of a dataset with consistent ids."""
        queries = {query.query_id: position for position, query in enumerate(dataset.queries)}
        documents = {document.doc_id: position for position, document in enumerate(dataset.documents)}
        lengths = [len(document.text) + 1 for document in dataset.documents]
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        spans = [(number, span) for number, need in enumerate(dataset.needs) for span in need.alternatives]
        alternative_doc = _ints([documents[span.doc_id] for _, span in spans])
        return cls(
            texts=tuple(document.text for document in dataset.documents),
            answerable=np.array([query.answerable for query in dataset.queries], dtype=np.bool_),
            offsets=offsets,
            qrel_query=_ints([queries[qrel.query_id] for qrel in dataset.qrels]),
            qrel_doc=_ints([documents[qrel.doc_id] for qrel in dataset.qrels]),
            qrel_relevance=_ints([qrel.relevance for qrel in dataset.qrels]),
            need_query=_ints([queries[need.query_id] for need in dataset.needs]),
            alternative_need=_ints([number for number, _ in spans]),
            alternative_doc=alternative_doc,
            alternative_start=offsets[alternative_doc] + _ints([span.start for _, span in spans]),
            alternative_end=offsets[alternative_doc] + _ints([span.end for _, span in spans]),
            dataset=dataset,
        )

    @property
    def questions(self) -> Sequence[Query]:
        """The records of the queries. Raises InputError for the labels of a stored run."""
        if self.dataset is None:
            raise InputError("the labels of a stored run have no texts of questions", "score the run in a sweep")
        return self.dataset.queries

    @cached_property
    def expected(self) -> Sequence[tuple[str, ...]]:
        """The expected answer of each query with its variants, without empty ones."""
        return [tuple(filter(None, (query.answer, *query.answer_variants))) for query in self.questions]

    @cached_property
    def needs(self) -> Sequence[Sequence[Need]]:
        """The evidence of each query, empty for a query without evidence."""
        return self._by_query((need.query_id, need) for need in self.dataset.needs) if self.dataset else ()

    @cached_property
    def relevant_documents(self) -> Sequence[frozenset[str]]:
        """The ids of the relevant documents of each query (relevance 1 or more)."""
        qrels = self.dataset.qrels if self.dataset else ()
        return [frozenset(ids) for ids in self._by_query((qrel.query_id, qrel.doc_id) for qrel in qrels if qrel.relevance >= 1)]

    def _by_query(self, rows: Iterable[tuple[str, Row]]) -> list[list[Row]]:
        found: dict[str, list[Row]] = {}
        for query_id, row in rows:
            found.setdefault(query_id, []).append(row)
        return [found.get(query.query_id, []) for query in self.questions]

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.answerable)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.texts)

    @property
    def width(self) -> int:
        """The length of the line of characters that holds all documents."""
        return int(self.offsets[-1])

    @cached_property
    def alternative_query(self) -> Ints:
        """The query of each alternative."""
        return self.need_query[self.alternative_need]

    @cached_property
    def evidence(self) -> tuple[Ints, Ints]:
        """The start and end of each alternative on a line with one copy of the corpus for each query."""
        origin = self.alternative_query * self.width
        return origin + self.alternative_start, origin + self.alternative_end

    @cached_property
    def has_evidence(self) -> Bools:
        """Mask of the queries with a need. Shape (queries,)."""
        return np.bincount(self.need_query, minlength=self.queries) > 0

    @cached_property
    def relevant_pairs(self) -> Ints:
        """The sorted keys query * documents + document of all relevant pairs (relevance 1 or more, as in trec_eval)."""
        return self._pairs(self.qrel_relevance >= 1)

    @cached_property
    def irrelevant_pairs(self) -> Ints:
        """The sorted keys of the hard negatives: relevance below 0 or, in a dataset without such grades, 0."""
        return self._pairs(self.qrel_relevance < (0 if (self.qrel_relevance < 0).any() else 1))

    @cached_property
    def judged_pairs(self) -> Ints:
        """The sorted keys of all pairs with any judgement."""
        return self._pairs(np.ones(len(self.qrel_relevance), dtype=np.bool_))

    @cached_property
    def has_negatives(self) -> Bools:
        """Mask of the queries with a hard negative. Shape (queries,)."""
        return np.bincount(self.irrelevant_pairs // self.documents, minlength=self.queries) > 0

    @cached_property
    def relevant_counts(self) -> Ints:
        """The number of relevant documents of each query."""
        return np.bincount(self.relevant_pairs // self.documents, minlength=self.queries).astype(np.int64)

    @cached_property
    def token_starts(self) -> Ints:
        """The global character at which each token of the fixed vocabulary starts, over all documents."""
        tokens = tokenised(self.texts, BUDGET_VOCABULARY)
        return np.concatenate([text.starts + offset for text, offset in zip(tokens, self.offsets[:-1], strict=True)])

    @cached_property
    def blanks(self) -> Ints:
        """The sorted global positions of blank characters in documents with evidence, the only ones that metrics read."""
        blanks = [_blanks(self.texts[doc]) + self.offsets[doc] for doc in np.unique(self.alternative_doc)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *blanks])

    def tokens_in(self, starts: Ints, ends: Ints) -> Ints:
        """The number of tokens that start in each slice between two global characters."""
        return np.searchsorted(self.token_starts, ends) - np.searchsorted(self.token_starts, starts)

    def positions(self, chunks: pd.DataFrame, *columns: str) -> list[Ints]:
        """Convert columns of a chunk table from characters of the document to global characters."""
        origin = self.offsets[chunks["doc"].to_numpy(np.int64)]
        return [origin + chunks[name].to_numpy(np.int64) for name in columns]

    def places(self, starts: Ints, ends: Ints) -> Iterator[tuple[int, int, int]]:
        """The document of each slice between two global characters, and the slice's start and end in it."""
        doc = np.searchsorted(self.offsets, starts, side="right") - 1
        origin = self.offsets[doc]
        return zip(doc.tolist(), (starts - origin).tolist(), (ends - origin).tolist(), strict=True)

    def solid(self, positions: Ints) -> Ints:
        """Convert global characters to the number of non-blank characters before them."""
        return positions - np.searchsorted(self.blanks, positions, side="left")

    def _pairs(self, chosen: Bools) -> Ints:
        return np.unique(self.qrel_query[chosen] * self.documents + self.qrel_doc[chosen])


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The results of one configuration.

    `chunks`: `doc, start, end, delivered_start, delivered_end`, one row each. `hits`: `query, rank, chunk, score`, sorted by
    query and rank (from 1), down to the deepest cut of any metric. `ranking`: `query, rank, doc, score`, distinct
    documents, each by its best chunk, in final strict order. `spread` (queries): standard deviation of a query's scores over
    the searched chunks. `whole_index`: whether `chunks` are all that are searched; of a target only those are known that it returned. Rows of `ranking` with the document -1, which a target returned from outside the dataset, are moved to `outside`.
    """

    chunks: pd.DataFrame
    hits: pd.DataFrame
    ranking: pd.DataFrame
    spread: Floats
    whole_index: bool = True
    outside: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        for name, columns in _COLUMNS.items():
            missing = sorted(set(columns) - set(getattr(self, name).columns))
            if missing:
                raise InputError(f"the table {name} has no column {', '.join(missing)}", f"it needs {', '.join(columns)}")
        for name in ("hits", "ranking"):
            table = getattr(self, name)
            query, rank = np.diff(table["query"].to_numpy()), np.diff(table["rank"].to_numpy())
            if not np.all((query > 0) | ((query == 0) & (rank > 0))):
                raise InputError(f"the table {name} is not in strict order of query and rank", "sort it by query, rank")
        known = self.ranking["doc"] >= 0
        object.__setattr__(self, "outside", self.ranking[~known])
        object.__setattr__(self, "ranking", self.ranking if known.all() else self.ranking[known].reset_index(drop=True))


def filled_ranks(ranking: pd.DataFrame) -> pd.DataFrame:
    """Return a ranking of documents with a row for each rank up to a query's last: an empty rank gets the document -1 and the score before it.

    A rank is empty if the document there is not in the dataset.
    """
    last = ranking.groupby("query")["rank"].max()
    if last.sum() == len(ranking):
        return ranking
    ranks = pd.DataFrame({"query": np.repeat(last.index, last), "rank": np.concatenate([np.arange(1, end + 1) for end in last])})
    filled = ranks.merge(ranking, how="left", on=["query", "rank"])
    scores = filled.groupby("query")["score"]
    return filled.assign(doc=filled["doc"].fillna(-1).astype("int64"), score=scores.ffill().fillna(scores.bfill()))


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _blanks(text: str) -> Ints:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.flatnonzero(np.isin(codes, _BLANK)).astype(np.int64)
