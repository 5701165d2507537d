"""The trends of an outputs folder: the executed notebook, and `trends.html`."""

from pathlib import Path

from workbench.core.fingerprint import file_digest
from workbench.notebook_runner.notebooks import notebook_path, run_notebook
from workbench.report.open import open_trends
from workbench.report.render.html import write_page
from workbench.results.history import history_path
from workbench.storage.result_store import Store


def write_trends(outputs: Path, experiment: str, store: Store) -> Path:
    """Run the trends notebook on the history into `<outputs>/<experiment>/trends.ipynb`; write and return `trends.html`."""
    view, folder = open_trends(outputs, experiment), outputs / experiment
    parameters = {"outputs": "..", "experiment": experiment}
    run_notebook(store, notebook_path("trends"), parameters, file_digest(history_path(outputs)), folder / "trends.ipynb")
    return write_page(view.document(), folder / "trends.html")
