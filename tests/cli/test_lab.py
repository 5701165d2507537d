import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from tests.lab_server import Lab
from workbench.api.datasets import load_dataset
from workbench.cli.lab import lab_arguments
from workbench.cli.main import main
from workbench.errors import InputError
from workbench.notebook_runner.notebooks import notebook_path

ROOT = Path(__file__).parents[2]
LAB = """
import os, sys
os.chdir(sys.argv[1])
sys.argv = ["workbench", *sys.argv[2:]]
from workbench.cli.main import run
run()
"""


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A working directory with an output that holds an executed notebook."""
    notebooks = tmp_path / "outputs" / "x" / "notebooks"
    notebooks.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Executed")]), notebooks / "comparison.ipynb")
    (tmp_path / "x.yaml").write_text("name: x\ndataset: {kind: golden, path: .}\nmetrics: [recall@5]\n")
    return tmp_path


@pytest.mark.parametrize("target", ["outputs/x", "x.yaml"])
def test_jupyterlab_browses_the_working_directory_and_opens_the_executed_notebook(
    swept: Path, start_lab: Callable[..., Lab], target: str
) -> None:
    lab = start_lab(swept, target)
    assert {"outputs", "x.yaml"} <= {entry["name"] for entry in lab.get("contents")["content"]}
    assert [entry["path"] for entry in lab.get("contents/outputs")["content"]] == ["outputs/x"]
    opened = lab.get("contents/outputs/x/notebooks/comparison.ipynb")
    assert opened["content"]["cells"][0]["source"] == "# Executed"
    lab.end()
    assert "/lab/tree/outputs/x/notebooks/comparison.ipynb" in lab.log.read_text("utf-8")
    assert "Traceback" not in lab.log.read_text("utf-8")


def test_the_executed_notebook_and_the_one_it_was_made_from_run_by_hand_in_their_folders(
    tmp_path: Path, run_python: Callable[..., str]
) -> None:
    (tmp_path / "data" / "documents").mkdir(parents=True)
    (tmp_path / "data" / "documents" / "cats.md").write_text("# Cats\n\nCats purr when they are content.\n")
    (tmp_path / "data" / "documents" / "dogs.md").write_text("# Dogs\n\nDogs bark at strangers.\n")
    asked = [{"query": "why do cats purr", "relevant_doc_ids": ["cats"]}, {"query": "who do dogs bark at", "relevant_doc_ids": ["dogs"]}]
    (tmp_path / "data" / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    settings = "dataset: {kind: golden, path: data}\npipeline: {retrieval: {kind: bm25}}\nmetrics: [recall@1]\n"
    (tmp_path / "x.yaml").write_text(f"name: x\n{settings}")
    run_python(LAB, tmp_path, "sweep", "x.yaml")
    (tmp_path / "notebooks").mkdir()
    started = notebook_path("comparison").read_text("utf-8").replace("outputs/quickstart", "outputs/x")
    (tmp_path / "notebooks" / "comparison.ipynb").write_text(started)
    for folder in ("outputs/x/notebooks", "notebooks"):
        notebook = nbformat.read(tmp_path / folder / "comparison.ipynb", as_version=4)
        # As JupyterLab does: the kernel runs in the notebook's own folder.
        done = NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path / folder)}}, kernel_name="python3").execute()
        assert "fixed-256-0" in json.dumps(done)


def test_jupyterlab_is_a_process_of_its_own_that_may_import_everything(swept: Path, run_python: Callable[..., str]) -> None:
    script = "import os\nos.execv = lambda path, argv: print(argv[1:])\n" + LAB
    printed = run_python(script, swept, "lab", "--no-browser")
    assert printed.startswith("['-m', 'jupyterlab', '--ServerApp.root_dir=")
    assert printed.endswith("'--no-browser']")


def test_a_folder_without_results_is_refused_and_one_without_a_checkout_gets_the_notebook_to_start_from(
    swept: Path, run_python: Callable[..., str]
) -> None:
    (swept / "empty").mkdir()
    (swept / "new.yaml").write_text((swept / "x.yaml").read_text().replace("name: x", "name: new"))
    script = "import os\nos.execv = lambda path, argv: print(*argv[1:])\n" + LAB
    refused = CliRunner().invoke(main, ["lab", str(swept / "empty")])
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "has no notebooks/comparison.ipynb; give the folder of a finished sweep" in refused.stderr
    assert CliRunner().invoke(main, ["lab", str(swept / "none.yaml")]).exit_code == 2
    assert "/lab/tree/notebooks/start.ipynb" in run_python(script, swept, "lab", "new.yaml")
    copied, shipped = swept / "notebooks", notebook_path("start").parent
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == {path.name: path.read_bytes() for path in shipped.glob("*.ipynb")}
    (copied / "start.ipynb").write_text("mine")
    run_python(script, swept, "lab")
    assert (copied / "start.ipynb").read_text() == "mine"


def test_the_notebook_to_start_from_comes_with_its_dataset(tmp_path: Path, run_python: Callable[..., str]) -> None:
    run_python("import os\nos.execv = lambda path, argv: None\n" + LAB, tmp_path, "lab")
    copied, original = (load_dataset(folder / "experiments" / "handbook", split="dev") for folder in (tmp_path, ROOT))
    assert copied == original
    assert "experiments/handbook" in (tmp_path / "notebooks" / "start.ipynb").read_text("utf-8")


def test_a_name_with_odd_characters_is_part_of_an_address_and_a_notebook_elsewhere_is_refused(tmp_path: Path) -> None:
    found = lab_arguments(tmp_path / "a b" / "100%?.ipynb", tmp_path)
    assert f"--ServerApp.root_dir={tmp_path}" in found
    assert "--LabApp.default_url=/lab/tree/a%20b/100%25%3F.ipynb" in found
    with pytest.raises(InputError, match="is not under the working directory"):
        lab_arguments(tmp_path / "x.ipynb", tmp_path / "below")


def test_the_package_ships_its_notebooks() -> None:
    found = {path.stem for path in notebook_path("comparison").parent.glob("*.ipynb")}
    assert {"start", "comparison", "configuration", "trends"} <= found
    assert json.loads(notebook_path("comparison").read_text("utf-8"))["nbformat"] == 4
