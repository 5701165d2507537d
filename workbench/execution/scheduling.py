"""Choose between this process and Dask workers."""

from functools import partial

from workbench.errors import InputError
from workbench.execution.local import Precompute


def on_workers(jobs: int | None, scheduler: str | None) -> Precompute | None:
    """Return a function that precomputes missing results on Dask workers, or None if neither is given. Raises InputError for both."""
    if scheduler is not None and not scheduler.strip():
        raise InputError("the scheduler's address is empty", "give one such as tcp://host:8786, or leave it out")
    if jobs and scheduler:
        raise InputError("jobs and scheduler cannot be combined", "leave one of them out")
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}", "give 1 or more")
    if not (jobs or scheduler):
        return None
    # Deferred: Dask is an optional dependency.
    from workbench.execution.dask.precompute import precompute

    return partial(precompute, jobs=jobs, scheduler=scheduler)
