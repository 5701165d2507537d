import importlib
import importlib.util
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.components.reranking.conftest import save_model
from workbench.api.widgets.explorer.live import LiveSearch
from workbench.core.errors import InputError
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

QUESTIONS = ["who pays for the taxi?", "how many days of leave are left after a cruise", "xyzzy"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory, handbook_few):
    """BM25 alone, dense, and both fused. An export asks with torch, whose vectors differ from those of OpenVINO."""
    model = save_model(tmp_path_factory.mktemp("encoder"), "BertModel")
    settings = {
        "name": "searched",
        "dataset": {"kind": "golden", "path": str(handbook_few)},
        "pipeline": {
            "chunking": {"kind": "fixed", "size": 96, "overlap": 16},
            "embedding": {"kind": "sentence-transformers", "model": model, "backend": "torch"},
        },
        "sweep": {
            "retrieval": [
                {"kind": "bm25", "k": 4},
                {"kind": "dense", "k": 4},
                {"kind": "hybrid", "k": 4, "retrievers": {"dense": {"kind": "dense"}, "bm25": {"kind": "bm25"}}},
            ],
        },
        "metrics": ["span_recall@300t"],
    }
    outcome = run_experiment(experiment_of(settings, "here"), tmp_path_factory.mktemp("searched") / "outputs", lambda _: None)
    assert not outcome.failures
    write_outputs(outcome)
    return wb.load(outcome.folder)


def exported(results, name, folder, monkeypatch):
    """What the exported retriever returns for the questions, in this process: `tests/api/export` runs it without Workbench."""
    results.export(name, folder)
    modules = [path.stem for path in folder.glob("*.py")]
    monkeypatch.syspath_prepend(folder)
    try:
        retrieve = importlib.import_module("retrieve").retrieve
        return [retrieve(question) for question in QUESTIONS]
    finally:
        if (folder / "collection").exists():
            # Its copy of the index ends with the process.
            importlib.import_module("searchers").copied(folder / "collection").cleanup()
        for module in modules:
            sys.modules.pop(module, None)


def assert_same(hits, passages):
    assert [(hit.doc_id, hit.start, hit.end, hit.text) for hit in hits] == [
        (passage["doc_id"], passage["start"], passage["end"], passage["text"]) for passage in passages
    ]
    assert [hit.score for hit in hits] == pytest.approx([passage["score"] for passage in passages], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_typed_question_gets_what_the_exported_retriever_returns(searched, tmp_path, monkeypatch, number):
    name, live, said = searched.tables.names[number], LiveSearch(searched.tables, searched.folder), []
    for question, passages in zip(QUESTIONS, exported(searched, name, tmp_path / "export", monkeypatch), strict=True):
        assert_same(live.ask(name, question, said.append), passages)
    assert [line for line in said if line.startswith("loading")] == [f"loading documents and index of {name} …"]


@pytest.mark.parametrize("name", ["fixed-64-16", "hierarchical-64-256"])
def test_chunks_that_overlap_and_parents_are_delivered_as_exported(results, tmp_path, monkeypatch, name):
    live = LiveSearch(results.tables, results.folder)
    for question, passages in zip(QUESTIONS, exported(results, name, tmp_path / "export", monkeypatch), strict=True):
        assert_same(live.ask(name, question, lambda _: None), passages)


def test_the_loaded_documents_are_those_of_the_run(results):
    documents = LiveSearch(results.tables, results.folder).documents()
    for doc_id, start, end, text in results.tables.passages[["doc_id", "start", "end", "text"]].itertuples(index=False):
        assert documents[doc_id][start:end] == text


def asked(results, **changes):
    tables = replace(results.tables, manifest={**results.tables.manifest, **changes})
    return LiveSearch(tables, results.folder).ask(tables.names[0], "who pays", lambda _: None)


def test_without_the_store_a_typed_question_is_one_line(copied):
    with pytest.raises(InputError, match=r"the run's store .* does not exist; run the sweep again"):
        asked(copied)
    assert not (copied.folder.parent / ".store").exists()


def test_without_the_dataset_or_with_another_one_it_is_one_line(results, tmp_path, handbook_corner):
    experiment = results.tables.manifest["experiment"]
    with pytest.raises(InputError, match="nowhere"):
        asked(results, experiment=experiment | {"dataset": {"kind": "golden", "path": str(tmp_path / "nowhere")}})
    shutil.copytree(handbook_corner, tmp_path / "changed")
    document = next((tmp_path / "changed").rglob("*.md"), None) or next((tmp_path / "changed").glob("documents.jsonl"))
    document.write_text(document.read_text("utf-8").replace("the", "our", 3), "utf-8")
    with pytest.raises(InputError, match=r"the documents of .* have changed since the run; run the sweep again"):
        asked(results, experiment=experiment | {"dataset": {"kind": "golden", "path": str(tmp_path / "changed"), "split": "dev"}})


def test_without_the_model_it_is_one_line(results, tmp_path):
    pipeline = {"retrieval": {"kind": "dense"}, "embedding": {"kind": "sentence-transformers", "model": str(tmp_path / "no-model")}}
    experiment = results.tables.manifest["experiment"] | {"pipeline": pipeline}
    with pytest.raises(wb.WorkbenchError, match="no-model"):
        asked(results, experiment=experiment)


def test_a_target_is_not_asked_and_named_code_does_not_run(results, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ours.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef search(question, k): return []\n"
    )
    manifest = dict(results.tables.manifest)
    manifest["experiment"] = manifest["experiment"] | {"targets": [{"kind": "callable", "search": "ours:search", "name": "ours"}]}
    manifest["configurations"] = {**manifest["configurations"], "ours": {"target": {"kind": "callable", "search": "ours:search"}}}
    tables = replace(results.tables, manifest=manifest)
    with pytest.raises(InputError, match="ours is a target, which is only asked by a sweep"):
        LiveSearch(tables, results.folder).ask("ours", "who pays", lambda _: None)
    assert importlib.util.find_spec("ours") is not None
    assert not (tmp_path / "ran").exists()


def test_a_relative_dataset_is_found_from_a_notebooks_folder(results, handbook_corner, tmp_path, monkeypatch):
    shutil.copytree(handbook_corner, tmp_path / "data")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    experiment = results.tables.manifest["experiment"] | {"dataset": {"kind": "golden", "path": "data", "split": "dev"}}
    tables = replace(results.tables, manifest={**results.tables.manifest, "experiment": experiment})
    assert LiveSearch(tables, results.folder).documents()
    assert Path("data").exists() is False
