import ast
import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def test_the_notebooks_of_a_sweep_are_there():
    assert {"comparison", "configuration", "trends"} <= {path.stem for path in NOTEBOOKS}


def test_nothing_that_a_run_leaves_is_kept(notebook):
    assert all(not cell.outputs and cell.execution_count is None for cell in code(notebook))
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    assert all("papermill" not in cell.metadata for cell in notebook.cells)
    assert not tagged(notebook, "injected-parameters")


def test_the_kernel_is_python3_and_the_notebook_is_short(notebook):
    assert notebook.metadata.kernelspec.name == "python3"
    assert len(notebook.cells) <= 24
    nbformat.validate(notebook)


def test_one_cell_of_plain_literals_with_types_holds_the_parameters(notebook):
    (cell,) = tagged(notebook, "parameters")
    for line, statement in zip(cell.source.splitlines(), ast.parse(cell.source).body, strict=True):
        assert isinstance(statement, ast.Assign)
        value = ast.literal_eval(statement.value)
        assert re.search(r"# type: (\w+)$", line)[1] == type(value).__name__
    assert 'run_id = ""' in cell.source


def test_cells_only_call_the_package(notebook):
    forbidden = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.ListComp, ast.DictComp, ast.GeneratorExp)
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]
    assert not [node for node in nodes if isinstance(node, forbidden)]


def test_it_begins_with_a_question_and_ends_with_its_record(notebook):
    assert notebook.cells[0].source.splitlines()[0].endswith("?")
    assert notebook.cells[-1].source == "view.record(run_id)"
