"""Group queries by source document, for inference, and by metadata, for slices."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.core.batching import blocks, rows
from workbench.metrics.coverage import Bools, Ints
from workbench.metrics.inputs import Labels

FEWEST_CLUSTERS = 10
FEWEST_VALUES, MOST_VALUES = 2, 20
# A value and its square.
BYTES_A_VALUE = 16


def query_clusters(labels: Labels) -> Ints:
    """Find the cluster of each query: the document of its first evidence span. Shape (queries,).

    Without evidence it is the query's relevant document if it has exactly one, else the query itself. Multiple relevant documents
    do not link queries: links would chain (1 and 2 share a document, 2 and 3 another), and NFCorpus, with 38 relevant documents per
    query, would collapse into one cluster. Documents keep their position, and single queries follow the last document.
    """
    clusters = labels.documents + np.arange(labels.queries, dtype=np.int64)
    query, doc = labels.relevant_pairs // labels.documents, labels.relevant_pairs % labels.documents
    alone = labels.relevant_counts[query] == 1
    clusters[query[alone]] = doc[alone]
    with_evidence, first = np.unique(labels.alternative_query, return_index=True)
    clusters[with_evidence] = labels.alternative_doc[first]
    return clusters


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The unit of each query, numbered from 0: `codes` (q); `clusters` is the number of source documents they come from.

    `conditional`: there are too few documents, so each query is a unit and inference only covers questions on these documents.
    """

    codes: Ints
    clusters: int
    conditional: bool

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.codes.max(initial=-1)) + 1


def units(clusters: npt.ArrayLike) -> Units:
    """Choose the units of inference for queries in `clusters` (q): clusters if at least 10 are distinct, else single queries.

    With fewer than about 10 clusters the variance estimate is too poor for an interval to keep its nominal coverage (Cameron and
    Miller 2015, section VI). Given those documents, only the choice of questions is random, so the variance is between queries.
    """
    names = np.asarray(clusters)
    codes = np.unique(names, return_inverse=True)[1].astype(np.int64)
    distinct = int(codes.max(initial=-1)) + 1
    if distinct >= FEWEST_CLUSTERS or distinct == len(names):
        return Units(codes, distinct, False)
    return Units(np.arange(len(names), dtype=np.int64), distinct, True)


def alike(scored: Bools) -> Iterator[tuple[Ints, Bools]]:
    """Group the rows of `scored` (r, q) with the same queries, in blocks: the rows' positions and these queries (q)."""
    groups: dict[bytes, list[int]] = {}
    for row, key in enumerate(np.packbits(scored, axis=1)):
        groups.setdefault(key.tobytes(), []).append(row)
    for places in groups.values():
        for block in blocks(len(places), rows(BYTES_A_VALUE * scored.shape[1])):
            yield np.array(places[block], dtype=np.int64), scored[places[0]]


def query_slices(metadata: Sequence[Mapping[str, Any]], queries: int) -> dict[str, Bools]:
    """The members (queries) of `all` and of every `field=value`, with fields in alphabetical order and values as text."""
    slices: dict[str, Bools] = {"all": np.ones(queries, dtype=np.bool_)}
    for field in sorted({field for record in metadata for field in record}):
        values = [record.get(field) for record in metadata]
        if not all(isinstance(value, Hashable) for value in values):
            continue
        texts = np.array(["" if value is None else str(value) for value in values])
        distinct = [text for text in np.unique(texts).tolist() if text]
        if FEWEST_VALUES <= len(distinct) <= MOST_VALUES:
            slices.update({f"{field}={text}": texts == text for text in distinct})
    return slices
