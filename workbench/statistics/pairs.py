"""All pairs of configurations on the queries that both have a value for, many pairs at once."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.robust import by_unit, robust

# How many values are held at once.
_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Differences a - b of p pairs of configurations, `a` and `b` being their positions (p), every a before its b.

    `mean`, its clustered standard error `error` (NaN where the difference does not vary) with `freedom`, over `n` queries in so many
    `clusters`, all (p). `sums` (p, units) are the sums of the differences of each unit; they are all 0 where the pair is `identical`.
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
        """(p) two-sided p of the clustered paired t test; 1 for identical pairs, NaN where the difference does not vary."""
        ratio = np.divide(np.abs(self.mean), self.error, out=np.full(len(self.mean), np.nan), where=~np.isnan(self.error))
        return np.where(self.identical, 1.0, 2 * stats.t.sf(ratio, self.freedom))

    def half_width(self, level: float) -> Floats:
        """(p) half the width of the clustered t interval; 0 for identical pairs, NaN for one query or where the difference does not vary."""
        return np.where(self.identical & (self.n > 1), 0.0, stats.t.ppf((1 + level) / 2, self.freedom) * self.error)


def all_pairs(values: Floats, codes: Ints, documents: Ints) -> Pairs:
    """Every pair of the configurations in `values` (c, q; NaN where unscored), for queries in units `codes` (q) and `documents` (q)."""
    a, b = np.triu_indices(len(values), 1)
    rows = max(1, _BLOCK // max(1, values.shape[1]))
    blocks = [slice(start, start + rows) for start in range(0, max(1, len(a)), rows)]
    found = [_rows(values[a[part]] - values[b[part]], codes, documents) for part in blocks]
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    return Pairs(a.astype(np.int64), b.astype(np.int64), *columns)


def _rows(differences: Floats, codes: Ints, documents: Ints) -> tuple[Floats, Floats, Floats, Ints, Ints, Floats, Bools]:
    found = robust(differences, codes)
    clusters = (by_unit((~np.isnan(differences)).astype(np.float64), documents) > 0).sum(axis=1).astype(np.int64)
    identical = ~(np.nan_to_num(differences) != 0).any(axis=1)
    return found.mean, found.error, found.freedom, found.n, clusters, found.sums, identical
