"""The folders outside an experiment: big data sets and the cache of downloads."""

import os
from pathlib import Path
from string import Template


def data_folder() -> Path:
    """The folder of the big data sets: WORKBENCH_DATA, else ../shared/data."""
    return Path(os.environ.get("WORKBENCH_DATA", "../shared/data"))


def cache_folder() -> Path:
    """The folder of downloads: WORKBENCH_CACHE, else the user's cache."""
    return Path(os.environ.get("WORKBENCH_CACHE", Path.home() / ".cache" / "workbench"))


def expand(path: str) -> Path:
    """Fill in `~` and the environment's variables of a path; `$WORKBENCH_DATA` has a default."""
    return Path(Template(path).safe_substitute(os.environ | {"WORKBENCH_DATA": str(data_folder())})).expanduser()


def find_upwards(path: str | Path) -> Path | None:
    """Find a relative path in the working directory or the nearest of its parents; None if none of them has it."""
    candidates = (folder / Path(path).expanduser() for folder in (Path(), *Path.cwd().parents))
    return next((candidate for candidate in candidates if candidate.exists()), None)
