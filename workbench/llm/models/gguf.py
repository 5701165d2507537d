"""Load chat models from GGUF files with llama.cpp in this process."""

import functools
import mmap
import os
import re
import secrets
import struct
import threading
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from workbench.core.environment import expand, requested_threads, require_installed, usable_cores
from workbench.core.errors import ModelError
from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest

_MAGIC = b"GGUF"
# An answering model and a judge. A sweep over more models loads them one after another.
_AT_ONCE = 2
_loading = threading.Lock()
# Bytes of a value by its type in a GGUF file, which also has texts and lists.
_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _LIST = 8, 9
_TOKENS, _TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_CONTROL, _USER_DEFINED = 3, 4
# Models mark turns also by tokens of the second type, which in others are words or tags of HTML.
_MARK = re.compile(r"<[|｜].*[|｜]>")


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
    require_installed(owner, "xllamacpp", "joblib", extra="local")
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


def without_control_tokens(text: str, path: Path) -> str:
    """Return a text with a blank within each control token of a model, such as `<|im_end|>`.

    llama.cpp reads the token wherever it occurs, so that a document could end the message that contains it and begin another. Raises ModelError
    for a file whose tokens cannot be read.
    """
    tokens = _control_tokens(_file(path))
    broken = ""
    while tokens and broken != text:
        # The blank can part a token that another overlaps.
        broken, text = text, tokens.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
    return text


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


@functools.cache
def _control_tokens(file: _File) -> re.Pattern[str] | None:
    """Return a pattern of the control tokens of a model, the longest first, or None without any."""
    try:
        with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            texts, types = _Metadata(content).vocabulary()
        named = [(text.decode(), kind) for text, kind in zip(texts, types, strict=True) if kind in (_CONTROL, _USER_DEFINED)]
    except (struct.error, KeyError, ValueError) as error:
        raise ModelError(f"the tokens of {file.path} cannot be read", "fetch the file again") from error
    tokens = [text for text, kind in named if len(text) > 1 and (kind == _CONTROL or _MARK.fullmatch(text))]
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))) if tokens else None


class _Metadata:
    """The metadata at the beginning of a GGUF file (version 2 or 3, little-endian), read in order."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._place = content, len(_MAGIC) + 4

    def vocabulary(self) -> tuple[list[bytes], list[int]]:
        """Return the model's tokens and their types, none if it has none or they have no types."""
        found: dict[str, Any] = {}
        _, pairs = self._read("<QQ")
        for _ in range(pairs):
            name = self._text().decode()
            found[name] = self._value(self._read("<I")[0], name)
        types = found.get(_TOKEN_TYPES) or []
        return (found.get(_TOKENS) or [], types) if types else ([], [])

    def _value(self, kind: int, name: str) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            return self._read(f"<{_BYTES[kind]}x")
        kind, count = self._read("<IQ")
        if kind in (_TEXT, _LIST):
            return [self._value(kind, name) for _ in range(count)]
        return list(self._read(f"<{count}i" if name == _TOKEN_TYPES else f"<{count * _BYTES[kind]}x"))

    def _text(self) -> bytes:
        (length,) = self._read("<Q")
        self._place += length
        return self._content[self._place - length : self._place]

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._content, self._place)
        self._place += struct.calcsize(form)
        return values
