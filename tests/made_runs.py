"""Small finished runs: of a tiny dataset with dense retrieval, and of generated documents with metric values set by hand."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from tests.shared import built_once, shared_folder
from tests.tiny_dataset import write_dataset
from workbench.core.storage.result_store import ResultWriter
from workbench.llm.models.files import MINILM, locate
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import ExperimentSpec, experiment_of
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.stage_results import StageResults


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the tiny dataset, with and without spans, and the outputs that all tests share."""
    folder = built_once(tmp_path_factory, "tiny", write_datasets)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKBENCH_STORE", raising=False)
        yield folder


def write_datasets(folder: Path) -> None:
    write_dataset(folder / "data", evidence=True)
    write_dataset(folder / "labels", evidence=False)


def settings(place: Path, **changes: object) -> dict[str, object]:
    base: dict[str, object] = {
        "name": "tiny",
        "dataset": {"kind": "golden", "path": str(place / "data")},
        "pipeline": {
            "chunking": {"kind": "fixed", "size": 16},
            "embedding": {"kind": "hashed", "max_tokens": 48},
            "retrieval": {"kind": "dense", "k": 5},
        },
        "metrics": ["span_recall@500t", "span_recall@2", "recall@3", "precision@3", "ndcg@3", "chunk_precision@2"],
    }
    return base | changes


def short_named(settings: dict[str, object], *words: str) -> ExperimentSpec:
    """Read an experiment. Its configurations are named without the words for what all of a fixture's runs have, where they differ without them."""
    experiment = experiment_of({key: value for key, value in settings.items() if key != "baseline"}, "here")
    names = [each.name for each in experiment.configurations]
    for word in words:
        shorter = ["-".join(part for part in name.split("-") if part != word) for name in names]
        names = shorter if len(set(shorter)) == len(shorter) else names
    pairs = zip(experiment.configurations, names, strict=True)
    named = tuple(replace(each, name=name) if isinstance(each, PipelineConfiguration) else each for each, name in pairs)
    baseline = settings.get("baseline")
    assert baseline is None or baseline in names
    recorded = experiment.settings | ({"baseline": baseline} if baseline else {})
    return replace(experiment, configurations=named, baseline=str(baseline) if baseline else None, settings=recorded)


@pytest.fixture(scope="session")
def tiny_sweep(place: Path) -> Callable[..., Outcome]:
    """Run the tiny experiment with changes; `evidence=False` takes the same questions without their spans."""

    def ran(evidence: bool = True, **changes: object) -> Outcome:
        data = {"kind": "golden", "path": str(place / ("data" if evidence else "labels"))}
        experiment = short_named(settings(place, dataset=data, **changes), "hashed", "window48", "k5", "torch")
        return run_experiment(experiment, place / "outputs", lambda _: None)

    return ran


@pytest.fixture(scope="session")
def run(tiny_sweep: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """The same, in files that have no `run` of their own."""
    return tiny_sweep


# Chunks of three sizes, the largest beyond the window. They are measured once for all runs that have no other configurations.
SIZES = {"chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}]}


@pytest.fixture(scope="session")
def outcome_of_sizes(tiny_sweep: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Run chunks of three sizes."""
    metrics = ["span_recall@500t", "span_recall@2", "complete@2", "recall@3"]

    def ran(**changes: object) -> Outcome:
        outcome = tiny_sweep(name="sizes", sweep=SIZES, metrics=metrics, **changes)
        assert not outcome.failures
        return outcome

    return ran


@dataclass(frozen=True)
class Made:
    """Run generated documents with ten questions each, and replace the values of the primary metric by given ones."""

    folder: Path

    def data(self, documents: int) -> Path:
        folder = self.folder / f"{documents}-documents"
        with FileLock(folder.with_suffix(".lock")):
            if not folder.exists():
                self._write_data(folder, documents)
        return folder

    def _write_data(self, folder: Path, documents: int) -> None:
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
                kind = "even" if fact % 2 == 0 else "odd"
                rows.append(row | {"relevant_doc_ids": [f"d{doc}"], "irrelevant_doc_ids": [other], "kind": kind})
        (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

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
        experiment = short_named(self.experiment(configurations, documents, **changes), "bm25", "k5", "hashed", "pool5")
        return run_experiment(experiment, self.folder / "outputs", lambda _: None)

    def valued(self, values: Sequence[Sequence[float]], documents: int = 12, missing: str = "unscored", **changes: object) -> RunTables:
        """Run a configuration for each row of values and set its primary metric to them; NaN has the state `missing`."""
        outcome = self.ran(len(values), documents, **changes)
        results = [self._scored(outcome, result, row, missing) for result, row in zip(outcome.results, values, strict=True)]
        return collect(replace(outcome, results=results))

    def _scored(self, outcome: Outcome, result: StageResults, values: Sequence[float], missing: str) -> StageResults:
        primary, parts = str(outcome.primary), dict(result.entries["scores"])
        scores = parts[primary].table("scores")
        scores["value"] = np.asarray(values, dtype=float)[scores["query"]]
        scores.loc[scores["value"].isna(), "state"] = missing
        key = hashlib.sha256(repr((parts[primary].folder.name, missing, list(values))).encode()).hexdigest()

        def compute(writer: ResultWriter) -> None:
            writer.table("scores", scores)
            writer.values("change", None)

        parts[primary] = outcome.run.workspace.store.obtain("scores", key, compute)
        return replace(result, entries={**result.entries, "scores": parts})


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKBENCH_STORE", raising=False)
        yield Made(shared_folder(tmp_path_factory, "made"))


def one_question(made: Made) -> dict[str, str]:
    """Write a dataset of one question, and return its settings."""
    folder = made.folder / "one-question"
    if not folder.exists():
        (folder / "documents").mkdir(parents=True)
        (folder / "documents" / "d.md").write_text("The ferry leaves at ten in the morning.", "utf-8")
        row = '{"query_id": "q", "query": "When does the ferry leave?", "relevant_doc_ids": ["d"], "evidence": [[{"doc_id": "d", "start": 0, "end": 39}]]}'
        (folder / "questions.jsonl").write_text(row + "\n", "utf-8")
    return {"kind": "golden", "path": str(folder)}


def broken_model(folder: Path) -> None:
    """Write a model that an experiment may name, since it has a tokeniser, and whose settings are read only when it embeds."""
    (folder / "config.json").write_text("{}")
    (folder / "config_sentence_transformers.json").write_text("{")
    shutil.copy(locate(MINILM) / "tokenizer.json", folder)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """An embedder that fails, without loading torch."""
    folder = built_once(tmp_path_factory, "broken", broken_model)
    return {"kind": "sentence-transformers", "model": str(folder), "backend": "torch"}


SERVICES = ("even", "third", "fifth")


def lamps_of_even(query: str, k: int) -> list[dict[str, object]]:
    """Find the fact of a question of `Made` in every second document."""
    return _lamp(query, 2)[:k]


def lamps_of_third(query: str, k: int) -> list[dict[str, object]]:
    """Find it in every third document."""
    return _lamp(query, 3)[:k]


def lamps_of_fifth(query: str, k: int) -> list[dict[str, object]]:
    """Find it in every fifth document."""
    return _lamp(query, 5)[:k]


def _lamp(query: str, every: int) -> list[dict[str, object]]:
    doc, fact = map(int, query.split()[6].split("-"))
    said = f"The lamp of room {doc}-{fact} is switched at {fact} past {doc + 1} in the morning."
    return [{"doc_id": f"d{doc}", "text": said}] if doc % every == 0 else []


LONG = "paraphrase-multilingual-mpnet-base-v2-dimensions-256-with-header-{number:02d}-cross-encoder-{name}"

LONG_SERVICE = "production-search-service-with-rewriting-of-synonyms-and-spelling-of-all-{name}"


@pytest.fixture(scope="session")
def untidy(made: Made, broken: dict[str, object]) -> RunTables:
    """35 configurations, every fifth under a name of 80 letters.

    26 chunkings, three services, two whose chunks are longer than the embedder's window, and four that fail for three reasons.
    """
    sizes = {"kind": "fixed", "size": [16 + 4 * number for number in range(13)], "overlap": [0, 8]}
    failing = [{"kind": "callable", "callable": name} for name in ("builtins:str.upper", "json:loads")]
    services = [
        {"kind": "callable", "name": LONG_SERVICE.format(name=place), "search": f"tests.made_runs:lamps_of_{place}"} for place in SERVICES
    ]
    changes = {"name": "untidy", "sweep": {"chunking": [sizes, *failing]}, "targets": services}
    many = short_named(made.experiment(1, **changes), "bm25", "k5")
    embedders = [{"kind": "hashed", "max_tokens": 24}, broken]
    dense = {"retrieval": {"kind": "dense", "k": 5}}
    crossed = {"embedding": embedders, "chunking": [{"kind": "fixed", "size": [64, 72], "overlap": 0}]}
    further = short_named(made.experiment(1, name="untidy", pipeline=dense, sweep=crossed), "torch", "k5")
    chosen = (*many.configurations, *further.configurations)
    renamed = tuple(
        replace(one, name=LONG.format(number=number, name=one.name)[:80])
        if number % 5 == 0 and isinstance(one, PipelineConfiguration)
        else one
        for number, one in enumerate(chosen)
    )
    allowed = replace(many, configurations=renamed, allow_code=True)
    return collect(run_experiment(allowed, made.folder / "outputs", lambda _: None))
