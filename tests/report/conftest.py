"""A tiny experiment: five Markdown pages, six questions, one chunking too long for the window, one model broken."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.made_runs import SIZES, settings
from tests.shared import built_once
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import USED, notebook_path, run_notebook


@dataclass(frozen=True)
class Shown:
    """A finished sweep with its report."""

    run: RunTables
    folder: Path
    report: Path

    @property
    def page(self) -> str:
        return self.report.read_text("utf-8")


@pytest.fixture(scope="session")
def kernels() -> Iterator[Kernels]:
    """Kernels of notebooks, forked from one process that has the imports."""
    with Kernels(USED, lambda _: None) as started:
        yield started


@pytest.fixture(scope="session")
def shown(
    tmp_path_factory: pytest.TempPathFactory, place: Path, run: Callable[..., Outcome], broken: dict[str, object], kernels: Kernels
) -> Shown:
    """A run with failures, the notebooks of its comparison and of its first configuration, and its report."""
    folder = place / "outputs" / "shown"

    def build(_: Path) -> None:
        outcome = run(name="shown", sweep={**SIZES, "embedding": [{"kind": "hashed", "max_tokens": 48}, {**broken, "max_tokens": 48}]})
        tables = write_outputs(outcome)
        for notebook, name, chosen in (
            ("comparison", "comparison", {}),
            ("configuration", tables.names[0], {"configuration": tables.names[0]}),
        ):
            parameters = {"results": str(folder), **chosen}
            target = folder / "notebooks" / f"{name}.ipynb"
            run_notebook(outcome.run.workspace.store, notebook_path(notebook), parameters, "tiny", target, kernels)
        write_report(RunTables.read(folder), folder / "report.html")

    built_once(tmp_path_factory, "shown", build)
    return Shown(RunTables.read(folder), folder, folder / "report.html")


HOSTILE = {
    "script": "</script><script>window.x=1</script><!--<script> </style><img src=http://evil.example/a.png onerror=window.x=2>",
    "wide": "😀😀 " + "w" * 3000 + " 𝒳 The bridge opens at nine. 😀 The ferry leaves at ten.",
    "right": "שלום עולם \u202e The gate is \x01 red.\u2028 عربى",
    "amp": "&lt;b&gt; &amp; ${x} {{ x }} <b>Bold</b> is said. ]]> \"quoted\" 'so'",
}
HOSTILE_QUESTIONS = [
    (
        "</script><script>window.x=3</script> which image?\x1b[2J\x9b31m\x00",
        "script",
        "<img src=http://evil.example/a.png onerror=window.x=2>",
    ),
    ("When does the bridge 😀 open?", "wide", "The bridge opens at nine."),
    ("When does the ferry leave?" + "y" * 400, "wide", "The ferry leaves at ten."),
    ("\u202eWhich gate? מה", "right", "The gate is \x01 red."),
    ('What is <b>bold</b> & "quoted"?', "amp", "<b>Bold</b> is said."),
]


def write_hostile(folder: Path) -> None:
    documents = "".join(json.dumps({"doc_id": f"{name}<i>", "text": text}) + "\n" for name, text in HOSTILE.items())
    (folder / "documents.jsonl").write_text(documents, "utf-8")
    rows = []
    for number, (query, name, span) in enumerate(HOSTILE_QUESTIONS):
        start = HOSTILE[name].index(span)
        need = [{"doc_id": f"{name}<i>", "start": start, "end": start + len(span)}]
        row = {
            "query_id": f"q{number}</script>",
            "query": query,
            "relevant_doc_ids": [f"{name}<i>"],
            "evidence": [need],
            "kind": f"<u>{number % 2}",
        }
        rows.append(json.dumps(row) + "\n")
    (folder / "questions.jsonl").write_text("".join(rows), "utf-8")


@pytest.fixture(scope="session")
def hostile(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A report on documents and questions that try to be markup, overflow, turn the direction and miscount their letters."""
    folder = built_once(tmp_path_factory, "hostile", write_hostile)
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}], "retrieval": [{"kind": "bm25", "k": 3}]}
    experiment = experiment_of(
        settings(
            place, name="hostile", dataset={"kind": "golden", "path": str(folder)}, sweep=sweep, metrics=["span_recall@40t", "recall@3"]
        ),
        "here",
    )
    outcome = run_experiment(experiment, place / "outputs", lambda _: None)
    tables = collect(outcome)
    return Shown(tables, outcome.folder, write_report(tables, outcome.folder / "report.html"))
