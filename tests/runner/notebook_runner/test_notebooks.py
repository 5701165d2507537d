import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from papermill.iorw import papermill_io

from workbench.core.errors import InputError, NotebookError
from workbench.core.storage.result_store import Store
from workbench.report.render.notebook import Record
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import run_notebook

RECORD = "from workbench.report.render.notebook import Record\nRecord(run_id, {'word': word}, word)"


def notebook(folder: Path, *cells: str) -> Path:
    parameters = nbformat.v4.new_code_cell('root = ""\nword = "none"\nrun_id = ""', metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[parameters, *(nbformat.v4.new_code_cell(cell) for cell in cells)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "book.ipynb"
    nbformat.write(book, path)
    return path


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    """Kernels that have imported what the notebooks need."""
    with Kernels(["workbench.report.render.notebook"], lambda _: None) as forked:
        yield forked


def run(tmp_path: Path, source: Path, kernels: Kernels | None = None, **parameters: str) -> bool:
    store = Store(tmp_path / "store")
    given = {"root": str(store.root), **parameters}
    return run_notebook(store, source, given, "results", tmp_path / "outputs" / "book.ipynb", kernels)


def outputs(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "outputs").glob("*")}


def test_a_notebook_is_executed_once_and_then_taken_from_the_store_without_papermill(tmp_path, kernels, monkeypatch):
    source = notebook(tmp_path, "print(word * 2)", RECORD)
    assert run(tmp_path, source, kernels, word="ab")
    first = (tmp_path / "outputs" / "book.ipynb").read_bytes()
    (tmp_path / "outputs" / "book.ipynb").unlink()
    monkeypatch.setitem(sys.modules, "papermill", None)
    assert not run(tmp_path, source, kernels, word="ab")
    assert (tmp_path / "outputs" / "book.ipynb").read_bytes() == first
    assert b"abab" in first
    (entry,) = (Store(tmp_path / "store").root / "notebooks").glob("*/record.json")
    assert entry.read_text() == '{"word": "ab"}'


def test_other_parameters_and_other_sources_are_other_runs(tmp_path, kernels):
    source = notebook(tmp_path, RECORD)
    assert run(tmp_path, source, kernels, word="a")
    assert run(tmp_path, source, kernels, word="b")
    notebook(tmp_path, "1 + 1", RECORD)
    assert run(tmp_path, source, kernels, word="a")


@pytest.mark.parametrize("name", ["a{b}", "{{cookiecutter.name}}", "{", "p%20q#1?x", "s3:b ü"])
def test_a_notebook_runs_in_a_folder_of_any_name(tmp_path, kernels, name):
    (tmp_path / name).mkdir()
    assert run(tmp_path / name, notebook(tmp_path / name, RECORD), kernels, word="a")
    assert outputs(tmp_path / name) == {"book.ipynb"}


def test_the_kernel_starts_in_the_folder_of_the_notebook_so_that_it_finds_what_lies_beside_it(tmp_path):
    source = notebook(tmp_path, "import os\nword = os.getcwd()", RECORD)
    assert run(tmp_path, source)
    (entry,) = (Store(tmp_path / "store").root / "notebooks").glob("*/record.json")
    assert json.loads(entry.read_text()) == {"word": str(tmp_path / "outputs")}


def test_relative_folders_are_found_although_another_run_changes_papermills_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = notebook(tmp_path, "import time\ntime.sleep(1)", RECORD)
    handler = papermill_io.get_handler("local")

    def end_of_a_run_that_began_elsewhere() -> None:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("store/notebooks/*.tmp/notebook.ipynb")) and time.monotonic() < deadline:
            time.sleep(0.01)
        handler.cwd(str(tmp_path.parent))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(end_of_a_run_that_began_elsewhere)
        assert run_notebook(Store(Path("store")), source, {"root": str(tmp_path / "store")}, "results", Path("outputs") / "book.ipynb")
    assert outputs(tmp_path) == {"book.ipynb"}


def test_a_parameter_that_is_not_declared_is_refused(tmp_path):
    with pytest.raises(InputError, match="declares no parameter top_kk"):
        run(tmp_path, notebook(tmp_path, RECORD), top_kk="50")


def test_a_failing_cell_keeps_the_failed_notebook_beside_the_target(tmp_path, kernels):
    source = notebook(tmp_path, "1 / 0", RECORD)
    with pytest.raises(NotebookError, match="ZeroDivisionError"):
        run(tmp_path, source, kernels)
    assert outputs(tmp_path) == {"book.failed.ipynb"}
    notebook(tmp_path, RECORD)
    assert run(tmp_path, source, kernels)
    assert outputs(tmp_path) == {"book.ipynb"}


@pytest.mark.parametrize(
    ("cell", "message", "fork"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "did not finish", False),
        ("import sys\nsys.exit(0)", "did not run", True),
        ("raise SystemExit(3)", "SystemExit", True),
    ],
)
def test_a_kernel_that_ends_early_is_no_success(tmp_path, kernels, cell, message, fork):
    with pytest.raises(NotebookError, match=message):
        run(tmp_path, notebook(tmp_path, cell, RECORD), kernels if fork else None)
    assert "book.ipynb" not in outputs(tmp_path)
    assert not list((tmp_path / "store" / "notebooks").glob("*/entry.json"))


def test_a_notebook_that_leaves_no_record_is_no_success(tmp_path, kernels):
    with pytest.raises(NotebookError, match="without its record"):
        run(tmp_path, notebook(tmp_path, "1 + 1"), kernels)


def test_a_record_of_another_run_is_no_success(tmp_path, kernels):
    with pytest.raises(NotebookError, match="without its record"):
        run(tmp_path, notebook(tmp_path, "run_id = 'another'", RECORD), kernels)


def test_a_record_before_the_last_cell_is_no_success(tmp_path, kernels):
    with pytest.raises(NotebookError, match="without its record"):
        run(tmp_path, notebook(tmp_path, RECORD, "1 + 1"), kernels)


def test_opened_by_hand_a_notebook_says_that_it_records_nothing():
    assert str(Record("", {"a": 1}, "one")) == "not recorded (opened by hand): one"
