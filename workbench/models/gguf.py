"""Load chat models from GGUF files with llama.cpp in this process."""

import functools
import importlib.util
import os
import secrets
import threading
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from workbench.core.environment import advice, expand, requested_threads, usable_cores
from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest
from workbench.errors import ModelError

_MAGIC = b"GGUF"
# An answering model and a judge. A sweep over more models loads them one after another.
_AT_ONCE = 2
_loading = threading.Lock()


class GgufModel(BaseModel):
    """The settings of a chat model in a GGUF file, for the components that run one."""

    path: str = Field(min_length=1, description="The GGUF file; `~` and environment variables are expanded.")
    context_window: int | None = Field(
        default=4096,
        ge=64,
        description="The tokens that prompt and answer may have together; `null`: as many as the model was trained for.",
    )
    threads: int | None = Field(default=None, ge=1, le=512, description="How many cores to use, by default one less than there are.")


def check_gguf(path: str, owner: str) -> Path:
    """Return the GGUF file at a path, in which `~` and environment variables are expanded. Raises ModelError if it cannot be used."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(f"{owner} needs xllamacpp", advice("local"))
    place = expand(path)
    try:
        with place.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelError(f"{owner}: {place} cannot be read ({error.strerror})", "name a GGUF file") from error
    if magic != _MAGIC:
        raise ModelError(f"{owner}: {place} is no GGUF file", "name a model in the format of llama.cpp")
    return place


def gguf_digest(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal, computed again only if the file has changed."""
    return _digest(_file(path))


def default_threads() -> int:
    """Return OMP_NUM_THREADS, or one less than the cores.

    llama.cpp's threads wait for each other without sleeping: with as many as cores, another busy process makes it many times slower.
    """
    return requested_threads() or max(1, usable_cores() - 1)


def load(path: Path, threads: int, window: int | None) -> Any:
    """Return the model of a file as an xllamacpp.Server, loaded once per process. Raises ModelError for a damaged file.

    Prompt and answer may have `window` tokens together, by default as many as the model was trained for.
    """
    with _loading:
        return _loaded(_file(path), threads, window)


class _File(NamedTuple):
    """A file in a state, read by a process. A forked process inherits a loaded model, but not its threads, so it loads its own."""

    path: Path
    state: FileState
    process: int


def _file(path: Path) -> _File:
    return _File(path, file_state(path), os.getpid())


@functools.cache
def _digest(file: _File) -> str:
    return file_digest(file.path, "sha256")


@functools.lru_cache(maxsize=_AT_ONCE)
def _loaded(file: _File, threads: int, window: int | None) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file.path)
    params.n_ctx = window or 0
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = False
    params.verbosity = 0
    # xllamacpp always listens on a port of the loopback interface. Without this key, every user of the machine could ask the model.
    params.api_keys = [secrets.token_hex()]
    params.ui = False
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ModelError(f"llama.cpp cannot load {file.path}", "fetch the file again, or update xllamacpp if the model is new") from error
