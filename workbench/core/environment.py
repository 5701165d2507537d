"""The environment of this process: cores, threads, folders and installed packages."""

import getpass
import ipaddress
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from string import Template
from urllib.parse import unquote, urlsplit

from workbench.core.errors import InputError, ModelError

# While it is set, Python does not import modules of the working directory in place of others (`python -P`).
SAFE_PATH = "PYTHONSAFEPATH"
# On PyPI, `workbench` is another package; only the import name is workbench.
NAME = "rag-workbench"
# The extra that installs a package, by the name under which it is imported. The core needs none of them.
EXTRAS: Mapping[str, str] = {
    module: extra
    for extra, modules in {
        "sweep": "bm25s chromadb joblib psutil sentence_transformers Stemmer tokenizers torch transformers huggingface_hub",
        "lab": "anywidget ipykernel IPython ipywidgets jupyter_client jupyter_core jupyterlab nh3 papermill traitlets",
        "fast": "openvino",
        "cl100k": "bpe_openai",
        "chunkers": "chonkie langchain_text_splitters",
        "openai": "openai",
        "anthropic": "anthropic",
        "documents": "bs4 charset_normalizer lxml mammoth nbformat pptx pypdfium2 simplemma",
        "targets": "google.protobuf mcp opentelemetry.proto",
        "local": "xllamacpp",
        "cluster": "dask distributed fsspec",
    }.items()
    for module in modules.split()
}
# Packages that are imported under another name.
_PACKAGES = {"bs4": "beautifulsoup4", "pptx": "python-pptx", "Stemmer": "pystemmer", "google.protobuf": "protobuf"}


@contextmanager
def modules_of_working_directory_ignored() -> Iterator[None]:
    """Start processes of Python in the context without the working directory among the places of modules, as it may be a folder from elsewhere."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def advice(*extras: str) -> str:
    """Return the command that installs the package with some of its extras, from the file or folder that it was installed from."""
    named = f"{_origin()}[{','.join(extras)}]"
    return f"pip install {shlex.quote(named)}"


@cache
def _origin() -> str:
    """The local file or folder that the package was installed from (PEP 610), as an index may not have the version. Its name otherwise."""
    with suppress(PackageNotFoundError, ValueError):
        origin = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
        # On Windows, a drive follows the slash.
        place = Path(re.sub("^/(?=[A-Za-z]:)", "", unquote(urlsplit(origin.get("url", "")).path)))
        if origin.get("url", "").startswith("file:") and not origin.get("dir_info", {}).get("editable") and place.exists():
            return str(place)
    return NAME


def missing_package(*modules: str, extra: str = "") -> tuple[str, str] | None:
    """Return the package of the first of these modules that is not installed, and the command that installs its extra. None if all are."""
    absent = next((module for module in modules if not _is_installed(module)), None)
    return None if absent is None else (_PACKAGES.get(absent, absent.replace("_", "-")), advice(extra or EXTRAS[absent]))


def require_installed(owner: str, *modules: str, extra: str = "") -> None:
    """Raise ModelError, with the command that installs the extra, if one of the modules that `owner` needs is not installed."""
    if absent := missing_package(*modules, extra=extra):
        raise ModelError(f"{owner} needs {absent[0]}", absent[1])


def of_extra(extra: str) -> tuple[str, ...]:
    """Return the modules of an extra."""
    return tuple(module for module, name in EXTRAS.items() if name == extra)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def is_local(address: str) -> bool:
    """Return True if an address is on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # A resolver decides on other names under .localhost.
        return host == "localhost"


def login() -> str:
    """Return the name of the person who is logged in. Raises InputError if the login has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("the login has no name", 'write your name: annotator="ann"') from None


def usable_cores() -> int:
    """Return how many cores this process may use, which a container can limit."""
    from joblib import cpu_count

    return int(cpu_count())


def requested_threads() -> int | None:
    """Return the number of threads in OMP_NUM_THREADS, or None if it is not a positive number."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return int(threads) if threads.isdecimal() and int(threads) > 0 else None


def skip_schema_grammar() -> None:
    """Make jsonschema skip rfc3987_syntax, whose grammar takes most of the import time of papermill, nbconvert and chromadb.

    Nothing in Jupyter's schemas needs the grammar, but a program that imports Workbench may, so only Workbench's main functions call this.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None marks a module as absent, which typeshed does not know


def data_folder() -> Path:
    """Return the folder of large datasets: WORKBENCH_DATA, or ../shared/data by default."""
    return Path(os.environ.get("WORKBENCH_DATA", "../shared/data"))


def cache_folder() -> Path:
    """Return the folder for downloads: WORKBENCH_CACHE, or the user's cache by default."""
    if place := os.environ.get("WORKBENCH_CACHE"):
        return Path(place)
    try:
        return Path.home() / ".cache" / "workbench"
    except RuntimeError:
        raise InputError("there is no home directory for downloads", "set WORKBENCH_CACHE to a folder") from None


def expand(path: str) -> Path:
    """Expand `~` and environment variables in a path. `$WORKBENCH_DATA` has a default."""
    # Unlike Path.expanduser, this leaves `~name` of an unknown user as it is.
    return Path(os.path.expanduser(Template(path).safe_substitute(os.environ | {"WORKBENCH_DATA": str(data_folder())})))


def find_upwards(path: str | Path) -> Path | None:
    """Return a relative path as found in the working directory or its nearest parent, or None."""
    candidates = (folder / Path(path).expanduser() for folder in (Path(), *Path.cwd().parents))
    return next((candidate for candidate in candidates if candidate.exists()), None)


def project_folder() -> Path:
    """Return the working directory or its nearest parent that has an `experiments` or an `outputs` folder.

    A notebook in a folder of the project changes to it, because the paths of experiments are relative to the working directory.

    Examples
    --------
    >>> import workbench as wb
    >>> (wb.project_folder() / "experiments").is_dir()
    True
    """
    place = find_upwards("experiments") or find_upwards("outputs")
    return place.resolve().parent if place else Path.cwd()
