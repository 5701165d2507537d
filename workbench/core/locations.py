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


def find_upwards(path: str | Path) -> Path | None:
    """A relative path looked for in the working directory, then in each of its parents; None where it is nowhere."""
    given = Path(path).expanduser()
    folders = [Path(), *Path.cwd().parents] if not given.is_absolute() else [Path()]
    return next((folder / given for folder in folders if (folder / given).exists()), None)
