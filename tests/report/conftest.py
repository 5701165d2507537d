"""A tiny real experiment: five Markdown pages, six questions, real vectors, one chunking too long for the window, one model broken."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.made_runs import Made, settings
from tests.shared import built_once
from workbench.execution.collect import collect
from workbench.execution.local import Outcome, run_experiment
from workbench.execution.outputs import write_outputs
from workbench.experiment.read import experiment_of
from workbench.models.files import MINILM, locate
from workbench.notebook_runner.notebooks import notebook_path, run_notebook
from workbench.report.render.html import write_report
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class Shown:
    """A finished sweep with its notebooks and its report."""

    outcome: Outcome
    run: RunTables
    folder: Path
    report: Path

    @property
    def page(self) -> str:
        return self.report.read_text("utf-8")


def broken_model(folder: Path) -> None:
    """Write a model that an experiment may name, since it has a tokeniser, and that cannot be loaded."""
    (folder / "config.json").write_text("{}")
    shutil.copy(locate(MINILM) / "tokenizer.json", folder)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "broken", broken_model)


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Outcome], broken: Path) -> Shown:
    def sweep() -> Outcome:
        short = {"kind": "sentence-transformers", "max_tokens": 48}
        chunking = [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}]
        return run(name="shown", sweep={"chunking": chunking, "embedding": [short, short | {"model": str(broken)}]})

    built_once(tmp_path_factory, "shown", lambda _: show(sweep()))
    outcome = sweep()
    return Shown(outcome, collect(outcome), outcome.folder, outcome.folder / "report.html")


def show(outcome: Outcome) -> None:
    """Write the tables, the notebooks and the report of a run."""
    tables = write_outputs(outcome)
    parameters = {"results": str(outcome.folder)}
    store, notebooks = outcome.context.workspace.store, outcome.folder / "notebooks"
    run_notebook(store, notebook_path("comparison"), parameters, "tiny", notebooks / "comparison.ipynb")
    source = notebook_path("configuration")
    for name in [one for one in tables.names if not one.startswith("fixed-32")]:
        run_notebook(store, source, parameters | {"configuration": name}, "tiny", notebooks / f"{name}.ipynb")
    write_report(tables, outcome.folder / "report.html")


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
    return Shown(outcome, tables, outcome.folder, write_report(tables, outcome.folder / "report.html"))


LONG = "paraphrase-multilingual-mpnet-base-v2-dimensions-256-with-header-{number:02d}-cross-encoder-{name}"


@pytest.fixture(scope="session")
def untidy(made: Made, broken: Path) -> RunTables:
    """26 chunkings, every fifth under a name of 80 letters, an embedder whose window is too short, and one that is broken."""
    sizes = {"kind": "fixed", "size": [16 + 4 * number for number in range(13)], "overlap": [0, 8]}
    many = experiment_of(made.experiment(1, name="untidy", sweep={"chunking": [sizes]}), "here")
    embedders = [{"kind": "sentence-transformers", "max_tokens": 24}, {"kind": "sentence-transformers", "model": str(broken)}]
    dense = {"retrieval": {"kind": "dense", "k": 5}, "chunking": {"kind": "fixed", "size": 64, "overlap": 0}}
    further = experiment_of(made.experiment(1, name="untidy", pipeline=dense, sweep={"embedding": embedders}), "here")
    chosen = (*many.configurations, *further.configurations)
    names = [LONG.format(number=number, name=one.name)[:80] if number % 5 == 0 else one.name for number, one in enumerate(chosen)]
    renamed = tuple(replace(one, name=name) for one, name in zip(chosen, names, strict=True))
    return collect(run_experiment(replace(many, configurations=renamed), made.folder / "outputs", lambda _: None))
