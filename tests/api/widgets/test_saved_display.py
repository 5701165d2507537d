"""What a saved explorer leaves: a table, and no widget that nobody can load."""

from pathlib import Path

import nbformat
import papermill
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from nbconvert import HTMLExporter

import workbench as wb

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "work.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"


class Attended(InteractiveShell):
    """A shell in whose notebook a person works: the frontend offers standard input."""

    allows_input = True

    def get_parent(self):
        return {"content": {"allow_stdin": self.allows_input}}


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = Attended.instance(display_pub_class=CapturingDisplayPublisher, history_load_length=0)
    made.history_manager.enabled = False
    yield made
    made.history_manager.end_session()
    Attended.clear_instance()


@pytest.fixture(scope="module")
def executed(results, tmp_path_factory):
    """The notebook as papermill ran and saved it, with the state of widgets if there is any."""
    path = tmp_path_factory.mktemp("executed") / "work.ipynb"
    parameters = {"results": str(results.folder)}
    papermill.execute_notebook(NOTEBOOK, path, parameters, kernel_name="python3", progress_bar=False, cwd=NOTEBOOK.parent)
    return nbformat.read(path, as_version=4)


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_papermill_saves_the_static_table_and_no_widget(executed, results):
    table, ranking, boundaries, selection = outputs(executed)
    explorer = wb.explore(results)
    for output in (table, ranking, boundaries):
        assert set(output.data) == {"text/html", "text/plain"}
    assert all(
        part in table.data["text/html"] for part in ("Both configurations", "rank 1", *map(explorer.model.title, explorer.configurations))
    )
    assert table.data["text/plain"] == "Explorer('few', 5 configurations)"
    assert f"{results.primary} on all" in ranking.data["text/html"]
    assert f"Evidence of {explorer.choice.query_id}: chunk" in boundaries.data["text/html"]
    assert "widgets" not in executed.metadata
    assert results.questions["query_id"].iloc[0] in selection.data["text/html"]


def test_a_person_gets_the_widget_and_the_table_follows_what_is_shown(shell, results):
    explorer = wb.explore(results)
    explorer._ipython_display_()
    view, table = shell.display_pub.outputs
    assert view["data"][WIDGET]["model_id"] == explorer.widget.model_id
    assert view["data"]["text/html"] == ""
    assert WIDGET not in table["data"]
    explorer.panel.second.value = "hierarchical-64-256"
    changed = shell.display_pub.outputs[-1]
    assert changed["update"]
    assert changed["transient"] == table["transient"]
    assert "hierarchical 64 in 256" in changed["data"]["text/html"]


def test_the_widget_hides_the_table_of_its_own_display_only(shell, results):
    first, second = wb.explore(results), wb.explore(results)
    marks = []
    for explorer in (first, second):
        explorer._ipython_display_()
        mark = shell.display_pub.outputs[-1]["data"]["text/html"].rpartition('<div class="workbench-')[2].partition('"')[0]
        style = next(part for box in explorer.widget.children for part in box.children if "-alive" in getattr(part, "value", ""))
        assert f".workbench-{mark}" in style.value
        marks.append(mark)
    assert marks[0] != marks[1]


def test_where_nobody_can_answer_only_the_table_is_displayed(shell, results, monkeypatch):
    monkeypatch.setattr(Attended, "allows_input", False)
    wb.explore(results)._ipython_display_()
    (table,) = shell.display_pub.outputs
    assert set(table["data"]) == {"text/html", "text/plain"}
    assert "Both configurations" in table["data"]["text/html"]


def test_an_export_of_what_a_person_saved_or_papermill_made_has_one_table_and_no_widget(shell, results, executed):
    explorer = wb.explore(results)
    explorer._ipython_display_()
    found = [nbformat.v4.new_output("display_data", data=each["data"]) for each in shell.display_pub.outputs[:2]]
    saved = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("explorer", outputs=found)])
    for notebook in (saved, executed):
        html, _ = HTMLExporter(exclude_input=True).from_notebook_node(notebook)
        body = html.partition("<body")[2]
        assert body.count(">Both configurations<") == 1
        assert WIDGET not in body
