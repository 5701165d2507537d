"""Put a canary key into every test's environment, and fail the session if anything that the tests leave behind contains it.

A key that the product reads, or a library for it, must not get into outputs, stores, notebooks, logs or printed text. The search covers
pytest's temporary folders, of all workers, what tests printed, `outputs`, the store copies in the cache, and saved tracebacks.
"""

import base64
import gzip
import lzma
import os
import secrets
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workbench.core.environment import cache_folder

# Workers and processes that tests start inherit it.
CANARY = os.environ.setdefault("WORKBENCH_CANARY", f"sk-canary-{secrets.token_hex(12)}")
VARIABLES = (
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "GITHUB_TOKEN",
    "AZURE_STORAGE_KEY",
)
# Larger files are models and indexes.
_LARGEST = 32 * 2**20
_SHOWN = 20
# As it is, and inside text in Base64 at any offset: whole groups of three bytes, without the edges that depend on their neighbours.
_FORMS = [
    CANARY.encode(),
    CANARY[::-1].encode(),
    CANARY.encode("utf-16-le"),
    *(base64.b64encode(b"x" * offset + CANARY.encode())[4:-4] for offset in range(3)),
]


def pytest_configure(config: pytest.Config) -> None:
    os.environ.update(dict.fromkeys(VARIABLES, CANARY))
    config.pluginmanager.register(_Search(config), "canary search")


class _Search:
    """The search at the end of a session, by the process that started the workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.found = config, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if any(CANARY in text for text in (*(content for _, content in report.sections), report.longreprtext)):
            self.found.append(f"the output of {report.nodeid} ({report.when})")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workerinput"):
            return
        # Outside a fixture, only a private attribute has the folder of the session.
        folders = [self.config._tmp_path_factory.getbasetemp(), self.config.rootpath / "outputs", cache_folder() / "stores"]  # type: ignore[attr-defined]
        files = [path for folder in folders for path in _files(folder)]
        files += Path(tempfile.gettempdir()).glob("workbench-error-*.txt")
        self.found += [str(path) for path in files if contains_canary(path)]
        if self.found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("the canary key was left behind", red=True)
            for place in self.found[:_SHOWN]:
                terminalreporter.write_line(place.replace(CANARY, "…"))
            if len(self.found) > _SHOWN:
                terminalreporter.write_line(f"and {len(self.found) - _SHOWN} more")


def _files(folder: Path) -> Iterator[Path]:
    """The regular files under a folder that are not too large; links lead to models or out of it."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if CANARY in name or (path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST):
                yield path


def contains_canary(path: Path) -> bool:
    """Whether a file's name or content, unpacked, contains the canary."""
    if CANARY in path.name:
        return True
    try:
        return any(form in part for part in contents(path) for form in _FORMS)
    except FileNotFoundError:
        # A lock or a process's file that is gone by now.
        return False


def contents(path: Path) -> Iterator[bytes]:
    """A file's content, as it is and unpacked."""
    content = path.read_bytes()
    yield content
    # Tests also leave damaged files, of which the bytes are all there is.
    try:
        if content[:4] == b"PAR1":
            yield from _columns(pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False))
        elif content[:2] == b"PK":
            with zipfile.ZipFile(path) as packed:
                yield from (packed.read(name) for name in packed.namelist())
        elif content[:2] == b"\x1f\x8b":
            yield gzip.decompress(content)
    except (pa.ArrowException, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError):
        return


def _columns(table: pa.Table) -> Iterator[bytes]:
    for column in table.columns:
        for chunk in column.chunks:
            values = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
            yield from (bytes(buffer) for buffer in values.buffers() if buffer is not None)
