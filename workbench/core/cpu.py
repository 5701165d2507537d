"""How many threads and processes this process may keep busy."""

import os


def usable() -> int:
    """The cores that this process may use, also in a container with a share of them."""
    from joblib import cpu_count

    return int(cpu_count())


def asked() -> int | None:
    """The threads that OMP_NUM_THREADS asks for, as for BLAS; None where it says nothing."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return int(threads) if threads.isdecimal() and int(threads) > 0 else None
