"""The search for the canary key finds what tests leave behind, in sessions of their own with a canary of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.canary import CANARY, VARIABLES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
OTHER = "sk-another-canary-for-a-session-inside"
LEAKS = """
import base64, gzip, os
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, pytest

def plain(path, key): path.write_text("a log with " + key)
def name(path, key): (path.parent / key).touch()
def encoded(path, key): path.write_bytes(base64.b64encode(b"user:" + key.encode() + b"@"))
def parquet(path, key): pq.write_table(pa.table({"n": [1], "s": [[key]]}), path, compression="zstd")
def words(path, key): pq.write_table(pa.table({"s": pa.array([key] * 9).dictionary_encode()}), path, compression="zstd")
def arrays(path, key): np.savez_compressed(path.open("wb"), a=np.array([key.encode()] * 9))
def packed(path, key): path.write_bytes(gzip.compress(key.encode() * 9))
def printed(path, key): print(key)

@pytest.mark.parametrize("leak", [plain, name, encoded, parquet, words, arrays, packed, printed])
def test_leak(leak, tmp_path):
    leak(tmp_path / leak.__name__, os.environ["HF_TOKEN"])
"""
CLEAN = """
import gzip, os

def test_clean(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 damaged")
    (tmp_path / "b.npz").write_bytes(b"PK damaged")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"a" * 99)[:12] + b"damaged")
    (tmp_path / "link").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    assert os.environ["OPENAI_API_KEY"] == os.environ["WORKBENCH_CANARY"]
"""


def session(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.canary", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "WORKBENCH_CANARY": OTHER}
    command += ["--rootdir", str(folder), f"--basetemp={folder / 'base'}", "test_it.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_every_test_has_the_canary() -> None:
    assert {os.environ[name] for name in VARIABLES} == {CANARY}


@pytest.mark.parametrize("options", [("-n0",), ("-n2",)], ids=["alone", "workers"])
def test_a_session_that_leaves_the_canary_fails_and_names_the_places(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = session(tmp_path, LEAKS, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    places = done.stdout.partition("the canary key was left behind")[2]
    for leak in ("plain", "name", "encoded", "parquet", "words", "arrays", "packed", "printed"):
        assert f"test_leak_{leak}" in places or f"test_leak[{leak}]" in places, (leak, done.stdout)
    assert OTHER not in done.stdout
    assert "8 passed" in done.stdout


def test_a_clean_session_passes(tmp_path: Path) -> None:
    done = session(tmp_path, CLEAN)
    assert (done.returncode, "canary" in done.stdout) == (0, False), done.stdout
