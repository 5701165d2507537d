import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from workbench import printable
from workbench.context import packing
from workbench.errors import InputError
from workbench.execution.local import Outcome, run_experiment
from workbench.execution.outputs import write_outputs
from workbench.experiment.read import experiment_of
from workbench.export.export import export_configuration

pytestmark = pytest.mark.slow

# What retrieve.py may not lean on: the package is made impossible to import.
ALONE = "import runpy, sys; sys.modules['workbench'] = None; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, handbook_part: Path) -> Outcome:
    settings = {
        "name": "out",
        "dataset": {"kind": "golden", "path": str(handbook_part), "split": "dev"},
        # OpenVINO's vectors differ from those of torch, which an export asks with.
        "pipeline": {"embedding": {"kind": "sentence-transformers", "backend": "torch"}},
        "sweep": {
            "chunking": [{"kind": "hierarchical", "child": 64, "parent": 256}],
            "retrieval": [{"kind": "dense", "k": 5}, {"kind": "bm25", "k": 5}],
        },
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
    finished = run_experiment(experiment_of(settings, "test"), outcome.context.workspace.outputs, lambda _: None)
    write_outputs(finished)
    return finished


@pytest.fixture(scope="module")
def exported(outcome: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: export_configuration(outcome.folder, name, tmp_path_factory.mktemp("exported") / "chosen"))


def answers(folder: Path, question: str) -> list[str]:
    command = [sys.executable, "-c", ALONE, "retrieve.py", question]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("[")]


@pytest.mark.parametrize("name", ["hierarchical-64-256", "hierarchical-64-256-bm25"])
def test_the_folder_answers_as_the_sweep_did_without_workbench(outcome: Outcome, exported: Callable[[str], Path], name: str) -> None:
    folder = exported(name)
    (result,) = [result for result in outcome.results if result.configuration.name == name]
    query = outcome.context.dataset.queries[2]
    delivered = result.delivered[result.delivered["query"] == 2]
    chunks = result.chunks_table.loc[delivered["chunk"]]
    ids = [document.doc_id for document in outcome.context.dataset.documents]
    expected = [
        f"{ids[doc]}:{start}-{end}"
        for doc, start, end in zip(chunks["doc"], chunks["delivered_start"], chunks["delivered_end"], strict=True)
    ]
    assert [line.split()[1] for line in answers(folder, query.text)] == expected
    assert json.loads((folder / "settings.json").read_text())["configuration"] == name
    assert {line.split("==")[0] for line in (folder / "requirements.txt").read_text().split()} <= {
        "chromadb",
        "sentence-transformers",
        "torch",
        "bm25s",
        "PyStemmer",
        "numpy",
    }
    assert not list(folder.parent.glob(".*"))


def retrieved(folder: Path, call: str, questions: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """What a call of `retrieve` with `text` returns for each question."""
    script = (
        "import json, sys; sys.modules['workbench'] = None; from retrieve import retrieve; asked = json.load(sys.stdin); "
        f"print(json.dumps({{one: {call} for one, text in asked.items()}}))"
    )
    command, environment = [sys.executable, "-c", script], os.environ | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=folder, input=json.dumps(questions), capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["hierarchical-64-256", "hierarchical-64-256-bm25"])
@pytest.mark.parametrize("budget", [None, 300])
def test_every_passage_is_the_delivered_text_of_the_hits(
    outcome: Outcome, by_tokens: Outcome, tmp_path: Path, name: str, budget: int | None
) -> None:
    swept = by_tokens if budget else outcome
    folder = export_configuration(swept.folder, name, tmp_path / "chosen")
    assert json.loads((folder / "settings.json").read_text())["deliver"] == ({"tokens": budget} if budget else None)
    assert (folder / "tokens.npz").exists() == bool(budget)
    hits = pd.read_parquet(swept.folder / "hits.parquet").query("configuration == @name and delivered")
    texts = {document.doc_id: document.text for document in outcome.context.dataset.documents}
    questions = {query.query_id: query.text for query in outcome.context.dataset.queries}
    found = retrieved(folder, "[retrieve(text), retrieve(text, k=3)]", questions)
    cut = 0
    for query_id, (passages, three) in found.items():
        expected = hits[hits["query_id"] == query_id]
        rows = expected[["doc_id", "start", "kept"]].itertuples(index=False, name=None)
        assert [(one["doc_id"], one["start"], one["end"]) for one in passages] == list(rows)
        assert [one["text"] for one in passages] == [
            texts[doc][start:kept] for doc, start, kept in expected[["doc_id", "start", "kept"]].values
        ]
        assert all(one["text"] == texts[one["doc_id"]][one["start"] : one["end"]] for one in three)
        assert len(three) == 3
        cut += int((expected["kept"] < expected["end"]).sum())
    assert (cut > 30) == bool(budget)


@pytest.mark.parametrize("name", ["hierarchical-64-256", "hierarchical-64-256-bm25"])
def test_every_question_gets_the_hits_that_the_sweep_delivered(outcome: Outcome, exported: Callable[[str], Path], name: str) -> None:
    folder = exported(name)
    (result,) = [result for result in outcome.results if result.configuration.name == name]
    chunks, queries = outcome.context.chunks(result.entry("chunks")), outcome.context.dataset.queries
    expected = {query.query_id: [] for query in queries}
    for query, chunk, score in result.delivered[["query", "chunk", "score"]].itertuples(index=False):
        expected[queries[query].query_id].append([chunks[chunk].chunk_id, score])
    answered = retrieved(folder, "retrieve(text)", {query.query_id: query.text for query in queries})
    found = {one: [[hit["chunk_id"], hit["score"]] for hit in hits] for one, hits in answered.items()}
    assert {one: [chunk for chunk, _ in hits] for one, hits in found.items()} == {
        one: [chunk for chunk, _ in hits] for one, hits in expected.items()
    }
    for one, hits in expected.items():
        assert [score for _, score in found[one]] == pytest.approx([score for _, score in hits], abs=2e-6)


# Searches in both ways, and reranks by every model that is there offline.
BEYOND = [
    {"kind": "hybrid", "k": 5, "rerank": "none"},
    {"kind": "hybrid", "k": 5, "fusion": "weighted", "weights": {"dense": 0.7}, "rerank": {"kind": "late-interaction", "pool": 20}},
    {"kind": "bm25", "k": 5, "rerank": {"kind": "mmr", "pool": 10}},
]


@pytest.fixture(scope="module")
def beyond(outcome: Outcome) -> Outcome:
    """Hybrid and reranked configurations whose chunks have headers, with tokens delivered."""
    settings = outcome.experiment.settings | {"name": "beyond", "metrics": ["span_recall@300t"]}
    settings["sweep"] = {"chunking": [{"kind": "hierarchical", "child": 64, "parent": 256, "enrich": True}], "retrieval": BEYOND}
    finished = run_experiment(experiment_of(settings, "test"), outcome.context.workspace.outputs, lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    return finished


@pytest.mark.parametrize("number", range(len(BEYOND)))
def test_hybrid_and_reranked_configurations_answer_as_the_sweep_did(beyond: Outcome, tmp_path: Path, number: int) -> None:
    result = beyond.results[number]
    name = result.configuration.name
    folder = export_configuration(beyond.folder, name, tmp_path / "chosen")
    hits = pd.read_parquet(beyond.folder / "hits.parquet").query("configuration == @name and delivered")
    questions = {query.query_id: query.text for query in beyond.context.dataset.queries}
    answered = retrieved(folder, "retrieve(text)", questions)
    assert len(answered) > 30
    for query_id, passages in answered.items():
        expected = hits[hits["query_id"] == query_id]
        assert [one["chunk_id"] for one in passages] == expected["chunk_id"].tolist()
        assert [one["end"] for one in passages] == expected["kept"].tolist()
        assert [one["score"] for one in passages] == pytest.approx(expected["score"].tolist(), abs=1e-5)


def test_the_packing_rule_and_the_printing_of_text_are_exported_as_they_are(exported: Callable[[str], Path]) -> None:
    folder = exported("hierarchical-64-256-bm25")
    for module in (packing, printable):
        assert (folder / Path(str(module.__file__)).name).read_bytes() == Path(str(module.__file__)).read_bytes()


def test_a_question_without_a_match_has_no_answer(outcome: Outcome) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    assert folder == outcome.folder / "export" / "hierarchical-64-256-bm25"
    assert answers(folder, "xyzzy") == []


def test_the_default_folder_is_replaced_if_it_is_an_earlier_export_of_the_configuration(outcome: Outcome) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    (folder / "passages.jsonl").unlink()
    assert export_configuration(outcome.folder, "hierarchical-64-256-bm25", None) == folder
    assert (folder / "passages.jsonl").is_file()
    (folder / "settings.json").write_text('{"configuration": "another"}')
    with pytest.raises(InputError, match="already exists"):
        export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    shutil.rmtree(folder)


def test_a_damaged_collection_is_one_line_and_a_search_changes_none(outcome: Outcome, tmp_path: Path) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256", tmp_path / "chosen")
    database = folder / "collection" / "chroma.sqlite3"
    content = database.read_bytes()
    assert answers(folder, "a taxi")
    assert database.read_bytes() == content
    database.write_bytes(content[:5_000] + bytes([content[5_000] ^ 1]) + content[5_001:])
    command = [sys.executable, "retrieve.py", "a taxi"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("is damaged (chroma.sqlite3 has changed); export the configuration again")


def test_what_cannot_be_exported_is_one_line(outcome: Outcome, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one with --configuration: hierarchical-64-256, hierarchical-64-256-bm25"):
        export_configuration(outcome.folder, None, tmp_path / "x")
    with pytest.raises(InputError, match="no configuration 'fixed'"):
        export_configuration(outcome.folder, "fixed", tmp_path / "x")
    with pytest.raises(InputError, match=r"no manifest\.json"):
        export_configuration(tmp_path, None, tmp_path / "x")
    with pytest.raises(InputError, match="already exists"):
        export_configuration(outcome.folder, "hierarchical-64-256", tmp_path)
    assert not list(tmp_path.iterdir())
