"""When to make a failed request again: exponential back-off with full jitter, or the time that the server names."""

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

# A server that names a longer time is not waited for.
LONGEST_WAIT = 120.0
_FACTOR = 4.0
_FIRST, _LARGEST = 0.1, 30.0
# A server that limits the rate, or is overloaded, needs longer than one that failed once.
_FIRST_OF_A_BUSY_SERVER = 1.0
_BUSY = (429, 503, 529)
_RETRIED = (408, 409, 429)


def worth_retrying(status: int) -> bool:
    """Return True if a request with this HTTP status may succeed later."""
    return status in _RETRIED or status >= 500


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in `Retry-After`, a number or a date, or in `retry-after-ms`; None without a time."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            seconds = float(milliseconds) / 1000
        else:
            seconds = _seconds(headers.get("retry-after", ""))
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())


def back_off(tries: int, status: int | None, requested: float | None) -> float:
    """Return the seconds to wait after a number of failed tries, from 1.

    Full jitter: a random share of 0.1, 0.4, 1.6, … seconds (1, 4, 16, … after a rate limit), at most 30, so that calls that failed together
    are not repeated together. A requested wait is obeyed, with up to a tenth more.

    References
    ----------
    Brooker (2015), Exponential Backoff And Jitter, AWS Architecture Blog.
    """
    if requested is not None:
        return requested * (1 + random.random() / 10)
    first = _FIRST_OF_A_BUSY_SERVER if status in _BUSY else _FIRST
    return random.random() * min(_LARGEST, first * _FACTOR ** (tries - 1))
