"""Decide by cheap proxies which configurations are too far behind to run in full."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import paired_difference

# The allowance for the proxy, in units of a metric between 0 and 1. It kept the true best in 95 % of draws on the datasets used to
# choose it (docs/statistics.md).
MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class ScreenedConfiguration:
    """A configuration by `proxy`: the mean `value`, the `difference` from the `first` configuration with its interval, and the outcome.

    `difference` is in the metric's direction. It and its bounds are NaN for the first itself, and if no question has both values.
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
    """The result of a screening by `metric` on `queries` of the `of` questions that have an answer.

    `rows` are all configurations in the experiment's order, `margin` is the allowance for the proxy, `alike` groups those that share one.
    """

    metric: str
    queries: int
    of: int
    margin: float
    seed: int
    rows: tuple[ScreenedConfiguration, ...]
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def dropped(self) -> tuple[ScreenedConfiguration, ...]:
        """The configurations that were screened out, in the experiment's order."""
        return tuple(row for row in self.rows if not row.kept)

    @property
    def proxies(self) -> tuple[str, ...]:
        """The proxies of the configurations that were screened out, or of all if none was."""
        return tuple(dict.fromkeys(row.proxy for row in self.dropped or self.rows))

    @property
    def manifest_entry(self) -> dict[str, Any]:
        """The entry in the manifest."""
        entry = {"metric": self.metric, "proxies": list(self.proxies), "queries": self.queries, "of": self.of, "margin": self.margin}
        return entry | {"seed": self.seed, "alike": self.alike, "dropped": [row.configuration for row in self.dropped]}

    def as_json(self) -> dict[str, Any]:
        """Convert all fields for JSON, with NaN as None."""
        rows = [{name: None if value != value else value for name, value in asdict(row).items()} for row in self.rows]
        return asdict(self) | {"rows": rows}

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> "Screening":
        """Read the output of `as_json`."""
        rows: list[dict[str, Any]] = [{name: np.nan if value is None else value for name, value in row.items()} for row in fields["rows"]]
        alike = tuple(map(tuple, fields["alike"]))
        return cls(**{**fields, "rows": tuple(ScreenedConfiguration(**row) for row in rows), "alike": alike})


def screened(
    values: Mapping[str, npt.ArrayLike],
    clusters: Clusters | npt.ArrayLike,
    *,
    proxies: Mapping[str, str],
    margin: float = MARGIN,
    spared: Collection[str] = (),
    never_first: Collection[str] = (),
    higher_is_better: bool = True,
) -> list[ScreenedConfiguration]:
    """Screen configurations by name, from their proxies' values (q, NaN if unscored) for the same queries in `clusters` (q).

    A configuration is dropped if its whole interval is more than `margin` behind the best mean, unless it is `spared`.
    Intervals are computed like the verdict's: clustered, paired, 95 % each. A configuration in `never_first` is compared
    with the first but cannot be it. Raises InputError if no configuration has a value.
    """
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    means = {name: float(np.nanmean(row)) for name, row in rows.items() if not np.isnan(row).all()}
    if not means:
        raise InputError("no configuration has a value for any query", "there is nothing to screen")
    sign = 1.0 if higher_is_better else -1.0
    first = max((name for name in means if name not in never_first), key=lambda name: sign * means[name], default="")
    outcomes = []
    for name, row in rows.items():
        difference = low = high = np.nan
        if first not in ("", name) and not np.isnan(row + rows[first]).all():
            gap = paired_difference(row, rows[first], clusters)
            difference, low, high = gap.value, gap.low, gap.high
        # A NaN bound drops nothing.
        kept = name in spared or not (high if higher_is_better else -low) < -margin
        outcomes.append(ScreenedConfiguration(name, proxies.get(name, ""), means.get(name, np.nan), first, difference, low, high, kept))
    return outcomes
