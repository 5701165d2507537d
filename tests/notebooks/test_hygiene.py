import ast
import re
from itertools import pairwise
from pathlib import Path

import nbformat

PATHS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
NOTEBOOKS = {path.stem: nbformat.read(path, as_version=4) for path in PATHS}


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def made_by_a_sweep(notebook):
    return "run_id" in tagged(notebook, "parameters")[0].source


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def test_the_notebook_to_start_from_and_those_of_a_sweep_are_there():
    assert {name: made_by_a_sweep(notebook) for name, notebook in NOTEBOOKS.items()} == {
        "start": False,
        "work": False,
        "label": False,
        "comparison": True,
        "configuration": True,
        "answers": True,
        "judge": True,
        "trends": True,
        "monitoring": False,
    }


def test_nothing_that_a_run_leaves_is_kept():
    for name, notebook in NOTEBOOKS.items():
        assert all(not cell.outputs and cell.execution_count is None for cell in code(notebook)), name
        assert not {"papermill", "widgets"} & set(notebook.metadata), name
        assert all("papermill" not in cell.metadata for cell in notebook.cells), name
        assert not tagged(notebook, "injected-parameters"), name


def test_the_kernel_is_python3_and_the_notebook_is_short():
    assert {name: notebook.metadata.kernelspec.name for name, notebook in NOTEBOOKS.items()} == dict.fromkeys(NOTEBOOKS, "python3")
    assert {name: length for name, notebook in NOTEBOOKS.items() if (length := len(code(notebook))) > 20} == {}
    for notebook in NOTEBOOKS.values():
        nbformat.validate(notebook)


def test_one_cell_of_plain_literals_with_types_holds_the_parameters():
    for name, notebook in NOTEBOOKS.items():
        (cell,) = tagged(notebook, "parameters")
        for line, statement in zip(cell.source.splitlines(), ast.parse(cell.source).body, strict=True):
            assert isinstance(statement, ast.Assign), (name, line)
            value = ast.literal_eval(statement.value)
            assert re.search(r"# type: (\w+)$", line)[1] == type(value).__name__, (name, line)


def nodes(notebook):
    return [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]


def test_cells_only_call_the_package():
    forbidden = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.ListComp, ast.DictComp, ast.GeneratorExp)
    found = {name: [ast.unparse(node) for node in nodes(notebook) if isinstance(node, forbidden)] for name, notebook in NOTEBOOKS.items()}
    assert found == {name: [] for name in NOTEBOOKS}


def test_only_the_public_api_is_imported():
    for name, notebook in NOTEBOOKS.items():
        assert not [node for node in nodes(notebook) if isinstance(node, ast.ImportFrom)], name
        imported = {alias.name for node in nodes(notebook) if isinstance(node, ast.Import) for alias in node.names}
        assert imported <= {"os", "workbench"}, name


def test_each_display_has_a_sentence_before_it():
    for name, notebook in NOTEBOOKS.items():
        cells = [cell for cell in notebook.cells if not {"parameters", "record"} & set(cell.metadata.get("tags", []))]
        kinds = [cell.cell_type for cell in cells if cell.source != "import workbench as wb"]
        assert ["code", "code"] not in [list(pair) for pair in pairwise(kinds)], name


def test_it_begins_with_a_question_and_one_made_by_a_sweep_ends_with_its_record():
    for name, notebook in NOTEBOOKS.items():
        assert notebook.cells[0].source.splitlines()[0].endswith("?"), name
        assert (notebook.cells[-1].source == "view.record(run_id)") == made_by_a_sweep(notebook), name
