"""A tiny real experiment: five Markdown pages, six questions, real vectors, one chunking too long for the window, one model broken."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from workbench.experiment.notebooks import run_notebook
from workbench.experiment.run import Outcome, run_experiment
from workbench.experiment.spec import experiment_of
from workbench.report.html import write_report

PAGES = {
    "boats": "# Boats\n\nThe harbour holds forty boats.\n\n## Mooring\n\nA mooring costs nine euros a night. Pay at the kiosk before noon, or the "
    "warden doubles the fee.\n\n## Fuel\n\nFuel is sold on Tuesdays only, at the north pier, between eight and eleven in the morning.",
    "bread": "# Bread\n\nMix flour, water, salt and yeast.\n\n## Proving\n\nLet the dough rest for fourteen hours in a cool cellar.\n\n"
    "## Baking\n\nBake at two hundred and thirty degrees until the crust sounds hollow when it is knocked.",
    "bees": "# Bees\n\nA hive swarms in May.\n\n## Feeding\n\nFeed two litres of syrup in September. Never feed honey from another apiary: it "
    "carries foulbrood.\n\n## Winter\n\nWrap the hive when frost comes and do not open it before March.",
    "attack": "# Notes\n\nThis page is <script>window.x=1</script> not to be run, and shows <img src=http://evil.example/a.png "
    "onerror=window.x=2> nothing. The password of the guest network is heron seventeen.\n\n</mark></td></table><h1>Injected</h1>",
    "repeats": "Opening hours are nine to five.\n\nOpening hours are nine to five.\n\nOpening hours are nine to five.",
}
QUESTIONS = [
    ("How much is a mooring?", "boats", "A mooring costs nine euros a night."),
    ("When can I buy fuel?", "boats", "Fuel is sold on Tuesdays only, at the north pier, between eight and eleven in the morning."),
    ("How long does dough rest?", "bread", "Let the dough rest for fourteen hours in a cool cellar."),
    ("Which honey must bees not get?", "bees", "Never feed honey from another apiary: it carries foulbrood."),
    ("What is the guest password?", "attack", "<script>window.x=1</script> not to be run, and shows <img src=http://evil.example/a.png"),
    ("When are you <b>open</b>?", "repeats", "Opening hours are nine to five."),
]


@dataclass(frozen=True)
class Shown:
    """A finished sweep with its notebooks and its report."""

    outcome: Outcome
    folder: Path
    report: Path

    @property
    def page(self) -> str:
        return self.report.read_text("utf-8")


def write_dataset(folder: Path, evidence: bool) -> Path:
    (folder / "documents").mkdir(parents=True)
    for name, text in PAGES.items():
        (folder / "documents" / f"{name}.md").write_text(text, "utf-8")
    rows = []
    for number, (query, doc_id, span) in enumerate(QUESTIONS):
        found = [match.span() for match in re.finditer(re.escape(span), PAGES[doc_id])]
        need = [{"doc_id": doc_id, "start": start, "end": end} for start, end in found]
        row = {"query_id": f"q{number}", "query": query, "relevant_doc_ids": [doc_id], "answer": span[:20]}
        rows.append(row | ({"evidence": [need]} if evidence else {}))
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


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
