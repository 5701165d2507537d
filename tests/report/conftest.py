"""A tiny real experiment: five Markdown pages, six questions, real vectors, one chunking too long for the window, one model broken."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.made_runs import settings
from workbench.execution.local import Outcome, run_experiment
from workbench.experiment.read import experiment_of
from workbench.notebook_runner.notebooks import run_notebook
from workbench.report.render.html import write_report


@dataclass(frozen=True)
class Shown:
    """A finished sweep with its notebooks and its report."""

    outcome: Outcome
    folder: Path
    report: Path

    @property
    def page(self) -> str:
        return self.report.read_text("utf-8")


@pytest.fixture(scope="session")
def shown(place: Path, run: Callable[..., Outcome]) -> Shown:
    broken = place / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    embedding = [
        {"kind": "sentence-transformers", "max_tokens": 48},
        {"kind": "sentence-transformers", "model": str(broken), "max_tokens": 48},
    ]
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}], "embedding": embedding}
    outcome = run(sweep=sweep)
    experiment = place / "tiny.yaml"
    experiment.write_text(yaml.safe_dump(settings(place, sweep=sweep)), "utf-8")
    parameters = {"experiment": str(experiment), "outputs": str(place / "outputs"), "overrides": []}
    store, notebooks = outcome.bench.workplace.store, outcome.folder / "notebooks"
    run_notebook(store, "comparison", parameters, "tiny", notebooks / "comparison.ipynb")
    for name in [one for one in (result.configuration.name for result in outcome.results) if not one.startswith("fixed-32")]:
        run_notebook(store, "configuration", parameters | {"configuration": name}, "tiny", notebooks / f"{name}.ipynb")
    return Shown(outcome, outcome.folder, write_report(outcome, outcome.folder))


HOSTILE = {
    "script": "</script><script>window.x=1</script><!--<script> </style><img src=http://evil.example/a.png onerror=window.x=2>",
    "wide": "😀😀 " + "w" * 3000 + " 𝒳 The bridge opens at nine. 😀 The ferry leaves at ten.",
    "right": "שלום עולם \u202e The gate is \x01 red.\u2028 عربى",
    "amp": "&lt;b&gt; &amp; ${x} {{ x }} <b>Bold</b> is said. ]]> \"quoted\" 'so'",
}
HOSTILE_QUESTIONS = [
    ("</script><script>window.x=3</script> which image?", "script", "<img src=http://evil.example/a.png onerror=window.x=2>"),
    ("When does the bridge 😀 open?", "wide", "The bridge opens at nine."),
    ("When does the ferry leave?" + "y" * 400, "wide", "The ferry leaves at ten."),
    ("\u202eWhich gate? מה", "right", "The gate is \x01 red."),
    ('What is <b>bold</b> & "quoted"?', "amp", "<b>Bold</b> is said."),
]


@pytest.fixture(scope="session")
def hostile(place: Path) -> Shown:
    """A report on documents and questions that try to be markup, overflow, turn the direction and miscount their letters."""
    folder = place / "hostile"
    folder.mkdir()
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
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}], "retrieval": [{"kind": "bm25", "k": 3}]}
    experiment = experiment_of(
        settings(
            place, name="hostile", dataset={"kind": "golden", "path": str(folder)}, sweep=sweep, metrics=["span_recall@40t", "recall@3"]
        ),
        "here",
    )
    outcome = run_experiment(experiment, place / "outputs", lambda _: None)
    return Shown(outcome, outcome.folder, write_report(outcome, outcome.folder))
