"""A sweep that is killed while it asks a target loses the requests in flight at most."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORKBENCH = Path(sys.executable).parent / "workbench"
HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook"
MODULE = """
import time

def search(query, k):
    with open({log!r}, "a") as log:
        log.write(query + "\\n")
    time.sleep(0.1)
    return ["hr/annual-leave"]
"""
EXPERIMENT = """
name: killed
dataset: {{kind: golden, path: {handbook}, split: dev}}
targets:
  - {{kind: callable, name: slow, search: "slow_rag:search"}}
metrics: [recall@5]
"""


@pytest.mark.soak
def test_a_killed_sweep_asks_only_for_what_it_lost(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    (tmp_path / "slow_rag.py").write_text(MODULE.format(log=str(log)))
    (tmp_path / "killed.yaml").write_text(EXPERIMENT.format(handbook=HANDBOOK))
    command = [str(WORKBENCH), "sweep", "killed.yaml", "--allow-code"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    deadline = time.monotonic() + 120
    while not log.exists() or len(log.read_text().splitlines()) < 30:
        assert first.poll() is None, "the sweep ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    first.kill()
    first.wait()
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False).returncode == 0
    asked = log.read_text().splitlines()
    # One request is in flight at a time.
    assert len(asked) <= len(set(asked)) + 1
