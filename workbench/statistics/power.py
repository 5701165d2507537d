"""How many questions would tell two configurations apart."""

import math

from statsmodels.stats.power import TTestPower

MOST_QUERIES = 100_000
POWER, ALPHA = 0.8, 0.05
# Six queries find an effect of 1.5 standard deviations.
_FEWEST, _LARGE = 6, 1.5
_NORMAL = 2.8016  # the quantiles of .975 and .8 added up


def queries_needed(difference: float, error: float, n: int) -> int | None:
    """The number of queries at which a true difference of this size is found with 80 % power by a two-sided paired t test at 5 %.

    The effect is d / sd, where sd = `error` · √n holds the design effect of clustering, `error` being the clustered standard error of
    the difference over `n` queries. More than 100,000 is given as 100,001. None where there is no difference, or none to measure it by.
    """
    if difference == 0 or not math.isfinite(error) or error <= 0 or n < 2:
        return None
    effect = abs(difference) / (error * math.sqrt(n))
    if effect >= _LARGE:
        return _FEWEST
    # The normal approximation, which the t distribution exceeds by about two queries.
    if (_NORMAL / effect) ** 2 > MOST_QUERIES:
        return MOST_QUERIES + 1
    found = TTestPower().solve_power(effect_size=effect, alpha=ALPHA, power=POWER, alternative="two-sided")
    return min(math.ceil(float(found)), MOST_QUERIES + 1)


def needed_text(count: int | None) -> str:
    """The number as it is said: `1,240`, `more than 100,000`, or `unknown`."""
    if count is None:
        return "unknown"
    return f"more than {MOST_QUERIES:,}" if count > MOST_QUERIES else f"{count:,}"
