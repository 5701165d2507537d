import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.api.export.exported import Asked, Reply, ask
from workbench.api.export.export import export_configuration
from workbench.components.context import packing
from workbench.core.errors import InputError
from workbench.core.text import printable
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.slow

NAMES = ("hierarchical-64-256", "hierarchical-64-256-bm25")
# Searches in both ways, and reranks by every model that is there offline.
BEYOND = [
    {"kind": "hybrid", "k": 5, "rerank": "none"},
    {"kind": "hybrid", "k": 5, "fusion": "weighted", "weights": {"dense": 0.7}, "rerank": {"kind": "late-interaction", "pool": 20}},
    {"kind": "bm25", "k": 5, "rerank": {"kind": "mmr", "pool": 10}},
]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path, tiny_model: str) -> Outcome:
    settings = {
        "name": "out",
        "dataset": {"kind": "golden", "path": str(handbook_corner)},
        # OpenVINO's vectors differ from those of torch, which an export asks with.
        "pipeline": {"embedding": {"kind": "sentence-transformers", "model": tiny_model, "backend": "torch"}},
        "configurations": [
            {"name": name, "chunking": {"kind": "hierarchical", "child": 64, "parent": 256}, "retrieval": {"kind": kind, "k": 5}}
            for name, kind in zip(NAMES, ("dense", "bm25"), strict=True)
        ],
        "metrics": ["recall@5"],
    }
    finished = run_experiment(experiment_of(settings, "test"), tmp_path_factory.mktemp("export") / "outputs", lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    return finished


@pytest.fixture(scope="module")
def by_tokens(outcome: Outcome) -> Outcome:
    """The same sweep with a primary metric that reads tokens, so that tokens are delivered."""
    settings = outcome.experiment.settings | {"name": "tokens", "metrics": ["span_recall@300t"]}
    finished = run_experiment(experiment_of(settings, "test"), outcome.run.workspace.outputs, lambda _: None)
    write_outputs(finished)
    return finished


@pytest.fixture(scope="module")
def beyond(outcome: Outcome) -> Outcome:
    """Hybrid and reranked configurations whose chunks have headers, with tokens delivered."""
    settings = outcome.experiment.settings | {"name": "beyond", "metrics": ["span_recall@300t"]}
    del settings["configurations"]
    settings["sweep"] = {"chunking": [{"kind": "hierarchical", "child": 64, "parent": 256, "enrich": True}], "retrieval": BEYOND}
    finished = run_experiment(experiment_of(settings, "test"), outcome.run.workspace.outputs, lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    return finished


@pytest.fixture(scope="module")
def folders(outcome: Outcome, by_tokens: Outcome, beyond: Outcome, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The exports of all configurations, by `<run> <configuration>`."""
    made = tmp_path_factory.mktemp("exported")
    exports = [(run, result.configuration.name) for run in (outcome, by_tokens, beyond) for result in run.results]
    return {
        f"{run.experiment.name} {name}": export_configuration(run.folder, name, made / run.experiment.name / name) for run, name in exports
    }


@pytest.fixture(scope="module")
def replies(outcome: Outcome, folders: dict[str, Path]) -> dict[str, Reply]:
    """The passages for every question, as many as the sweep delivered and, of single retrievers, 3, and the lines printed for a question."""
    questions = {query.query_id: query.text for query in outcome.run.dataset.queries}
    words, twice = outcome.run.dataset.queries[2].text, "[retrieve.retrieve(text), retrieve.retrieve(text, k=3)]"
    calls = {name: "[retrieve.retrieve(text)]" if name.startswith("beyond") else twice for name in folders}
    return dict(zip(folders, ask(Asked(folder, calls[name], questions, words) for name, folder in folders.items()), strict=True))


def delivered_by(run: Outcome, name: str) -> pd.DataFrame:
    """The hits that the sweep delivered for a configuration."""
    hits = pd.read_parquet(run.folder / "hits.parquet")
    return hits[hits["delivered"] & (hits["configuration"] == name)]


def check_passages(run: Outcome, name: str, reply: Reply) -> pd.DataFrame:
    """Check that passages are the hits of the sweep with their texts and scores. Return the hits."""
    hits = delivered_by(run, name)
    texts = {document.doc_id: document.text for document in run.run.dataset.documents}
    assert len(reply.answers) == len(run.run.dataset.queries) > 20
    for query_id, (passages, *fewer) in reply.answers.items():
        expected = hits[hits["query_id"] == query_id]
        assert [one["chunk_id"] for one in passages] == expected["chunk_id"].tolist()
        assert [(one["doc_id"], one["start"], one["end"]) for one in passages] == [
            tuple(row) for row in expected[["doc_id", "start", "kept"]].values
        ]
        assert [one["score"] for one in passages] == pytest.approx(expected["score"].tolist(), abs=2e-6)
        assert all(one["text"] == texts[one["doc_id"]][one["start"] : one["end"]] for one in sum(fewer, passages))
        assert all(len(three) == 3 for three in fewer)
    return hits


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [None, 300])
def test_every_question_gets_the_hits_that_the_sweep_delivered(
    outcome: Outcome, by_tokens: Outcome, folders: dict[str, Path], replies: dict[str, Reply], name: str, budget: int | None
) -> None:
    run = by_tokens if budget else outcome
    exported = f"{run.experiment.name} {name}"
    settings = json.loads((folders[exported] / "settings.json").read_text())
    assert settings["configuration"] == name
    assert settings["deliver"] == ({"tokens": budget} if budget else None)
    assert (folders[exported] / "tokens.npz").exists() == bool(budget)
    hits = check_passages(run, name, replies[exported])
    cut = int((hits["kept"] < hits["end"]).sum())
    assert (cut > 10) == bool(budget), cut


@pytest.mark.parametrize("number", range(len(BEYOND)))
def test_hybrid_and_reranked_configurations_answer_as_the_sweep_did(beyond: Outcome, replies: dict[str, Reply], number: int) -> None:
    name = beyond.results[number].configuration.name
    check_passages(beyond, name, replies[f"beyond {name}"])


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_what_the_sweep_delivered(
    outcome: Outcome, folders: dict[str, Path], replies: dict[str, Reply], name: str
) -> None:
    hits = delivered_by(outcome, name).groupby("query_id").get_group(outcome.run.dataset.queries[2].query_id)
    lines = [line.split()[1] for line in replies[f"out {name}"].printed.splitlines() if line.startswith("[")]
    assert lines == [f"{row.doc_id}:{row.start}-{row.kept}" for row in hits.itertuples()]
    needed = {line.split("==")[0] for line in (folders[f"out {name}"] / "requirements.txt").read_text().split()}
    assert needed <= {"chromadb", "sentence-transformers", "torch", "bm25s", "PyStemmer", "numpy", "regex"}
    assert not list(folders[f"out {name}"].parent.glob(".*"))


def command(folder: Path, question: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "retrieve.py", question], cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_program_runs_and_a_question_without_a_match_has_no_answer(outcome: Outcome, folders: dict[str, Path]) -> None:
    query = outcome.run.dataset.queries[2]
    folder = folders["out hierarchical-64-256-bm25"]
    for question, count in ((query.text, 5), ("xyzzy", 0)):
        done = command(folder, question)
        assert done.returncode == 0, done.stderr
        assert sum(line.startswith("[") for line in done.stdout.splitlines()) == count


def test_the_packing_rule_and_the_printing_of_text_are_exported_as_they_are(folders: dict[str, Path]) -> None:
    folder = folders["out hierarchical-64-256-bm25"]
    for module in (packing, printable):
        assert (folder / Path(str(module.__file__)).name).read_bytes() == Path(str(module.__file__)).read_bytes()


def test_the_default_folder_is_replaced_if_it_is_an_earlier_export_of_the_configuration(outcome: Outcome) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    assert folder == outcome.folder / "export" / "hierarchical-64-256-bm25"
    (folder / "passages.jsonl").unlink()
    assert export_configuration(outcome.folder, "hierarchical-64-256-bm25", None) == folder
    assert (folder / "passages.jsonl").is_file()
    (folder / "settings.json").write_text('{"configuration": "another"}')
    with pytest.raises(InputError, match="already exists"):
        export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    shutil.rmtree(folder)


@pytest.mark.usefixtures("replies")
def test_searches_change_no_collection(folders: dict[str, Path]) -> None:
    folder = folders["out hierarchical-64-256"] / "collection"
    digests = {name: digest for name, (_, digest) in json.loads((folder / "workbench.json").read_text())["files"].items()}
    assert {name: hashlib.blake2b((folder / name).read_bytes()).hexdigest() for name in digests} == digests
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {*digests, "workbench.json"}


def test_a_damaged_collection_is_one_line(outcome: Outcome, tmp_path: Path) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256", tmp_path / "chosen")
    database = folder / "collection" / "chroma.sqlite3"
    content = database.read_bytes()
    database.write_bytes(content[:5_000] + bytes([content[5_000] ^ 1]) + content[5_001:])
    done = command(folder, "a taxi")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("is damaged (chroma.sqlite3 has changed); export the configuration again")


def test_what_cannot_be_exported_is_one_line(outcome: Outcome, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one with --configuration: hierarchical-64-256, hierarchical-64-256-bm25"):
        export_configuration(outcome.folder, None, tmp_path / "x")
    with pytest.raises(InputError, match="no configuration 'fixed'"):
        export_configuration(outcome.folder, "fixed", tmp_path / "x")
    with pytest.raises(InputError, match=r"contains no run"):
        export_configuration(tmp_path, None, tmp_path / "x")
    with pytest.raises(InputError, match="already exists"):
        export_configuration(outcome.folder, "hierarchical-64-256", tmp_path)
    assert not list(tmp_path.iterdir())
