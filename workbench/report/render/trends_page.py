"""trends.html: the executed trends notebook as a page of its own."""

from pathlib import Path

from markupsafe import Markup

from workbench.core.files import write_text
from workbench.core.fingerprint import file_digest
from workbench.core.formatting import plural
from workbench.notebook_runner.notebooks import run_notebook
from workbench.report.open import open_trends
from workbench.report.render.display import environment, stylesheet
from workbench.report.render.notebook_page import section
from workbench.results.history import history_path


def write_trends(outputs: Path, experiment: str) -> Path:
    """Run the trends notebook on the history: `<outputs>/<experiment>/trends.ipynb`, and `trends.html`, which is returned."""
    view, path = open_trends(outputs, experiment), history_path(outputs)
    folder, digest = outputs / experiment, file_digest(path)
    parameters = {"outputs": str(outputs), "experiment": experiment}
    run_notebook(view.store, "trends", parameters, digest, folder / "trends.ipynb")
    page = (
        environment()
        .get_template("notebook.html.j2")
        .render(
            title=f"{experiment} over time",
            about=f"{plural(len(view.runs), 'run')}, by {view.metric}",
            style=Markup(stylesheet("page") + stylesheet("fragments")),
            sections=[section("Trends", folder / "trends.ipynb", 2)],
            provenance=[("History", [("file", str(path)), ("SHA-256", digest)])],
        )
    )
    write_text(folder / "trends.html", page)
    return folder / "trends.html"
