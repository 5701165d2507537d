"""Compare all pairs of configurations on the queries that both have a value for, many pairs at once."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from workbench.core.batching import blocks, rows
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.clusters import BYTES_A_VALUE
from workbench.statistics.intervals import by_unit, robust, t_quantile


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Differences a - b of p pairs of configurations at the positions `a` and `b` (p), with a < b.

    `mean`, its clustered standard error `error` (NaN if the difference does not vary) with `freedom`, over `n` queries in
    `clusters` documents, all (p). `sums` (p, units) are the sums of differences of each unit, all 0 for `identical` pairs.
    """

    a: Ints
    b: Ints
    mean: Floats
    error: Floats
    freedom: Floats
    n: Ints
    clusters: Ints
    sums: Floats
    identical: Bools

    @property
    def t_p(self) -> Floats:
        """Two-sided p of the clustered paired t test. Shape (p,), 1 for identical pairs, NaN if the difference does not vary."""
        ratio = np.divide(np.abs(self.mean), self.error, out=np.full(len(self.mean), np.nan), where=~np.isnan(self.error))
        return np.where(self.identical, 1.0, 2 * stats.t.sf(ratio, self.freedom))

    @property
    def half_width(self) -> Floats:
        """Half the width of the clustered t interval. Shape (p,), 0 for identical pairs, NaN for one query or a constant difference."""
        return np.where(self.identical & (self.n > 1), 0.0, t_quantile(self.freedom) * self.error)


def all_pairs(values: Floats, codes: Ints, documents: Ints) -> Pairs:
    """Every pair of the configurations in `values` (c, q; NaN if unscored), for queries in units `codes` (q) and `documents` (q)."""
    a, b = np.triu_indices(len(values), 1)
    # Make one block even without pairs, for arrays of the right shape.
    parts = blocks(max(1, len(a)), rows(BYTES_A_VALUE * values.shape[1]))
    computed = [_columns(values[a[part]] - values[b[part]], codes, documents) for part in parts]
    columns = [np.concatenate(column) for column in zip(*computed, strict=True)]
    return Pairs(a.astype(np.int64), b.astype(np.int64), *columns)


def _columns(differences: Floats, codes: Ints, documents: Ints) -> tuple[Floats, Floats, Floats, Ints, Ints, Floats, Bools]:
    means = robust(differences, codes)
    clusters = (by_unit((~np.isnan(differences)).astype(np.float64), documents) > 0).sum(axis=1).astype(np.int64)
    identical = (np.nan_to_num(differences) == 0).all(axis=1)
    return means.mean, means.error, means.freedom, means.n, clusters, means.sums, identical
