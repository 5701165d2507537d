"""The environment of this process: cores, threads, folders and installed packages."""

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from string import Template

# On PyPI the name `workbench` belongs to another package; the import name is workbench.
NAME = "rag-workbench"


def advice(*extras: str) -> str:
    """The command that installs the package with some of its extras."""
    return f"pip install '{NAME}[{','.join(extras)}]'"


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def usable_cores() -> int:
    """The cores that this process may use, also in a container that is limited to some of them."""
    from joblib import cpu_count

    return int(cpu_count())


def requested_threads() -> int | None:
    """The threads that OMP_NUM_THREADS requests; None if it is not a positive number."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return int(threads) if threads.isdecimal() and int(threads) > 0 else None


def skip_schema_grammar() -> None:
    """Make jsonschema skip rfc3987_syntax, whose grammar takes most of the import time of papermill, nbconvert and chromadb.

    Nothing in Jupyter's schemas needs it, but another host of Workbench may: only the main functions of Workbench's processes call this.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None marks a module as absent, which typeshed does not know


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
