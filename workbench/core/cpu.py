"""The cores and threads that this process may use."""

import os


def usable_cores() -> int:
    """The cores that this process may use, also in a container that is limited to some of them."""
    from joblib import cpu_count

    return int(cpu_count())


def requested_threads() -> int | None:
    """The threads that OMP_NUM_THREADS requests; None if it is not a positive number."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return int(threads) if threads.isdecimal() and int(threads) > 0 else None
