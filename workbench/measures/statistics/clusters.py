"""Group queries by source document, for inference, and by metadata, for slices."""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from workbench.core.batching import blocks, rows
from workbench.core.errors import InputError
from workbench.core.records import PRODUCTION, SOURCE
from workbench.measures.metrics.coverage import Bools, Floats, Ints, ratio
from workbench.measures.metrics.inputs import Labels

# Documents: fewer do not show how documents differ, so there is no interval, or too little of it to name a winner.
FEWEST_FOR_INTERVAL, FEWEST_FOR_WINNER = 5, 10
# The scope of a claim if questions share too many documents for a sample of documents.
CONDITIONAL = "this corpus, other questions"
# Pairs of queries that share a document. More take too long to compare.
_MOST_LINKS = 20_000_000
FEWEST_VALUES, MOST_VALUES = 2, 20
# Pairs of queries of all remembered subsets, of which 12 bytes each is the most.
_MOST_REMEMBERED = 8_000_000
# A value and its square.
BYTES_A_VALUE = 16


@dataclass(frozen=True, eq=False)
class Clusters:
    """The source documents of q queries.

    `codes` (q) is each query's cluster, numbered from 0: its first document, or the query itself. `query` and `document` are the documents
    of all queries in pairs, if any query has several; else both are empty. Means are over queries, or with `equal` over clusters, each
    with the mean of its queries. Differences on queries that are not `tested`, such as drafts that nobody has accepted, have no p and no bounds.
    """

    codes: Ints
    query: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    document: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    equal: bool = False
    tested: bool = True
    _subsets: dict[bytes, "Clusters"] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, clusters: "Clusters | npt.ArrayLike") -> "Clusters":
        """Convert any names of clusters (q)."""
        if isinstance(clusters, Clusters):
            return clusters
        names = np.asarray(clusters)
        if names.ndim != 1:
            raise InputError(f"clusters have the shape {names.shape}", "give one cluster for each value")
        return cls(np.unique(names, return_inverse=True)[1].astype(np.int64))

    @classmethod
    def linked(cls, codes: npt.ArrayLike, documents: Sequence[Iterable[int]]) -> "Clusters":
        """Clusters `codes` (q) of queries with the `documents` (q) of each."""
        numbered, several = cls.of(codes), [list(each) for each in documents]
        if all(len(each) < 2 for each in several):
            return numbered
        query = np.repeat(np.arange(len(several), dtype=np.int64), [len(each) for each in several])
        return cls(numbered.codes, query, np.array([doc for each in several for doc in each], dtype=np.int64))

    @classmethod
    def of_table(cls, questions: pd.DataFrame) -> "Clusters":
        """Read the columns `cluster` and `documents` of a table of questions."""
        return cls.linked(questions["cluster"].to_numpy(np.int64), [json.loads(text) for text in questions["documents"]])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def count(self) -> int:
        """The number of clusters, or of their documents if these are fewer."""
        return int(self.counts(np.ones((1, len(self))))[0])

    @cached_property
    def _members(self) -> Any:
        """The cluster of each query as a 0-1 matrix (q, clusters)."""
        shape = len(self), int(self.codes.max(initial=-1)) + 1
        return scipy.sparse.csr_array((np.ones(len(self)), (np.arange(len(self)), self.codes)), shape=shape)

    @cached_property
    def _holds(self) -> Any:
        """The documents of each query as a 0-1 matrix (q, d), a query without one having its own."""
        bare = np.setdiff1d(np.arange(len(self)), self.query)
        query, document = np.concatenate([self.query, bare]), np.concatenate([self.document, -1 - bare])
        column = np.unique(document, return_inverse=True)[1]
        return scipy.sparse.csr_array((np.ones(len(query), dtype=np.float64), (query, column)), shape=(len(self), int(column.max()) + 1))

    def counts(self, scored: Floats) -> Ints:
        """The number of clusters with a scored query, or of their documents if these are fewer. `scored` (r, q) is 0 or 1. Shape (r,)."""
        groups = (self._members, self._holds) if len(self.query) else (self._members,)
        counts = [np.count_nonzero(np.asarray(scored @ each), axis=1).astype(np.int64) for each in groups]
        return np.asarray(np.minimum.reduce(counts))

    @property
    def documents(self) -> list[list[int]]:
        """The documents of each query, if any query has several; else empty lists."""
        return _documents(len(self), self.query, self.document)

    def __getitem__(self, members: Bools) -> "Clusters":
        """The clusters of the queries where `members` (q) is True. Small ones are remembered with their links: many metrics score the same queries."""
        key = np.packbits(members).tobytes()
        if known := self._subsets.get(key):
            return known
        inside = members[self.query]
        index = np.cumsum(members) - 1
        chosen = Clusters.of(self.codes[members])
        subset = Clusters(chosen.codes, index[self.query[inside]].astype(np.int64), self.document[inside], self.equal, self.tested)
        if sum(len(each) ** 2 for each in self._subsets.values()) + len(subset) ** 2 <= _MOST_REMEMBERED:
            self._subsets[key] = subset
        return subset

    def averaged(self, values: Floats) -> "tuple[Floats, Clusters]":
        """The means (r, clusters) of values (r, q; NaN if unscored) over each cluster, which then are the queries. Unchanged unless `equal`."""
        if not self.equal:
            return values, self
        scored = ~np.isnan(values)
        sums, sizes = (np.asarray(part @ self._members) for part in (np.where(scored, values, 0.0), scored.astype(np.float64)))
        query, document = np.unique(np.array([self.codes[self.query], self.document]), axis=1)
        return np.where(sizes > 0, ratio(sums, sizes), np.nan), replace(
            self, codes=np.arange(sizes.shape[1], dtype=np.int64), query=query, document=document, equal=False
        )

    @cached_property
    def too_many_links(self) -> bool:
        """True if too many queries share documents to compare them all."""
        return int((np.unique(self.document, return_counts=True)[1] ** 2).sum()) > _MOST_LINKS

    @cached_property
    def links(self) -> Any:
        """The queries that share a document, as a symmetric 0-1 matrix (q, q) with a diagonal of 1, or None if these are just the clusters."""
        if not len(self.query) or self.too_many_links or len(np.unique(self.query)) == len(self.query):
            return None
        return scipy.sparse.csr_array((self._holds @ self._holds.T > 0).astype(np.float64))


def weighted(clusters: Clusters, average: Literal["questions", "documents"]) -> Clusters:
    """The clusters for means over `questions` or over `documents`."""
    return replace(clusters, equal=average == "documents")


def query_clusters(labels: Labels) -> Clusters:
    """Find the cluster of each query: the document of its first evidence span.

    Without evidence it is the query's relevant document if it has exactly one, else the query itself. All documents of a query are kept
    beside it, those of its evidence or else the relevant ones: they do not merge clusters, because links would chain (1 and 2 share a
    document, 2 and 3 another), and NFCorpus, with 38 relevant documents per query, would collapse into one cluster.
    """
    clusters = labels.documents + np.arange(labels.queries, dtype=np.int64)
    query, doc = labels.relevant_pairs // labels.documents, labels.relevant_pairs % labels.documents
    alone = labels.relevant_counts[query] == 1
    clusters[query[alone]] = doc[alone]
    with_evidence, first = np.unique(labels.alternative_query, return_index=True)
    clusters[with_evidence] = labels.alternative_doc[first]
    bare = ~np.isin(query, with_evidence)
    pairs = np.concatenate([labels.alternative_query, query[bare]]), np.concatenate([labels.alternative_doc, doc[bare]])
    return Clusters.linked(clusters, _documents(labels.queries, *pairs))


def _documents(queries: int, query: Ints, doc: Ints) -> list[list[int]]:
    documents: list[dict[int, None]] = [{} for _ in range(queries)]
    for index, each in zip(query.tolist(), doc.tolist(), strict=True):
        documents[index][each] = None
    return [list(each) for each in documents]


def alike(scored: Bools) -> Iterator[tuple[Ints, Bools]]:
    """Group the rows of `scored` (r, q) with the same queries, in blocks: the rows' positions and these queries (q)."""
    groups: dict[bytes, list[int]] = {}
    for row, key in enumerate(np.packbits(scored, axis=1)):
        groups.setdefault(key.tobytes(), []).append(row)
    for places in groups.values():
        for block in blocks(len(places), rows(BYTES_A_VALUE * scored.shape[1])):
            yield np.array(places[block], dtype=np.int64), scored[places[0]]


def query_slices(metadata: Sequence[Mapping[str, Any]], queries: int, crossed: Sequence[Sequence[str]] = ()) -> dict[str, Bools]:
    """The members (queries) of `all` and of every `field=value`, with fields in alphabetical order and values as text.

    `crossed` adds the combinations of several fields' values that some query has, such as `type=table&domain=hr`, in the given order of fields.
    A field counts if it has 2 to 20 distinct values, none of them a list or a mapping.
    """
    slices: dict[str, Bools] = {"all": np.ones(queries, dtype=np.bool_)}
    fields = {name: values for name in sorted({name for record in metadata for name in record}) if (values := _members(metadata, name))}
    for values in fields.values():
        slices |= values
    for names in crossed:
        for parts in product(*(fields.get(name, {}).items() for name in names)):
            members = np.logical_and.reduce([chosen for _, chosen in parts])
            if members.any():
                slices["&".join(label for label, _ in parts)] = members
    return slices


def _members(metadata: Sequence[Mapping[str, Any]], name: str) -> dict[str, Bools]:
    """The members (queries) of each value of a field. Empty if it has too few or too many values for slices."""
    values = [record.get(name) for record in metadata]
    if not all(isinstance(value, Hashable) for value in values):
        return {}
    texts = np.array(["" if value is None else str(value) for value in values])
    distinct = [text for text in np.unique(texts).tolist() if text]
    # Questions of users are a slice also if the others do not say where they come from.
    fewest = 1 if name == SOURCE and distinct == [PRODUCTION] and (texts == "").any() else FEWEST_VALUES
    return {f"{name}={text}": texts == text for text in distinct} if fewest <= len(distinct) <= MOST_VALUES else {}
