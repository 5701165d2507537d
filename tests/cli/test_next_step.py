"""Each command that a report prints as the next step works when it is pasted, against the run that printed it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
import yaml

import workbench as wb
from tests.chat_provider import ChatProvider
from tests.commands import workbench
from tests.made_runs import Made
from workbench.report.analysis.decision import ResultKind, decide
from workbench.report.analysis.findings import findings
from workbench.report.model import NextStep
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.decision import next_step as next_step_module
from workbench.report.topics.decision.opening import opening

SIZES = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}]}
FILE, OUTPUTS = "my experiment.yaml", "my outputs"
# The embedder of the tests is a plug-in.
PARTS = Path(__file__).parents[1] / "plugins" / "parts"


def swept(made: Made, folder: Path, documents: int = 12, **changes: object) -> RunTables:
    settings = made.experiment(2, documents, **{"name": "mine", "sweep": SIZES, **changes})
    settings = {key: value for key, value in settings.items() if value is not None}
    (folder / FILE).write_text(yaml.safe_dump(settings), "utf-8")
    done = workbench("sweep", FILE, "--outputs", OUTPUTS, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    return RunTables.read(folder / OUTPUTS / "mine")


def step_of(folder: Path, monkeypatch: pytest.MonkeyPatch, **sources: pd.DataFrame) -> tuple[ResultKind, NextStep]:
    """The step of the report that was written in a folder, with some tables replaced."""
    monkeypatch.chdir(folder)
    run = RunTables.read(Path(OUTPUTS, "mine"))
    tables = {name: (lambda _, table=table: table) for name, table in sources.items()}
    decision = decide(findings(replace(run, sources={**run.sources, **tables})))
    step = opening(decision).step
    assert step is not None
    return decision.kind, step


def pasted(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Paste a command into a shell, in the folder where the run was made."""
    paths = [str(PARTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)


def too_low(run: RunTables) -> pd.DataFrame:
    """A table of causes in which each configuration ranks a piece of evidence too low."""
    missed = {"condition": "retrieved", "cause": "rank", "subject": "evidence", "need": 0, "rank": 9, "repeat": 0}
    rows = [missed | {"configuration": name, "query_id": "q0-0", "doc_id": "d0", "variant": "", "evidence": ""} for name in run.names]
    return pd.DataFrame(rows, columns=run.schemas["causes"].names)


def with_fields(
    made: Made, folder: Path, field: Callable[[dict[str, object]], dict[str, object]], documents: int = 12
) -> dict[str, object]:
    """Copy generated documents with more fields of each question, and return the dataset of an experiment."""
    shutil.copytree(made.data(documents), folder / "data")
    questions = folder / "data" / "questions.jsonl"
    rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    questions.write_text("".join(json.dumps(row | field(row)) + "\n" for row in rows), "utf-8")
    return {"kind": "golden", "path": "data"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "command", "documents", "changes"),
    [
        (ResultKind.ALONE, "gate", 12, {"sweep": None}),
        (ResultKind.EQUIVALENT, "export", 12, {"smallest_difference": 0.6}),
        (ResultKind.TIED, "lab", 12, {}),
        (ResultKind.FEW, "lab", 2, {}),
        (ResultKind.INCOMPLETE, "sweep", 12, {"pipeline": {"retrieval": {"kind": "dense", "k": 5}}}),
    ],
)
def test_the_command_of_each_kind_works_as_it_is_printed(
    made: Made,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: dict[str, object],
    kind: ResultKind,
    command: str,
    documents: int,
    changes: dict[str, object],
) -> None:
    if kind is ResultKind.INCOMPLETE:
        changes = changes | {"sweep": {"embedding": [{"kind": "hashed"}, broken]}}
    run = swept(made, tmp_path, documents, **changes)
    decision = decide(findings(run))
    assert decision.kind is kind
    # The report was written from within the folder, with the paths of the command.
    monkeypatch.chdir(tmp_path)
    step = opening(decide(findings(RunTables.read(Path(OUTPUTS, "mine"))))).step
    assert step.command in (tmp_path / OUTPUTS / "mine" / "report.html").read_text("utf-8").replace("&#39;", "'").replace("&#34;", '"')
    words = shlex.split(step.command)
    assert words[:2] == ["workbench", command]
    assert any(path in words for path in (FILE, f"{OUTPUTS}/mine"))
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, arguments: started.append(arguments))
    done = workbench(*words[1:], cwd=tmp_path)
    # What failed fails again until it is repaired.
    assert done.returncode == (3 if kind is ResultKind.INCOMPLETE else 0), done.stderr
    assert bool(started) == (command == "lab")
    if kind is not ResultKind.INCOMPLETE:
        # A report that is written again remembers how the run was swept.
        assert workbench("report", f"{OUTPUTS}/mine", cwd=tmp_path).returncode == 0
        assert opening(decide(findings(RunTables.read(Path(OUTPUTS, "mine"))))).step == step


@pytest.mark.slow
def test_hybrid_search_is_added_to_the_sweep_if_what_is_missed_ranks_too_low(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = swept(made, tmp_path)
    _, step = step_of(tmp_path, monkeypatch, causes=too_low(run))
    assert step.sentence.startswith("All misses are ranked too low: try hybrid search.")
    assert step.command.count('"kind": "bm25"') == step.command.count('"kind": "hybrid"') == 1
    done = workbench(*shlex.split(step.command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(RunTables.read(Path(OUTPUTS, "mine")).names) == 4


@pytest.mark.slow
def test_a_reranker_is_added_to_the_sweep_if_hybrid_search_was_tried(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = {"embedding": {"kind": "hashed"}, "retrieval": {"kind": "bm25", "k": 5}}
    retrieval = {"retrieval": [{"kind": "bm25", "k": 5}, {"kind": "hybrid", "k": 5}]}
    run = swept(made, tmp_path, pipeline=pipeline, sweep=retrieval)
    _, step = step_of(tmp_path, monkeypatch, causes=too_low(run))
    assert step.sentence == "All misses are ranked too low: try a reranker. Results that are there are reused."
    done = pasted(step.command, tmp_path)
    assert done.returncode == 0, done.stderr
    names = RunTables.read(Path(OUTPUTS, "mine")).names
    assert len(names) == 4
    assert sum("late_interaction" in name for name in names) == 2


@pytest.mark.slow
@pytest.mark.parametrize("metrics", [["span_recall@60t", "answer_recall"], ["span_recall@60t"]])
def test_configurations_that_differ_in_answers_are_ranked_by_a_metric_of_answers(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: list[str]
) -> None:
    dataset = with_fields(made, tmp_path, lambda row: {"answer": str(row["query"]).removeprefix("When is ")})
    answering = {"answering": [{"kind": "extractive", "sentences": 1}, {"kind": "extractive", "sentences": 2}]}
    swept(made, tmp_path, dataset=dataset, sweep=answering, metrics=metrics, judging="none")
    kind, step = step_of(tmp_path, monkeypatch)
    assert (kind, step.sentence) == (ResultKind.IDENTICAL, "Rank by a metric of answers, and sweep again. Results are reused.")
    done = pasted(step.command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(RunTables.read(Path(OUTPUTS, "mine")).primary) == "answer_recall"
    assert step_of(tmp_path, monkeypatch)[0] is not ResultKind.IDENTICAL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "does"),
    [
        ({"synthetic": True}, "Accept or delete the drafts"),
        ({"synthetic": True, "provenance": {"part": "placeholder"}}, "Write the questions in place of the placeholders"),
    ],
)
def test_drafts_are_accepted_in_the_labeller_that_the_command_opens(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], does: str
) -> None:
    swept(made, tmp_path, 3, dataset=with_fields(made, tmp_path, lambda _: fields, 3))
    kind, step = step_of(tmp_path, monkeypatch)
    assert (kind, step.sentence) == (ResultKind.DRAFTS, f"{does} in the labeller, then sweep again.")
    # JupyterLab takes the place of the shell's process: it is not started, and the notebook that it would open is run to the labeller.
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, arguments: started.append(arguments))
    done = workbench(*shlex.split(step.command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (notebook,) = Path("notebooks").glob("label-*.ipynb")
    assert str(notebook) in " ".join(*started)
    cells = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    monkeypatch.chdir("notebooks")
    for cell in cells[: next(place for place, cell in enumerate(cells) if "wb.label(" in cell) + 1]:
        exec(cell, names)
    session = names["labeller"].session
    for number, query in enumerate(names["dataset"].queries):
        session.go_to(query.query_id)
        session.rewrite(f"At what time is lamp {number} switched?")
    labelled = wb.apply_labels(names["dataset"], session.file.path).dataset
    wb.save_dataset(labelled, tmp_path / "labelled")
    done = workbench("sweep", FILE, "--outputs", OUTPUTS, "--set", "dataset.path=labelled", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert step_of(tmp_path, monkeypatch)[0] is not ResultKind.DRAFTS


@pytest.mark.slow
def test_only_the_missing_answers_are_asked_for_again(
    made: Made, provider: ChatProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(row: dict[str, object]) -> str:
        return f"{str(row['query']).removeprefix('When is ').removesuffix('?')} early every morning"

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        (query,) = [query for query in answers if query in body["messages"][-1]["content"]]
        if body["model"] == "good":
            return {"status": 400, "message": "no"} if broken and query in lost else {"text": answers[query]}
        return {"text": answers[query].removesuffix(" morning") if int(query.split("-")[1][0]) % 2 else answers[query]}

    dataset = with_fields(made, tmp_path, lambda row: {"answer": words(row)})
    rows = [json.loads(line) for line in (tmp_path / "data" / "questions.jsonl").read_text("utf-8").splitlines()]
    answers = {str(row["query"]): str(row["answer"]) for row in rows}
    lost, broken = {str(row["query"]) for row in rows[:110:11]}, True
    provider.reply_to = reply
    chat = {"kind": "chat", "provider": "openai", "base_url": f"{provider.host}/v1", "retries": 0, "timeout": 5, "max_tokens": 64}
    answering = {"answering": [chat | {"model": model} for model in ("good", "weak")]}
    swept(
        made,
        tmp_path,
        dataset=dataset,
        sweep=answering,
        metrics=["span_recall@60t", "answer_recall"],
        primary="answer_recall",
        judging="none",
    )
    kind, step = step_of(tmp_path, monkeypatch)
    assert kind is ResultKind.MISSING
    assert step.sentence == "Sweep again: results that have a value are reused, and only the missing ones are computed."
    broken, before = False, len(provider.asked)
    done = pasted(step.command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(provider.asked) - before == len(lost)
    assert step_of(tmp_path, monkeypatch)[0] is ResultKind.WINNER


def test_a_command_never_allows_the_code_that_a_manifest_of_somebody_else_names(made: Made) -> None:
    run = made.valued([[0.5] * 20, [0.5] * 20], documents=2, name="foreign")
    for arguments, command in (
        (["mine.yaml", "--allow-code"], "workbench lab mine.yaml --notebook label"),
        (["mine.yaml", "--set", "name=a", "--allow-code", "--set", "--allow-code"], "workbench lab mine.yaml --notebook label"),
        (["--allow-code", "mine.yaml"], ""),
    ):
        foreign = replace(run, manifest={**run.manifest, "arguments": arguments})
        assert opening(decide(findings(foreign))).step.command == command
        assert "--allow-code" not in next_step_module._sweep(foreign)
    sweep = next_step_module._sweep(
        replace(run, manifest={**run.manifest, "arguments": ["mine.yaml", "--set", "name=a b", "--allow-code"]})
    )
    assert sweep.startswith("workbench sweep mine.yaml --set 'name=a b'")


@pytest.mark.slow
def test_systems_that_were_compared_in_python_have_no_command_that_would_fail(made: Made, tmp_path: Path) -> None:
    dataset = wb.load_dataset(made.data(12))
    index = wb.Pipeline(chunking=wb.FixedChunker(size=16), retrieval=wb.BM25Retriever(k=5)).index(dataset, tmp_path / "store")
    systems = {"good": index.search, "deaf": lambda _, k: index.search("the lamp", k)}
    for outputs, does in (
        (None, "To keep this run and make it the baseline of the gate"),
        (tmp_path / "kept", "Make it the baseline of the gate after three"),
    ):
        compared = findings(wb.compare(systems, dataset, ["mrr@5"], k=5, outputs=outputs))
        step = opening(decide(compared)).step
        assert step.sentence.startswith(does)
        assert step.command == ""
