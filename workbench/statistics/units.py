"""What counts as one observation: a source document with all its questions or, where documents are few, a question."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.metrics.coverage import Ints

FEWEST_CLUSTERS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The unit of each query, numbered from 0: `codes` (q); `clusters` is the number of source documents they come from.

    `conditional` says that queries of one document were taken for separate observations because there are too few documents: what is
    inferred then holds over questions of these documents only, and says nothing about others.
    """

    codes: Ints
    clusters: int
    conditional: bool

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.codes.max(initial=-1)) + 1


def units(clusters: npt.ArrayLike) -> Units:
    """The units of inference for queries in `clusters` (q): the cluster from 10 distinct ones on, else each query alone.

    The variance between fewer than about 10 clusters cannot be estimated well enough for an interval to keep its promise (Cameron and
    Miller 2015, section VI). Taking those documents as given, only the choice of questions is left to chance, and that is between queries.
    """
    names = np.asarray(clusters)
    codes = np.unique(names, return_inverse=True)[1].astype(np.int64)
    distinct = int(codes.max(initial=-1)) + 1
    if distinct >= FEWEST_CLUSTERS or distinct == len(names):
        return Units(codes, distinct, False)
    return Units(np.arange(len(names), dtype=np.int64), distinct, True)
