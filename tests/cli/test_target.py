"""`workbench target`: targets are tried before a sweep and checked for stale data."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from workbench.cli.main import main

DATASET = "dataset: {{kind: golden, path: {handbook}, split: dev}}"


@pytest.fixture
def experiment(tmp_path: Path, handbook_corner: Path) -> Callable[..., Path]:
    def write(targets: str) -> Path:
        file = tmp_path / "targets.yaml"
        file.write_text(f"name: tried\n{DATASET.format(handbook=handbook_corner)}\ntargets:\n{targets}\nmetrics: [recall@5]\n")
        return file

    return write


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["target", *map(str, arguments)])


@pytest.mark.slow
def test_check_shows_what_a_target_returns_and_where_it_is_in_the_documents(experiment):
    done = run("check", experiment("  - {kind: pipeline, name: ours, k: 5, chunker: {kind: fixed, size: 64}}"), "--question", "ferry")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "ours: ferry"
    assert lines[1].startswith("  search: 5 hits in ")
    assert lines[2].split() == ["rank", "document", "characters", "score", "text"]
    assert [line.split()[0] for line in lines[3:] if re.match(r" +\d", line)] == ["1", "2", "3", "4", "5"]


def test_check_names_what_cannot_be_matched_and_what_failed(experiment, tmp_path, handbook_corner):
    questions = [json.loads(line)["query"] for line in (handbook_corner / "questions.jsonl").read_text("utf-8").splitlines()]
    rows = [{"query": questions[0], "hits": [{"doc_id": "elsewhere"}, {"doc_id": "nowhere"}]}]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = experiment(f"  - {{kind: recorded, name: mine, path: {tmp_path / 'run.jsonl'}}}")
    found = run("check", file, "--question", questions[0])
    assert found.exit_code == 0
    assert "no document has the id 'elsewhere'" in found.output
    failed = run("check", file, "--question", "something else")
    assert failed.exit_code == 1
    assert "the target mine failed: it failed on all of 1 requests, first with: no recorded result" in failed.output


def test_check_runs_no_program_without_permission(experiment, tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "server.py").write_text(f"open({str(marker)!r}, 'w')")
    target = f"  - {{kind: mcp, name: mine, command: python, args: [{tmp_path / 'server.py'}], search: {{tool: find, arguments: {{q: '{{query}}'}}, reply: {{hits: $, id: $}}}}}}"
    done = run("check", experiment(target))
    assert done.exit_code == 2
    assert "--allow-code" in done.output
    assert not marker.exists()


def test_freshness_passes_an_index_that_replaces_and_fails_one_that_appends(experiment, tmp_path):
    folder = tmp_path / "stale"
    for version, fee in (("earlier", "5"), ("documents", "7")):
        (folder / version).mkdir(parents=True)
        (folder / version / "fees.md").write_text(f"# Fees\n\nThe fee for a mooring is {fee} euros a night.\n\nThe office opens at nine.\n")
    row = {
        "stale_id": "fee",
        "doc_id": "fees",
        "query": "what is the fee for a mooring",
        "before": {"answer": "5 euros"},
        "after": {"answer": "7 euros"},
    }
    (folder / "stale.jsonl").write_text(json.dumps(row) + "\n")
    replacing, appending = (
        f"  - {{kind: pipeline, name: ours, mode: {mode}, chunker: {{kind: fixed, size: 64}}}}" for mode in ("replace", "append")
    )
    passed = run("freshness", experiment(replacing), folder)
    assert passed.exit_code == 0, passed.output
    assert passed.output.splitlines()[0] == "ours: passed"
    failed = run("freshness", experiment(appending), folder)
    assert failed.exit_code == 1
    assert "still there: 5 euros" in failed.output


@pytest.mark.parametrize(
    ("targets", "command", "line"),
    [
        ("  - {kind: recorded, name: mine, path: missing.jsonl}", "check", "missing.jsonl"),
        ("  - {kind: pipeline, name: ours}", "freshness", "/nowhere"),
    ],
)
def test_a_missing_file_is_one_line(experiment, targets, command, line):
    done = run(command, experiment(targets), *(["/nowhere"] if command == "freshness" else []))
    assert done.exit_code == 2
    assert line in done.output
    assert "Traceback" not in done.output
