import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from tests.core.test_schemas import WRITTEN
from workbench.cli.main import main
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment

ROOT = Path(__file__).parents[2]
WORKBENCH = Path(sys.executable).parent / "workbench"


def workbench(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(WORKBENCH), *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, env=os.environ | environment)


def told(*words: object) -> subprocess.CompletedProcess[str]:
    """The same in this process, without the seconds of its imports: for what is told before anything runs, and for results in the store."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def run(folder: Path) -> Outcome:
    """What a sweep computes, without its notebooks and its report."""
    return run_experiment(read_experiment(folder / "x.yaml"), folder / "outputs", lambda _: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "cats.md").write_text("# Cats\n\nCats purr when they are content. They sleep sixteen hours a day.\n")
    (tmp_path / "documents" / "dogs.md").write_text("# Dogs\n\nDogs bark at strangers. They sleep twelve hours a day.\n")
    questions = [
        {"query": "why do cats purr", "relevant_doc_ids": ["cats"], "irrelevant_doc_ids": ["dogs"]},
        {"query": "how long do dogs sleep", "relevant_doc_ids": ["dogs"]},
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    (tmp_path / "x.yaml").write_text(f"name: x\ndataset: {{kind: golden, path: {tmp_path}}}\nmetrics: [recall@1, mrr@10]\n")
    return tmp_path


def one_line(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    for part in parts:
        assert part in line


@pytest.mark.slow
def test_a_sweep_leaves_report_notebooks_and_tables_and_the_second_one_computes_nothing(folder):
    first = workbench("sweep", folder / "x.yaml", "--outputs", folder / "outputs")
    assert first.returncode == 0, first.stderr
    assert "report: " in first.stdout
    assert re.search(r"^fixed-256-0 +1\.000 .* nothing to compare it with$", first.stdout, re.MULTILINE)
    left = {path.relative_to(folder / "outputs" / "x").as_posix() for path in (folder / "outputs" / "x").rglob("*") if path.is_file()}
    tables = {f"{name}.parquet" for name in WRITTEN}
    notebooks = {"notebooks/comparison.ipynb", "notebooks/fixed-256-0.ipynb"}
    assert left == tables | notebooks | {"manifest.json", "report.html", "runs/fixed-256-0.trec"}
    second = told("sweep", folder / "x.yaml", "--outputs", folder / "outputs")
    assert second.returncode == 0
    assert second.stderr.count("from the store") == 3
    assert "executed" not in second.stderr
    again = told("report", folder / "x.yaml", "--outputs", folder / "outputs")
    assert again.returncode == 0, again.stderr
    history = pd.read_parquet(folder / "outputs" / "history.parquet")
    assert history.groupby("run", sort=False).size().tolist() == [3, 3]
    assert set(history["configuration"]) == {"fixed-256-0"}
    trends = told("report", folder / "x.yaml", "--outputs", folder / "outputs", "--trends")
    assert trends.returncode == 0, trends.stderr
    assert re.search(r"2 runs of x from \S+ to \S+, by recall@1:", (folder / "outputs" / "x" / "trends.html").read_text())
    (folder / "outputs" / "history.parquet").write_bytes(b"PAR1")
    (folder / "outputs" / "x" / "metrics.parquet").unlink()
    third = workbench("sweep", folder / "x.yaml", "--outputs", folder / "outputs")
    assert third.returncode == 3
    (line,) = [line for line in third.stderr.splitlines() if "history" in line]
    assert line.startswith("workbench: this run is not in the history: ")
    assert str(folder / "outputs" / "history.parquet") in line
    assert "report: " in third.stdout
    assert (folder / "outputs" / "x" / "metrics.parquet").is_file()


def test_a_report_needs_results(folder):
    one_line(told("report", folder / "x.yaml", "--outputs", folder / "none"), 2, "lacks results of", "workbench sweep")


@pytest.mark.slow
def test_a_configuration_that_fails_ends_in_3_and_is_in_the_report(folder):
    assert not run(folder).failures
    (vectors,) = (folder / "outputs" / ".store" / "vectors").glob("*/vectors.npy")
    vectors.write_bytes(vectors.read_bytes()[:-8])
    text = (folder / "x.yaml").read_text() + "sweep: {chunking: [{kind: fixed, size: 256}, {kind: whole}]}\n"
    (folder / "x.yaml").write_text(text)
    done = workbench("sweep", folder / "x.yaml", "--outputs", folder / "outputs")
    assert done.returncode == 3
    assert "Failed: the store entry" in done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    page = (folder / "outputs" / "x" / "report.html").read_text()
    assert "is corrupt (vectors.npy has changed since it was written)" in page
    assert "whole" in page


def test_a_missing_experiment_is_one_line():
    one_line(told("sweep", "none.yaml"), 2, "none.yaml does not exist")


def test_every_fault_of_an_experiment_is_a_line_and_nothing_runs(folder):
    done = told(
        "sweep", folder / "x.yaml", "--outputs", folder / "outputs", "--set", "metrics=[recal@5]", "--set", "pipeline.chunking.sise=3"
    )
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) >= 2
    assert all(re.match(r"workbench: \S*x\.yaml: ", line) for line in lines)
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("dataset.path=/no/such/folder", "/no/such/folder does not exist"),
        ("pipeline.chunking={kind: fixed, size: 64, overlap: 64}", "overlap 64 is not smaller than size 64"),
        ("metrics=[recall@0]", "recall@0"),
        ("pipeline.retrieval.k=0", "retrieval 'dense' k is 0"),
        ("nonsense", "--set"),
    ],
)
def test_bad_input_is_one_line_with_what_where_and_the_fix(folder, change, part):
    one_line(told("sweep", folder / "x.yaml", "--outputs", folder / "outputs", "--set", change), 2, "workbench: ", part)


@pytest.mark.slow
def test_a_model_that_is_not_there_is_one_line_of_a_process_too(folder):
    model = "pipeline.embedding.model=no-such/model"
    done = workbench("sweep", folder / "x.yaml", "--outputs", folder / "outputs", "--set", model, HF_HUB_OFFLINE="1")
    one_line(done, 2, "workbench: ", "no-such/model")


def test_a_judgement_of_a_missing_document_stops_the_sweep_with_its_place(folder):
    with (folder / "questions.jsonl").open("a") as file:
        file.write('{"query": "and birds", "relevant_doc_ids": ["birds"]}\n')
    one_line(told("sweep", folder / "x.yaml", "--outputs", folder / "outputs"), 2, "questions.jsonl:3", "'birds'")


def test_an_empty_corpus_stops_the_sweep(folder):
    for path in (folder / "documents").iterdir():
        path.write_text(" \n")
    done = told("sweep", folder / "x.yaml", "--outputs", folder / "outputs")
    assert done.returncode == 2
    assert "cats.md document 'cats' is empty" in done.stderr


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_next_sweep_goes_on(folder):
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "from workbench.cli.main import main; sys.argv = ['workbench', *sys.argv[1:]]; main()"
    )
    command = [sys.executable, "-c", script, "sweep", str(folder / "x.yaml"), "--outputs", str(folder / "outputs")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 3, done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert not run(folder).failures


def test_the_dataset_check_reports_every_fault_and_exits_1(folder):
    assert told("dataset", "check", folder).returncode == 0
    with (folder / "questions.jsonl").open("a") as file:
        file.write('{"query": "and birds", "relevant_doc_ids": ["birds"]}\n{"query": "and fish"}\nno json\n')
    done = told("dataset", "check", folder)
    assert done.returncode == 1
    assert "questions.jsonl:3" in done.stdout
    assert "questions.jsonl:4" in done.stdout
    assert "questions.jsonl:5 is not JSON" in done.stdout
    assert "3 faults" in done.stdout
    one_line(told("dataset", "check", folder / "none"), 2, "does not exist")


def test_the_plan_prints_stages_tokens_and_minutes(folder):
    done = told("plan", folder / "x.yaml", "--outputs", folder / "outputs")
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("fixed-256-0")]
    assert line.split()[1:3] == ["all", "-"]
    assert "tokens to embed" in done.stdout
    assert "Less than a minute" in done.stdout


def test_help_names_every_command():
    text = workbench("--help").stdout
    assert all(name in text for name in ("sweep", "plan", "report", "dataset", "lab"))


@pytest.mark.slow
def test_a_sweep_is_screened_and_its_report_and_a_full_sweep_come_after_it(handbook_part, tmp_path):
    sizes = "sweep: {chunking: {kind: fixed, size: [8, 64, 128]}}"
    path = tmp_path / "s.yaml"
    path.write_text(
        f"name: s\ndataset: {{kind: golden, path: {handbook_part}}}\npipeline: {{retrieval: {{kind: bm25}}}}\n{sizes}\nprimary: span_recall@500t\n"
    )
    one_line(told("sweep", path, "--outputs", tmp_path, "--screen-queries", 5), 2, "--screen-queries 5 is too small")
    first = workbench("sweep", path, "--outputs", tmp_path, "--screen", "--screen-queries", 50)
    assert first.returncode == 0, first.stderr
    assert "1 of 3 configurations screened out by the configuration itself on 50 of 59 questions" in first.stderr
    assert "  fixed-8-0-bm25: −0." in first.stderr
    assert "1 of 3 configurations screened out" in first.stdout
    assert "and not run in full" in first.stdout
    again = told("report", path, "--outputs", tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("from the store") == 5
    assert "Not run in full: 1 of 3" in (tmp_path / "s" / "report.html").read_text()
    assert "not run in full" in (tmp_path / "s" / "notebooks" / "comparison.ipynb").read_text()
    assert not (tmp_path / "s" / "notebooks" / "fixed-8-0-bm25.ipynb").exists()
    rest = run_experiment(read_experiment(path), tmp_path, lambda _: None)
    write_outputs(rest)
    assert "fixed-8-0-bm25" in set(pd.read_parquet(tmp_path / "s" / "metrics.parquet")["configuration"])
    assert not (tmp_path / "s" / "screening.parquet").exists()


@pytest.fixture
def program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with experiments that name a function, which leaves a file when its module is imported."""
    monkeypatch.chdir(folder)
    name = f"marking_{folder.name.replace('-', '_')}"
    (folder / f"{name}.py").write_text("open('marker', 'w').close()\n\n\ndef cut(text):\n    return text.split('. ')\n")
    chunker, shared = {"kind": "callable", "callable": f"{name}:cut"}, {"name": "p", "dataset": {"kind": "golden", "path": "."}}
    (folder / "p.yaml").write_text(json.dumps(shared | {"pipeline": {"chunking": chunker, "retrieval": {"kind": "bm25"}}}))
    (folder / "nested.yaml").write_text(json.dumps(shared | {"targets": [{"kind": "pipeline", "name": "t", "chunker": chunker}]}))
    yield folder
    sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "command", ["sweep p.yaml", "sweep --screen p.yaml", "sweep --jobs 2 p.yaml", "report p.yaml", "sweep nested.yaml"]
)
def test_an_experiment_that_names_a_function_runs_with_allow_code_only(program: Path, command: str) -> None:
    one_line(told(*command.split()), 2, "the experiment runs code: marking_", ":cut; add --allow-code")
    assert not (program / "marker").exists()


def test_planning_names_a_function_and_does_not_import_it(program: Path) -> None:
    done = told("plan", "p.yaml")
    assert done.returncode == 0
    assert "not planned, because only running marking_" in done.stdout
    assert "add --allow-code" in done.stdout
    assert not (program / "marker").exists()
    assert "not planned" not in told("plan", "--allow-code", "p.yaml").stdout
    assert (program / "marker").exists()


def test_a_plan_names_what_cannot_be_planned_and_exits_0_as_its_help_says(program: Path) -> None:
    (module,) = program.glob("marking_*.py")
    module.write_text("def cut(text):\n    raise ValueError('too hard')\n")
    done = told("plan", "--allow-code", "p.yaml")
    assert done.returncode == 0
    assert "cannot be planned and will fail: " in done.stdout
    assert "too hard" in done.stdout
    assert "The exit code is then still 0" in " ".join(told("plan", "--help").stdout.split())


@pytest.mark.parametrize("key", ["allow_code", "pipeline.chunking.allow_code"])
def test_no_key_of_an_experiment_permits_code(program: Path, key: str) -> None:
    one_line(told("sweep", "p.yaml", "--set", f"{key}=true"), 2, "has no parameter 'allow_code'")
    assert not (program / "marker").exists()


@pytest.mark.slow
def test_code_with_permission_runs_is_checked_first_and_is_named_in_manifest_and_report(program: Path) -> None:
    settings = json.loads((program / "p.yaml").read_text())
    missing = ["--set", "pipeline.chunking.callable=json:load_s"]
    one_line(told("sweep", "--allow-code", "p.yaml", *missing), 2, "p: the module 'json' has no 'load_s' (did you mean 'loads'?)")
    done = subprocess.run([WORKBENCH, "sweep", "--allow-code", "p.yaml"], capture_output=True, text=True, cwd=program, timeout=600)
    assert done.returncode == 0, done.stderr
    name = settings["pipeline"]["chunking"]["callable"]
    manifest = json.loads((program / "outputs" / "p" / "manifest.json").read_text())
    assert manifest["code"] == [name]
    assert f"This run executed code named in the experiment: {name}." in (program / "outputs" / "p" / "report.html").read_text("utf-8")
    (program / "marker").unlink()
    one_line(told("export", "outputs/p"), 2, f"the experiment runs code: {name}")
    assert not (program / "marker").exists()
    assert told("export", "outputs/p", "--allow-code").returncode == 0
