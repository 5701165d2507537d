import ast
import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from tests.lab_server import Lab
from workbench.api.datasets import load_dataset, save_dataset
from workbench.api.labelling import apply_labels
from workbench.api.results import load
from workbench.api.widgets.labeller.label import label
from workbench.cli.lab import lab_arguments
from workbench.cli.main import main
from workbench.core.errors import InputError
from workbench.runner.notebook_runner.notebooks import notebook_path

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


@pytest.mark.slow
@pytest.mark.parametrize("target", ["outputs/x", "x.yaml"])
def test_jupyterlab_browses_the_working_directory_and_opens_the_executed_notebook(
    swept: Path, start_lab: Callable[..., Lab], target: str
) -> None:
    lab = start_lab(swept, target)
    assert {"outputs", "x.yaml"} <= {entry["name"] for entry in lab.get("contents")["content"]}
    assert [entry["path"] for entry in lab.get("contents/outputs")["content"]] == ["outputs/x"]
    opened = lab.get("contents/outputs/x/notebooks/comparison.ipynb")
    assert opened["content"]["cells"][0]["source"] == "# Executed"
    # What a browser asks for when it opens the page would reach pypi.org and github.io.
    assert [lab.get(name, "lab/api") for name in ("update", "news")] == [{"notification": None}, {"news": []}]
    lab.end()
    assert "/lab/tree/outputs/x/notebooks/comparison.ipynb" in lab.log.read_text("utf-8")
    assert "Traceback" not in lab.log.read_text("utf-8")


@pytest.mark.slow
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


@pytest.mark.slow
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


OPENED = "import os\nos.execv = lambda path, argv: print(*argv[1:])\n" + LAB


def parameters(path: Path) -> dict[str, object]:
    (cell,) = [cell for cell in nbformat.read(path, as_version=4).cells if "parameters" in cell.metadata.get("tags", [])]
    return {statement.targets[0].id: ast.literal_eval(statement.value) for statement in ast.parse(cell.source).body}


@pytest.fixture
def drafted(tmp_path: Path) -> Path:
    """A working directory with an experiment on two drafts, which have no splits."""
    (tmp_path / "experiments" / "guide" / "documents").mkdir(parents=True)
    rows = []
    for name, says in (("cats", "Cats purr when they are content."), ("dogs", "Dogs bark at strangers.")):
        (tmp_path / "experiments" / "guide" / "documents" / f"{name}.md").write_text(says)
        rows.append({"query_id": name, "query": f"what do {name} do", "relevant_doc_ids": [name], "synthetic": True, "accepted_by": ""})
    (tmp_path / "experiments" / "guide" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = "dataset: {kind: golden, path: experiments/guide}\npipeline: {retrieval: {kind: bm25}}\nmetrics: [recall@1]\n"
    (tmp_path / "experiments" / "guide.yaml").write_text(f"name: guide\n{settings}")
    return tmp_path


@pytest.mark.slow
def test_the_labeller_opens_on_the_dataset_of_an_experiment_with_its_run_and_keeps_what_a_person_changed(
    drafted: Path, run_python: Callable[..., str]
) -> None:
    words = ("lab", "experiments/guide.yaml", "--notebook", "label")
    assert "/lab/tree/notebooks/label-guide.ipynb" in run_python(OPENED, drafted, *words)
    copy = drafted / "notebooks" / "label-guide.ipynb"
    found = parameters(copy)
    expected = {"data": "experiments/guide", "split": "", "settings": {}, "results": "", "annotator": "", "file": "labels/guide.jsonl"}
    assert {name: found[name] for name in expected} == expected
    assert set(found) == set(parameters(notebook_path("label")))
    copy.write_text(copy.read_text("utf-8").replace('annotator = \\"\\"', 'annotator = \\"ann\\"'))
    run_python(LAB, drafted, "sweep", "experiments/guide.yaml")
    run_python(OPENED, drafted, *words, "--", "--no-browser")
    assert parameters(copy) == found | {"results": "outputs/guide", "annotator": "ann"}
    notebook = nbformat.read(copy, as_version=4)
    done = NotebookClient(notebook, resources={"metadata": {"path": str(copy.parent)}}, kernel_name="python3").execute()
    assert "0 of 2 drafts reviewed by ann" in json.dumps(done)
    assert (drafted / "labels" / "guide.jsonl").is_file()
    with (drafted / "experiments" / "guide" / "questions.jsonl").open("a") as questions:
        questions.write(json.dumps({"query_id": "new", "query": "why do cats purr"}) + "\n")
    run_python(OPENED, drafted, *words)
    assert parameters(copy) == found | {"annotator": "ann"}


@pytest.mark.slow
def test_labels_that_are_applied_take_the_drafts_out_of_the_report(drafted: Path, run_python: Callable[..., str]) -> None:
    data = drafted / "experiments" / "guide"
    session = label(load_dataset(data), annotator="ann", file=drafted / "labels" / "guide.jsonl").session
    session.go_to("cats")
    session.rewrite("When do cats purr?")
    session.go_to("dogs")
    session.accept(True)
    save_dataset(apply_labels(load_dataset(data), drafted / "labels" / "guide.jsonl").dataset, drafted / "experiments" / "guide-labelled")
    run_python(LAB, drafted, "sweep", "experiments/guide.yaml")
    assert "draft that nobody has accepted" in (drafted / "outputs" / "guide" / "report.html").read_text("utf-8")
    run_python(LAB, drafted, "sweep", "experiments/guide.yaml", "--set", "dataset.path=experiments/guide-labelled")
    assert "draft that nobody has accepted" not in (drafted / "outputs" / "guide" / "report.html").read_text("utf-8")
    assert "When do cats purr?" in load(drafted / "outputs" / "guide").questions["text"].tolist()


@pytest.mark.slow
def test_the_explorer_opens_on_the_results_of_an_experiment_or_of_a_folder(drafted: Path, run_python: Callable[..., str]) -> None:
    run_python(LAB, drafted, "sweep", "experiments/guide.yaml")
    for target in ("experiments/guide.yaml", "outputs/guide"):
        assert "/lab/tree/notebooks/work-guide.ipynb" in run_python(OPENED, drafted, "lab", target, "--notebook", "work")
    copy = drafted / "notebooks" / "work-guide.ipynb"
    assert parameters(copy)["results"] == "outputs/guide"
    notebook = nbformat.read(copy, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(copy.parent)}}, kernel_name="python3").execute()
    assert "what do cats do" in json.dumps(notebook)


def test_the_explorer_needs_results(drafted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(drafted)
    for words, what in (([], "--notebook work needs an experiment"), (["experiments/guide.yaml"], "outputs/guide does not exist")):
        refused = CliRunner().invoke(main, ["lab", *words, "--notebook", "work"])
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert what in refused.stderr
    assert not (drafted / "notebooks").exists()


def test_the_labeller_needs_an_experiment_whose_dataset_has_a_path(drafted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(drafted)
    for words in (["--notebook", "label"], ["experiments", "--notebook", "label"]):
        refused = CliRunner().invoke(main, ["lab", *words])
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "--notebook label needs an experiment; give its file: workbench lab experiments/NAME.yaml --notebook label" in refused.stderr
    (drafted / "notebooks").mkdir()
    (drafted / "notebooks" / "label-guide.ipynb").write_text("mine")
    refused = CliRunner().invoke(main, ["lab", "experiments/guide.yaml", "--notebook", "label"])
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "notebooks/label-guide.ipynb cannot be read as a notebook" in refused.stderr
    assert (drafted / "notebooks" / "label-guide.ipynb").read_text() == "mine"


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
