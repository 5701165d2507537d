"""A run and an evaluation on a real server of MLflow, whose packages are too many for every environment."""

import json
import os
import site
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import install, outside
from tests.made_runs import Made
from workbench.runner.execution.collect import collect

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
_START = 180
# Runs in an environment with MLflow, and with Workbench and its packages on the path.
SCRIPT = """
import json, sys

import mlflow
import pandas as pd

import workbench as wb

server, folder = sys.argv[1:]
results = wb.load(folder)
run_id = results.log_to_mlflow("a sweep", tracking_uri=server)
client = mlflow.MlflowClient(server)
run = client.get_run(run_id)
nested = client.search_runs([run.info.experiment_id], f"tags.mlflow.parentRunId = '{run_id}'")
assert {each.info.run_name for each in nested} == set(results.leaderboard().index), nested
table = mlflow.load_table("leaderboard.json", [run_id])
assert list(table["configuration"]) == list(results.leaderboard().index), table
page = mlflow.artifacts.load_text(f"runs:/{run_id}/report.html")
assert "<html" in page[:200]

rows = [
    {"inputs": {"question": "leave?"}, "outputs": ["leave", "pay"], "expectations": {"relevant_doc_ids": ["leave"]}},
    {"inputs": {"question": "taxi?"}, "outputs": {"documents": [{"doc_id": "pay"}]}, "expectations": {"relevant_doc_ids": ["travel"]}},
]
scored = mlflow.genai.evaluate(data=rows, scorers=[wb.mlflow_scorer("recall@1"), wb.mlflow_scorer("mrr@2")])
assert scored.metrics == {"recall_at_1/mean": 0.5, "mrr_at_2/mean": 0.5}, scored.metrics
scored.tables["eval_results"].to_json("evaluated.jsonl", orient="records", lines=True)
assert wb.RecordedTarget(name="mlflow", path="evaluated.jsonl").identity()["format"] == "mlflow"
print(json.dumps(sorted(nested[0].data.metrics)))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("mlflow"), "mlflow==3.17.2")


@pytest.fixture(scope="module")
def server(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with SQLite on loopback."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stores = ["--backend-store-uri", "sqlite:///mlflow.db", "--artifacts-destination", "artifacts"]
    command = [programs / "mlflow", "server", *stores, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(command, cwd=folder, env=outside(), stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(f"http://127.0.0.1:{port}", running, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(running.pid, 15)
        running.wait(30)


def _wait(address: str, running: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START
    while time.monotonic() < until:
        assert running.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(1)
    raise AssertionError(log.read_text())


def test_a_run_and_an_evaluation_are_on_a_server(programs: Path, server: str, made: Made, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    folder = tmp_path / "run"
    folder.mkdir()
    collect(made.ran(3)).write(folder)
    path = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    command = [programs / "python", script, server, folder]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert any("_at_" in name for name in json.loads(done.stdout.splitlines()[-1]))
