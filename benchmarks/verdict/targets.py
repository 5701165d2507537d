"""The targets of the verdict's error rates, and the figures that miss them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

# A figure misses its target if it is further off than this number of standard errors.
_ERRORS = 3.0


@dataclass(frozen=True)
class Target:
    """The `bound` of a rate, called `heading` in tables: a least rate, or a greatest one."""

    heading: str
    bound: float
    least: bool = False

    def missed(self, rate: float, runs: int) -> bool:
        """Return True if a rate over `runs` misses the target by more than chance explains."""
        off = self.bound - rate if self.least else rate - self.bound
        return off > _ERRORS * math.sqrt(self.bound * (1 - self.bound) / runs)

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.bound:.2f}"


TARGETS: Mapping[str, Target] = {
    "false_winner": Target("false winner", 0.05),
    "excluded": Target("a best excluded", 0.05),
    "behind": Target("a best behind", 0.05),
    "false_pair": Target("false pair", 0.05),
    "leader": Target("leader's interval", 0.94, least=True),
    "beside": Target("differences beside it", 0.94, least=True),
    "each": Target("each of them", 0.94, least=True),
    "plain": Target("plain difference", 0.93, least=True),
}
