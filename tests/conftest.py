"""Fixtures for several folders: the big sets, child processes, the bundled model, vectors that look like embeddings."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.shared import built_once
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.environment import cache_folder, skip_schema_grammar
from workbench.core.records import Dataset
from workbench.core.storage.vector_cache import Vectors
from workbench.data.formats.golden import write_golden
from workbench.data.sources import GoldenSource
from workbench.measures.metrics.registry import METRICS
from workbench.report.results.history import FINGERPRINTS, SCHEMA

# Fixtures for several folders: small worlds written by hand, and small finished runs.
pytest_plugins = [
    "pytester",
    "tests.offline.fixture",
    "tests.session",
    "tests.canary",
    "tests.chat_provider",
    "tests.asked_sweeps",
    "tests.reading_model",
    "tests.judged_sweeps",
    "tests.forked",
    "tests.gguf",
    "tests.tiny_models",
    "tests.small_worlds",
    "tests.small_sweep",
    "tests.made_runs",
    "tests.answered_runs",
    "tests.judged_runs",
    "tests.gated_runs",
    "tests.lost_runs",
    "tests.lab_server",
    "tests.workplace",
    "tests.lab_browser",
    "tests.systems.http.service",
    "tests.wording",
]

# A project of its own, whose tests run under the plugin (tests/pytest_plugin).
collect_ignore = ["sample_project"]

ROOT = Path(__file__).parent.parent
# Components of another package are tested by the same laws as those of the registry.
sys.path.append(str(ROOT / "tests" / "plugins" / "parts"))
# The grammar takes 1.5 s in every process; the command leaves it out too.
skip_schema_grammar()
# Tests compute on the CPU, also on a machine with a GPU. Torch reads this when it is imported.
os.environ["CUDA_VISIBLE_DEVICES"] = ""
# Tables are as wide as a terminal.
os.environ["COLUMNS"] = "80"
# A shell script starts background processes with SIGINT ignored, and their children inherit that: tests interrupt some.
signal.signal(signal.SIGINT, signal.default_int_handler)
# No property test is about time, and a busy machine draws examples slowly.
settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A mutant is killed by any failing example, however long. Examples that killed one mutant are not tried on the next.
settings.register_profile("mutation", settings.get_profile("workbench"), phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("workbench")

FTP_SERVER = """
import logging
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

# No test reads its log, and a full pipe would stop it.
logging.basicConfig(level=logging.CRITICAL)
authorizer = DummyAuthorizer()
authorizer.add_user("workbench", "secret", sys.argv[1], perm="elradfmwMT")
FTPHandler.authorizer = authorizer
server = FTPServer(("127.0.0.1", 0), FTPHandler)
print(server.address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture(autouse=True)
def _functions_are_metrics_of_one_test() -> Iterator[None]:
    """Forget the metrics that a test, or the code of a page, made of functions: they are known to the process, and listed in messages."""
    yield
    METRICS.defined.clear()


@pytest.fixture(autouse=True)
def _logging_stays() -> Iterator[None]:
    """Fail a test after which the process logs otherwise: libraries set the root logger, which belongs to who uses Workbench."""
    before = _logging()
    yield
    assert _logging() == before


def _logging() -> tuple[int, int, list[object]]:
    root = logging.getLogger()
    handlers = [handler for handler in root.handlers if not type(handler).__module__.startswith("_pytest")]
    return logging.root.manager.disable, root.level, [*root.filters, *handlers]


@pytest.fixture(scope="session")
def big_data() -> Callable[[str], Path]:
    """Locate the folder of a big set by its name; skip where it is absent."""

    def locate(name: str) -> Path:
        folder = (ROOT / os.environ.get("WORKBENCH_DATA", "../shared/data") / name).resolve()
        if not folder.is_dir():
            pytest.skip(f"the big set {name} is not in {folder.parent}: set WORKBENCH_DATA")
        return folder

    return locate


@pytest.fixture(scope="session")
def handbook_part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 69 questions of the handbook and the documents with their evidence."""
    return built_once(tmp_path_factory, "part", lambda folder: write_part("hb-069", folder))


@pytest.fixture(scope="session")
def handbook_corner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the first 24 questions."""
    return built_once(tmp_path_factory, "corner", lambda folder: write_part("hb-024", folder))


@pytest.fixture(scope="session")
def handbook_few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the first 12 questions, embedded in a moment."""
    return built_once(tmp_path_factory, "dozen", lambda folder: write_part("hb-012", folder))


def write_part(last: str, folder: Path) -> Path:
    """Write the handbook's questions up to `last` and the documents with their evidence to a folder."""
    whole = GoldenSource(path=str(ROOT / "experiments" / "handbook")).load()
    needs = tuple(need for need in whole.needs if need.query_id <= last)
    there = {span.doc_id for need in needs for span in need.alternatives}
    part = Dataset(
        "handbook",
        tuple(document for document in whole.documents if document.doc_id in there),
        tuple(query for query in whole.queries if query.query_id <= last),
        tuple(qrel for qrel in whole.qrels if qrel.query_id <= last and qrel.doc_id in there),
        needs,
    )
    write_golden(part, folder)
    return folder


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python process on a script with arguments; `options` go to the interpreter. No process outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def begin(script: str, *arguments: object, env: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *options, "-c", script, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "offline")])} | (env or {}),
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        # Not read to the end: a grandchild that a failed test left running may hold the other end open.
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


class Server:
    """An FTP server of a folder, which a test can end and begin again."""

    def __init__(self, start: Callable[..., Any], folder: Path) -> None:
        self._start, self._root, self.folder = start, folder, folder / "shared"
        self.begin()

    def begin(self) -> None:
        self._process = self._start(FTP_SERVER, self._root)
        self.url = f"ftp://workbench:secret@127.0.0.1:{int(self._process.stdout.readline())}/shared"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def files(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def server(start: Callable[..., Any], tmp_path: Path) -> Server:
    folder = tmp_path / "served"
    folder.mkdir()
    return Server(start, folder)


@pytest.fixture(scope="session")
def cache_with_models() -> Callable[[Path], Path]:
    """Make an empty cache for a machine, with the converted models, which take long."""

    def make(folder: Path) -> Path:
        cache = folder / "cache"
        cache.mkdir(parents=True)
        for name in ("openvino", "static"):
            (cache_folder() / name).mkdir(parents=True, exist_ok=True)
            (cache / name).symlink_to(cache_folder() / name)
        return cache

    return make


@pytest.fixture
def run_python(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Run a Python script with arguments to a successful end and return what it prints."""

    def run(script: str, *arguments: object, env: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> str:
        process = start(script, *arguments, env=env, options=options)
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return out.strip()

    return run


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformerEmbedder:
    """The default embedder, loaded."""
    embedder = SentenceTransformerEmbedder()
    embedder.encode(["warm"], "document")
    return embedder


@pytest.fixture(scope="session")
def like_embeddings() -> Callable[..., Vectors]:
    """Make n unit vectors in clusters, like those of texts: no index can search isotropic noise."""

    def make(n: int, dimension: int = 32, seed: int = 0) -> Vectors:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(max(4, n // 50), dimension))
        vectors = centres[rng.integers(0, len(centres), n)] + 0.3 * rng.normal(size=(n, dimension))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    return make


@pytest.fixture
def past(tmp_path: Path) -> Callable[[Sequence[dict[str, Any]]], Path]:
    """Write outputs with a history: a row for each mapping, whose `run` is a number; other columns have defaults."""

    def write(rows: Sequence[dict[str, Any]]) -> Path:
        usual: dict[str, Any] = {"experiment": "mine", "configuration": "whole", "condition": "retrieved", "metric": "recall@5"}
        usual |= {"slice": "all", "n": 80, "clusters": 30, "primary": True, "commit": "0" * 40}
        usual |= dict.fromkeys(FINGERPRINTS, "a") | {"prompt": None}
        filled = []
        for row in rows:
            time = datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=row["run"])
            bounds = {"low": row["value"] - 0.05, "high": row["value"] + 0.04}
            filled.append(usual | bounds | row | {"time": time, "run": f"{row['run']:012x}"})
        pq.write_table(pa.Table.from_pylist(filled, SCHEMA), tmp_path / "history.parquet")
        return tmp_path

    return write
