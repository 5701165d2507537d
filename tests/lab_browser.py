"""A real JupyterLab on the loopback and a headless Chromium that looks at it, for tests marked `browser`.

    def test_the_comparison_runs(start_lab, open_notebook, workplace):
        notebook = open_notebook(start_lab(workplace), "notebooks/comparison.ipynb")
        notebook.run_all()
        notebook.page.get_by_label("Question").fill("who pays for the taxi")
        notebook.screenshot("typed")
        notebook.save()
        notebook.reload()
        assert notebook.traffic.complaints == []

`start_lab` starts `workbench lab` in a folder and `open_notebook` opens one of its notebooks in a browser window. Both end with their tests, and
every wait has a time limit. Screenshots go to WORKBENCH_SCREENSHOTS, or to the test's temporary folder. Playwright drives the installed
Chromium and is imported by the tests that use it; its objects belong to the thread of the test.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import nbformat
import pytest

from tests.lab_server import START_SECONDS, Lab
from tests.page_checks import Traffic, is_local, serious

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RUN_SECONDS = 300
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
# The open notebook with this path, as JupyterLab's own widget. Kept on the window for the calls that follow.
_READY = """(path) => {
    const shell = window.jupyterapp?.shell;
    const shown = shell && [...shell.widgets("main")].find((one) => one.context && one.context.path === path);
    if (!shown || !shown.context.isReady || !shown.context.sessionContext.isReady) return false;
    if (shell.currentWidget !== shown) shell.activateById(shown.id);
    window.notebook = shown;
    return Boolean(document.querySelector(".jp-Notebook .jp-Cell")) && shown.context.sessionContext.session?.kernel?.status === "idle";
}"""
_RUN_ALL = """() => {
    window.ended = null;
    window.jupyterapp.commands.execute("notebook:run-all-cells").then(() => { window.ended = "run"; }, (error) => { window.ended = String(error); });
}"""
_IDLE = """() => window.ended !== null && window.notebook.context.sessionContext.session?.kernel?.status === "idle"
    && window.notebook.content.widgets.every((cell) => !cell.model.executionState || cell.model.executionState === "idle")"""
_SAVE = """() => {
    window.saved = null;
    window.notebook.context.save().then(() => { window.saved = true; }, (error) => { window.saved = String(error); });
}"""


class NotebookPage:
    """A notebook of a running JupyterLab in a browser window. Everything that waits fails with a reason after `seconds`."""

    def __init__(self, page: "Page", lab: Lab, path: str, pictures: Path) -> None:
        self.page, self.lab, self.path, self.traffic, self._pictures = page, lab, path, Traffic(), pictures
        self.traffic.watch(page)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{lab.url}/lab/tree/{quote(path)}?reset&token={lab.token}", timeout=START_SECONDS * 1000)
        self._wait(_READY, START_SECONDS, path)

    def run_all(self, seconds: float = RUN_SECONDS) -> None:
        """Run all cells by JupyterLab's command, wait until the last is done, and fail with the first error that a cell shows."""
        self.page.evaluate(_RUN_ALL)
        self._wait(_IDLE, seconds)
        assert self.page.evaluate("window.ended") == "run"
        errors = [f"{output.ename}: {output.evalue}" for output in self.outputs() if output.output_type == "error"]
        assert errors == [], f"{self.path}: {errors}"
        empty = [cell.source for cell in self.cells() if cell.cell_type == "code" and cell.source and cell.execution_count is None]
        assert empty == [], f"{self.path}: cells did not run: {empty}"

    def notebook(self) -> nbformat.NotebookNode:
        """Return the notebook as it is in the window now, saved or not."""
        return nbformat.from_dict(self.page.evaluate("window.notebook.content.model.toJSON()"))

    def cells(self) -> list[nbformat.NotebookNode]:
        """Return its cells, in the order of the notebook."""
        return list(self.notebook().cells)

    def outputs(self) -> list[nbformat.NotebookNode]:
        """Return the outputs of all code cells, in the order of the notebook."""
        return [output for cell in self.cells() if cell.cell_type == "code" for output in cell.outputs]

    def show_cell(self, index: int) -> None:
        """Select a cell and scroll to it: JupyterLab attaches only the cells near the visible ones."""
        self.page.evaluate("(i) => { notebook.content.activeCellIndex = i; void notebook.content.scrollToItem(i, 'start'); }", index)

    def set_parameters(self, **values: object) -> None:
        """Rewrite the notebook's cell of parameters, as a person does before Run All."""
        index, cell = next((i, cell) for i, cell in enumerate(self.cells()) if "parameters" in cell.metadata.get("tags", []))
        source = cell.source
        for name, value in values.items():
            source, found = re.subn(rf"^{name} = .*?(?=  #|$)", lambda _: f"{name} = {value!r}", source, flags=re.MULTILINE)  # noqa: B023
            assert found == 1, f"{self.path} has no parameter {name}"
        self.page.evaluate("([i, text]) => notebook.content.widgets[i].model.sharedModel.setSource(text)", [index, source])

    def save(self, seconds: float = 30) -> Path:
        """Save the notebook and return its file."""
        self.page.evaluate(_SAVE)
        self._wait("() => window.saved !== null", seconds)
        assert self.page.evaluate("window.saved") is True
        return self.lab.root / self.path

    def reload(self) -> None:
        """Load the page again. The kernel goes on."""
        self.page.reload()
        self._wait(_READY, START_SECONDS, self.path)

    def screenshot(self, name: str, height: int | None = None) -> Path:
        """Photograph the window into `name`.png, first making it `height` pixels high, since JupyterLab scrolls inside of it."""
        if height is not None and (size := self.page.viewport_size):
            self.page.set_viewport_size({"width": size["width"], "height": height})
            self.page.wait_for_timeout(500)
        self._pictures.mkdir(parents=True, exist_ok=True)
        target = self._pictures / f"{name}.png"
        self.page.screenshot(path=target)
        return target

    def close(self) -> None:
        """Close the window and end the kernel."""
        self.page.context.close()
        if self.lab.process.poll() is None:
            self.lab.end_kernel(self.path)

    def serious(self) -> list[Any]:
        """Return what axe-core calls serious in the notebook's own outputs. JupyterLab's frame has findings of its own."""
        return serious(self.page, ".jp-OutputArea-output")

    def _wait(self, condition: str, seconds: float, argument: object = None) -> None:
        from playwright.sync_api import Error

        try:
            self.page.wait_for_function(condition, arg=argument, timeout=seconds * 1000, polling=200)
        except Error as error:
            shown = self.screenshot("stuck")
            raise AssertionError(f"{self.path} is not ready after {seconds} s, see {shown}: {self.traffic.complaints}: {error}") from None


def write_notebook(path: Path, *sources: str) -> None:
    """Write a notebook with a cell for each source, of which the first has the parameters."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A headless Chromium with a user data directory of its own."""
    with start_chromium() as browser:
        yield browser


@contextmanager
def start_chromium() -> Iterator["Browser"]:
    """Start the installed Chromium."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    if binary is None:
        pytest.fail("Chromium is not installed: apt-get install -y chromium")
    # Only make browser installs it, and without that these tests are not chosen.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_notebook(chromium: "Browser", tmp_path: Path) -> Iterator[Callable[..., NotebookPage]]:
    """Open a notebook of a lab by its path from the root; `settings` go to Playwright's `new_context`."""
    pages: list[NotebookPage] = []
    pictures = Path(os.environ.get("WORKBENCH_SCREENSHOTS", tmp_path / "screenshots"))

    def open_page(lab: Lab, path: str, width: int = 1440, height: int = 1000, **settings: Any) -> NotebookPage:
        context = chromium.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **settings)
        # Asked, noticed, and never sent.
        context.route(lambda url: not is_local(url), lambda route: route.abort())
        pages.append(NotebookPage(context.new_page(), lab, path, pictures))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
