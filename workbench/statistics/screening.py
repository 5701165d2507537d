"""What a cheap proxy may put aside before the rest is run in full."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.metrics.coverage import Floats
from workbench.statistics.comparison import paired_difference

# What is allowed for the proxy, in the units of a metric between 0 and 1: with it the true best was kept in 95 % of draws on the sets that
# it was chosen on (docs/statistics.md).
MARGIN = 0.02
_NONE = (float("nan"),) * 3


@dataclass(frozen=True, slots=True)
class Screened:
    """A configuration by its proxy: the mean `value`, its `difference` to the `first` it was held against, with the interval, and the fate.

    `difference` is in the metric's own direction; it and its bounds are NaN where there is nothing to hold it against. `proxy` names what
    it was screened by.
    """

    configuration: str
    proxy: str
    value: float
    first: str
    difference: float
    low: float
    high: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Screening:
    """Which configurations were put aside, by `metric` on `queries` of the `of` questions that have an answer.

    `rows` are all configurations in the experiment's order. `margin` is what was allowed for the proxy, `alike` are groups of
    configurations that it cannot tell apart.
    """

    metric: str
    queries: int
    of: int
    margin: float
    seed: int
    rows: tuple[Screened, ...]
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def dropped(self) -> tuple[Screened, ...]:
        """Those put aside, in the experiment's order."""
        return tuple(row for row in self.rows if not row.kept)

    @property
    def proxies(self) -> tuple[str, ...]:
        """What those that were put aside were screened by; what all were, where none was."""
        return tuple(dict.fromkeys(row.proxy for row in self.dropped or self.rows))

    @property
    def about(self) -> dict[str, Any]:
        """For the manifest."""
        about = {"metric": self.metric, "proxies": list(self.proxies), "queries": self.queries, "of": self.of, "margin": self.margin}
        return about | {"seed": self.seed, "alike": self.alike, "dropped": [row.configuration for row in self.dropped]}

    def as_json(self) -> dict[str, Any]:
        """Everything; None stands for NaN, which JSON lacks."""
        rows = [{name: None if value != value else value for name, value in asdict(row).items()} for row in self.rows]
        return asdict(self) | {"rows": rows}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> "Screening":
        """What `as_json` wrote."""
        told: list[dict[str, Any]] = [
            {name: float("nan") if value is None else value for name, value in row.items()} for row in found["rows"]
        ]
        rows = tuple(Screened(**row) for row in told)
        return cls(**(dict(found) | {"rows": rows, "alike": tuple(tuple(names) for names in found["alike"])}))


def screened(
    values: Mapping[str, npt.ArrayLike],
    clusters: npt.ArrayLike,
    *,
    proxies: Mapping[str, str],
    margin: float = MARGIN,
    spared: Collection[str] = (),
    never_first: Collection[str] = (),
    higher_is_better: bool = True,
) -> list[Screened]:
    """The fate of configurations by name, each with its proxy's values (q, NaN where unscored) of the same queries in `clusters` (q).

    Left out is one whose whole interval lies more than `margin` behind the one with the best mean, unless it is `spared`. The intervals
    are those of the verdict's differences: clustered, paired, 95 % each. Those `never_first` are held against the first and are never
    it. InputError where no configuration has a value.
    """
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    means = {name: float(np.nanmean(row)) for name, row in rows.items() if not np.isnan(row).all()}
    if not means:
        raise InputError("no configuration has a value for any query", "there is nothing to screen")
    sign = 1.0 if higher_is_better else -1.0
    first = max((name for name in means if name not in never_first), key=lambda name: sign * means[name], default="")
    found = []
    for name, row in rows.items():
        difference, low, high = _apart(row, rows[first], clusters) if first not in ("", name) else _NONE
        # A bound that is NaN leaves nothing out.
        behind = (high if higher_is_better else -low) < -margin
        found.append(
            Screened(name, proxies.get(name, ""), means.get(name, np.nan), first, difference, low, high, name in spared or not behind)
        )
    return found


def _apart(one: Floats, first: Floats, clusters: npt.ArrayLike) -> tuple[float, float, float]:
    if np.isnan(one + first).all():
        return _NONE
    found = paired_difference(one, first, clusters)
    return found.value, found.low, found.high
