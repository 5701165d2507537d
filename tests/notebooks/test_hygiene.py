import ast
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def made_by_a_sweep(notebook):
    return "run_id" in tagged(notebook, "parameters")[0].source


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def test_the_notebook_to_start_from_and_those_of_a_sweep_are_there():
    found = {path.stem: made_by_a_sweep(nbformat.read(path, as_version=4)) for path in NOTEBOOKS}
    assert found == {
        "start": False,
        "explore": False,
        "label": False,
        "comparison": True,
        "configuration": True,
        "answers": True,
        "judge": True,
        "trends": True,
    }


def test_nothing_that_a_run_leaves_is_kept(notebook):
    assert all(not cell.outputs and cell.execution_count is None for cell in code(notebook))
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    assert all("papermill" not in cell.metadata for cell in notebook.cells)
    assert not tagged(notebook, "injected-parameters")


def test_the_kernel_is_python3_and_the_notebook_is_short(notebook):
    assert notebook.metadata.kernelspec.name == "python3"
    assert len(code(notebook)) <= 20
    nbformat.validate(notebook)


def test_one_cell_of_plain_literals_with_types_holds_the_parameters(notebook):
    (cell,) = tagged(notebook, "parameters")
    for line, statement in zip(cell.source.splitlines(), ast.parse(cell.source).body, strict=True):
        assert isinstance(statement, ast.Assign)
        value = ast.literal_eval(statement.value)
        assert re.search(r"# type: (\w+)$", line)[1] == type(value).__name__


def test_cells_only_call_the_package(notebook):
    forbidden = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.ListComp, ast.DictComp, ast.GeneratorExp)
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]
    assert not [node for node in nodes if isinstance(node, forbidden)]


def test_only_the_public_api_is_imported(notebook):
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]
    assert not [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names} <= {"os", "workbench"}


def test_each_display_has_a_sentence_before_it(notebook):
    cells = [cell for cell in notebook.cells if not {"parameters", "record"} & set(cell.metadata.get("tags", []))]
    kinds = [cell.cell_type for cell in cells if cell.source != "import workbench as wb"]
    assert ["code", "code"] not in [list(pair) for pair in pairwise(kinds)]


def test_it_begins_with_a_question_and_one_made_by_a_sweep_ends_with_its_record(notebook):
    assert notebook.cells[0].source.splitlines()[0].endswith("?")
    assert (notebook.cells[-1].source == "view.record(run_id)") == made_by_a_sweep(notebook)
