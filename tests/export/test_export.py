import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.execution.local import Outcome, run_experiment
from workbench.execution.outputs import write_outputs
from workbench.experiment.read import experiment_of
from workbench.export.export import export_configuration

# What retrieve.py may not lean on: the package is made impossible to import.
ALONE = "import runpy, sys; sys.modules['workbench'] = None; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, handbook_part: Path) -> Outcome:
    settings = {
        "name": "out",
        "dataset": {"kind": "golden", "path": str(handbook_part), "split": "dev"},
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


def answers(folder: Path, question: str) -> list[str]:
    command = [sys.executable, "-c", ALONE, "retrieve.py", question]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("[")]


@pytest.mark.parametrize("name", ["hierarchical-64-256", "hierarchical-64-256-bm25"])
def test_the_folder_answers_as_the_sweep_did_without_workbench(outcome: Outcome, tmp_path: Path, name: str) -> None:
    folder = export_configuration(outcome.folder, name, tmp_path / "chosen")
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
    }
    assert not list(tmp_path.glob(".*"))


def test_a_question_without_a_match_has_no_answer(outcome: Outcome) -> None:
    folder = export_configuration(outcome.folder, "hierarchical-64-256-bm25", None)
    assert folder == outcome.folder / "export" / "hierarchical-64-256-bm25"
    assert answers(folder, "xyzzy") == []


def test_what_cannot_be_exported_is_one_line(outcome: Outcome, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one with --configuration: hierarchical-64-256, hierarchical-64-256-bm25"):
        export_configuration(outcome.folder, None, tmp_path / "x")
    with pytest.raises(InputError, match="no configuration 'fixed'"):
        export_configuration(outcome.folder, "fixed", tmp_path / "x")
    with pytest.raises(InputError, match=r"no manifest\.json"):
        export_configuration(tmp_path, None, tmp_path / "x")
    with pytest.raises(InputError, match="already there"):
        export_configuration(outcome.folder, "hierarchical-64-256", tmp_path)
    assert not list(tmp_path.iterdir())
