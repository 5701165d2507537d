"""A tiny real experiment: five Markdown pages, six questions, real vectors, one chunking too long for the window, one model broken."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.tiny_dataset import write_dataset
from workbench.execution.local import Outcome, Result, run_experiment
from workbench.experiment.read import experiment_of
from workbench.notebook_runner.notebooks import run_notebook
from workbench.report.render.html import write_report
from workbench.storage.result_store import Entry


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
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The dataset's folder and, beside it, the outputs that all tests of the report share."""
    folder = tmp_path_factory.mktemp("tiny")
    write_dataset(folder / "data", evidence=True)
    write_dataset(folder / "labels", evidence=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKBENCH_STORE", raising=False)
        yield folder


def settings(place: Path, **changes: object) -> dict[str, object]:
    base: dict[str, object] = {
        "name": "tiny",
        "dataset": {"kind": "golden", "path": str(place / "data")},
        "pipeline": {
            "chunking": {"kind": "fixed", "size": 16},
            "embedding": {"kind": "sentence-transformers", "max_tokens": 48},
            "retrieval": {"kind": "dense", "k": 5},
        },
        "metrics": ["span_recall@500t", "span_recall@2", "recall@3", "precision@3", "ndcg@3", "chunk_precision@2"],
    }
    return base | changes


@pytest.fixture(scope="session")
def run(place: Path) -> Callable[..., Outcome]:
    """Runs the tiny experiment with changes; `evidence` False takes the same questions without spans."""

    def ran(evidence: bool = True, **changes: object) -> Outcome:
        data = {"kind": "golden", "path": str(place / ("data" if evidence else "labels"))}
        return run_experiment(experiment_of(settings(place, dataset=data, **changes), "here"), place / "outputs", lambda _: None)

    return ran


@pytest.fixture(scope="session")
def outcome_of_sizes(run: Callable[..., Outcome]) -> Callable[[], Outcome]:
    """Runs three sizes, the largest beyond the window, without notebooks."""
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}]}
    metrics = ["span_recall@500t", "span_recall@2", "complete@2", "recall@3"]
    return lambda: run(name="sizes", sweep=sweep, metrics=metrics)


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


@dataclass(frozen=True)
class Made:
    """Runs of generated documents, ten questions each, whose primary metric may be replaced by values made by hand."""

    folder: Path

    def data(self, documents: int) -> Path:
        folder = self.folder / f"{documents}-documents"
        if folder.exists():
            return folder
        (folder / "documents").mkdir(parents=True)
        rows = []
        for doc in range(documents):
            facts = [f"The lamp of room {doc}-{fact} is switched at {fact} past {doc + 1} in the morning." for fact in range(10)]
            (folder / "documents" / f"d{doc}.md").write_text(" ".join(facts), "utf-8")
            for fact, text in enumerate(facts):
                start = " ".join(facts).index(text)
                evidence = [[{"doc_id": f"d{doc}", "start": start, "end": start + len(text)}]]
                row = {"query_id": f"q{doc}-{fact}", "query": f"When is the lamp of room {doc}-{fact} switched?", "evidence": evidence}
                other = f"d{(doc + 1) % documents}"
                rows.append(
                    row | {"relevant_doc_ids": [f"d{doc}"], "irrelevant_doc_ids": [other], "kind": "even" if fact % 2 == 0 else "odd"}
                )
        (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return folder

    def experiment(self, configurations: int, documents: int = 12, **changes: object) -> dict[str, object]:
        base: dict[str, object] = {
            "name": f"made-{configurations}-{documents}",
            "dataset": {"kind": "golden", "path": str(self.data(documents))},
            "pipeline": {"retrieval": {"kind": "bm25", "k": 5}},
            "sweep": {"chunking": [{"kind": "fixed", "size": [16 + 8 * number for number in range(configurations)], "overlap": 0}]},
            "metrics": ["span_recall@60t", "recall@3", "irrelevant@3"],
        }
        return base | changes

    def ran(self, configurations: int, documents: int = 12, **changes: object) -> Outcome:
        return run_experiment(
            experiment_of(self.experiment(configurations, documents, **changes), "here"), self.folder / "outputs", lambda _: None
        )

    def valued(self, values: Sequence[Sequence[float]], documents: int = 12, **changes: object) -> Outcome:
        """A configuration for each row of values; NaN is unscored."""
        outcome = self.ran(len(values), documents, **changes)
        results = [replace(one, scores=self._scores(outcome, one, row)) for one, row in zip(outcome.results, values, strict=True)]
        return Outcome(outcome.experiment, outcome.bench, outcome.primary, results, outcome.failures)

    def _scores(self, outcome: Outcome, result: Result, values: Sequence[float]) -> Entry:
        scores, primary = result.scores.table("scores"), str(outcome.primary)
        mine = scores["metric"] == primary
        scores.loc[mine, "value"] = np.asarray(values, dtype=float)[scores.loc[mine, "query"]]
        scores.loc[mine & scores["value"].isna(), "state"] = "unscored"
        key = hashlib.sha256(repr((result.scores.folder.name, primary, list(values))).encode()).hexdigest()
        return outcome.bench.workplace.store.obtain("scores", key, lambda draft: draft.table("scores", scores))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKBENCH_STORE", raising=False)
        yield Made(tmp_path_factory.mktemp("made"))


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
