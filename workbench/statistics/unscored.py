"""Changes that unscored questions could make to a verdict, whatever their values are."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.verdict import Reason, Verdict

Judge = Callable[[Mapping[str, Floats]], Verdict]


def with_unscored(
    found: Verdict, values: Mapping[str, Floats], unscored: Mapping[str, Bools], judge: Judge, bounds: tuple[float, float]
) -> Verdict:
    """Add to the tie set every configuration that would be in it if the unscored values were those most favourable to it.

    A configuration could otherwise win by having no value for the questions on which it is worse. The values (q) of the configurations are NaN
    where they are `unscored` (q). `judge` gives the verdict on other values. `bounds` are the worst and the best possible value.

    References
    ----------
    Horowitz and Manski (2000), Nonparametric analysis of randomized experiments with missing covariate and outcome data, JASA 95.
    """
    if found.reason is Reason.DRAFTS or not any(unscored[name].any() for name in found.ranked):
        return found
    outside = [name for name in found.ranked if name not in found.best]
    possible = {name for name in outside if name in judge(_favourable(name, values, unscored, bounds)).best}
    if not possible:
        return found
    best = tuple(name for name in found.ranked if name in {*found.best, *possible})
    reason = Reason.MISSING if found.reason in (None, Reason.IDENTICAL) else found.reason
    behind = tuple(name for name in found.behind if name not in possible)
    return replace(found, best=best, behind=behind, winner=None, reason=reason)


def _favourable(
    favoured: str, values: Mapping[str, Floats], unscored: Mapping[str, Bools], bounds: tuple[float, float]
) -> Mapping[str, Floats]:
    """Return the values with the best possible one for the unscored questions of a configuration, and the worst for those of the others."""
    worst, best = bounds
    return {name: np.where(unscored[name], best if name == favoured else worst, row) for name, row in values.items()}
