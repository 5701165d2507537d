"""A mean with its interval as a small bar in a table's cell, all bars of a column on one scale."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from workbench.core.formatting import number

# A small difference must not look like a large one.
_LEAST_SPAN = 0.2


@dataclass(frozen=True)
class Bar:
    """Where a value and its bounds lie, in per cent of the cell; the bounds are those of the value where there are none."""

    low: str
    value: str
    high: str
    zero: str = ""


@dataclass(frozen=True)
class Scale:
    """From `low` to `high` over the width of a cell."""

    low: float
    high: float

    @classmethod
    def over(cls, numbers: Iterable[float], *, zero: bool = False) -> "Scale":
        """The scale that holds all finite numbers, and zero where that is asked for."""
        known = [one for one in numbers if np.isfinite(one)] + ([0.0] if zero else [])
        low, high = min(known, default=0.0), max(known, default=1.0)
        missing = max(0.0, _LEAST_SPAN - (high - low)) / 2
        return cls(low - missing, high + missing)

    def bar(self, value: float, low: float, high: float, *, zero: bool = False) -> Bar | None:
        """The bar of a value; None where there is no value."""
        if not np.isfinite(value):
            return None
        bounds = (low, high) if np.isfinite(low) and np.isfinite(high) else (value, value)
        return Bar(self._at(bounds[0]), self._at(value), self._at(bounds[1]), self._at(0.0) if zero else "")

    def told(self) -> str:
        """Both ends, for a heading."""
        return f"{number(self.low, 2)} to {number(self.high, 2)}"

    def _at(self, number_: float) -> str:
        # Half a marker's width stays free on both sides.
        return f"{4 + 92 * (number_ - self.low) / (self.high - self.low):.1f}%"
