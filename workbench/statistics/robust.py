"""The standard error of means of clustered values, and its degrees of freedom, for many rows of values at once."""

from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Bools, Floats, Ints

# Rounding leaves a standard error of this order, relative to the largest value, of values that do not vary.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Robust:
    """Means of r rows of values: `mean`, `error` (NaN without variance), `freedom`, `n`, `sums` (r, units) of each unit."""

    mean: Floats
    error: Floats
    freedom: Floats
    n: Ints
    sums: Floats


def robust(values: Floats, codes: Ints) -> Robust:
    """CR2: SE² = Σ over units g of (Σ residuals in g)² / (1 - h_g) / n², where h_g = n_g / n (Bell and McCaffrey 2002).

    `values` (r, q) are NaN where unscored, `codes` (q) number the units from 0 without gaps. With units of one size it is CR1, with
    one query a unit the ordinary standard error. A row without a value has the mean NaN.
    """
    scored = ~np.isnan(values)
    known = np.where(scored, values, 0.0)
    sizes, sums = by_unit(scored.astype(np.float64), codes), by_unit(known, codes)
    n = sizes.sum(axis=1)
    whole = np.maximum(n, 1)[:, None]
    mean = sums.sum(axis=1, keepdims=True) / whole
    share, residuals = sizes / whole, sums - sizes * mean
    squares = (np.where(scored, known - mean, 0.0) ** 2).sum(axis=1)
    several = (share < 1).all(axis=1) & (n > 1)
    weights = 1 / np.where(share < 1, 1 - share, 1)
    error = np.sqrt((weights * residuals**2).sum(axis=1)) / whole[:, 0]
    visible = several & (error > _ROUNDING * np.abs(known).max(axis=1, initial=0))
    freedom = satterthwaite(sizes, _correlation(residuals, squares, sizes), several)
    return Robust(np.where(n > 0, mean[:, 0], np.nan), np.where(visible, error, np.nan), freedom, n.astype(np.int64), sums)


def by_unit(values: Floats, codes: Ints) -> Floats:
    """(r, units) the sums of values (r, q) over the queries of each unit."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sums: Floats = np.add.reduceat(values[:, order], starts, axis=1)
    return sums


def satterthwaite(sizes: Floats, correlation: Floats, several: Bools) -> Floats:
    """(r) the degrees of freedom (Σ λ)² / Σ λ² of the CR2 variance, for units of `sizes` (r, units) (Imbens and Kolesár 2016).

    The λ are the eigenvalues of the covariance of the units' weighted residual sums, M_gj = a_g a_j (δ_gj v_g - h_g v_j - h_j v_g +
    h_g h_j V), with a_g² = 1 / (1 - h_g), v_g = n_g (1 + (n_g - 1) ρ) and V = Σ v_g. The traces of M and M² are written out, so no
    matrix is made. Units of one size have their number - 1; with one unit (not `several`) it is 1.
    """
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    weights = 1 / np.where(share < 1, 1 - share, 1)
    v = sizes * (1 + np.maximum(sizes - 1, 0) * correlation[:, None])
    whole = v.sum(axis=1, keepdims=True)
    diagonal, crossed = v * (1 - 2 * share) + share**2 * whole, 2 * share * v - share**2 * whole
    a, b, c = ((weights * part).sum(axis=1) for part in (share**2, share * v, v**2))
    squared = 2 * a * c + 2 * b**2 + (whole[:, 0] * a) ** 2 - 4 * whole[:, 0] * a * b
    squared += (weights**2 * (diagonal**2 - crossed**2)).sum(axis=1)
    trace = (weights * diagonal).sum(axis=1)
    return np.where(several, trace**2 / np.where(several, squared, 1), 1.0)


def _correlation(residuals: Floats, squares: Floats, sizes: Floats) -> Floats:
    """(r) the correlation of values within a unit by the method of moments, in [0, 1]; 1 where nothing varies."""
    pairs = (sizes * (sizes - 1)).sum(axis=1)
    variance = squares / np.maximum(sizes.sum(axis=1), 1)
    together = ((residuals**2).sum(axis=1) - squares) / np.maximum(pairs, 1)
    found = np.divide(together, variance, out=np.ones_like(variance), where=variance > 0)
    clipped: Floats = np.clip(found, 0, 1)
    return clipped
