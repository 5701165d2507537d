"""Where things are outside an experiment: big data sets and the cache of downloads."""

import os
from pathlib import Path


def data_folder() -> Path:
    """The folder of the big data sets: WORKBENCH_DATA, else ../shared/data."""
    return Path(os.environ.get("WORKBENCH_DATA", "../shared/data"))


def cache_folder() -> Path:
    """The folder of downloads: WORKBENCH_CACHE, else the user's cache."""
    return Path(os.environ.get("WORKBENCH_CACHE", Path.home() / ".cache" / "workbench"))


def expand(path: str) -> Path:
    """A path with `~` and `$WORKBENCH_DATA` filled in, the latter also where it is not set."""
    filled = path.replace("${WORKBENCH_DATA}", "$WORKBENCH_DATA").replace("$WORKBENCH_DATA", str(data_folder()))
    return Path(os.path.expandvars(filled)).expanduser()
