"""The exit codes and lines of commands whose sweep asks a chat model."""

import subprocess
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from tests.asked_sweeps import NAMED, AskedSweep, question
from tests.canary import CANARY, contains_canary
from tests.loopback import closed_port
from workbench.cli.main import main


def done(*words: object) -> subprocess.CompletedProcess[str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return subprocess.CompletedProcess(words, result.exit_code, result.stdout, result.stderr)


@pytest.mark.slow
def test_a_sweep_with_missing_answers_ends_in_3_and_the_next_one_in_0(asked_sweep: AskedSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_OPENAI_API_KEY", CANARY)
    provider, path = asked_sweep.provider, asked_sweep.write()
    provider.faults_of = {question(1): {"raw": b"<html>"}, question(2): {"status": 400, "message": f"no room for {CANARY}"}}
    first = done("sweep", path, "--outputs", asked_sweep.outputs)
    assert first.returncode == 3, first.stderr
    lines = [line for line in first.stderr.splitlines() if line.startswith("workbench: ")]
    assert sorted(lines) == [
        "workbench: 1 try of calls without a usable reply: limits count such tries, which may be billed",
        "workbench: 2 of 12 answers are missing and not scored (1 × the reply is HTML; 1 × the server refused the request (400: no room for … some_error)); run again to ask only for these",
    ]
    assert "report: " in first.stdout
    answers = pd.read_parquet(asked_sweep.outputs / "asked" / "answers.parquet").set_index("query_id")
    assert (answers["error"]["q1"], answers["error"]["q2"]) == (
        "the reply is HTML",
        "the server refused the request (400: no room for … some_error)",
    )
    assert done("report", path, "--outputs", asked_sweep.outputs).returncode == 2
    # Also of notebooks, report and history.
    assert provider.headers[0]["authorization"] == f"Bearer {CANARY}"
    assert [path for path in asked_sweep.folder.rglob("*") if path.is_file() and contains_canary(path)] == []
    assert CANARY not in first.stdout + first.stderr
    provider.faults_of.clear()
    second = done("sweep", path, "--outputs", asked_sweep.outputs)
    assert second.returncode == 0, second.stderr
    assert len(provider.asked) == 14
    assert done("report", path, "--outputs", asked_sweep.outputs).returncode == 0
    assert len(provider.asked) == 14


def test_a_wrong_key_is_one_line(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.faults, asked_sweep.provider.lasting = [{"status": 401, "message": "Incorrect API key"}], True
    path = asked_sweep.write()
    sweep = done("sweep", path, "--outputs", asked_sweep.outputs)
    assert sweep.returncode == 3
    (line,) = [line for line in sweep.stderr.splitlines() if line.startswith("workbench: ")]
    assert f"every configuration failed; the first, {NAMED}: answering 'openai': words at http://127.0.0.1:" in line
    assert "refused the key (401: Incorrect API key" in line
    pilot = done("plan", path, "--pilot", "--outputs", asked_sweep.outputs)
    assert pilot.returncode == 2
    assert pilot.stderr.splitlines()[-1].startswith("workbench: answering 'openai': words at ")
    assert len(asked_sweep.provider.asked) <= 16


def test_a_pilot_without_an_answer_ends_in_3(asked_sweep: AskedSweep) -> None:
    path: Path = asked_sweep.write(answering={"base_url": f"http://127.0.0.1:{closed_port()}/v1"})
    pilot = done("plan", path, "--pilot", "--outputs", asked_sweep.outputs)
    assert pilot.returncode == 3
    assert "none of 12 calls succeeded" in pilot.stdout
    assert "answers cost at most about 12 calls" in pilot.stdout
