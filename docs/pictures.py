"""Make the pictures of the docs in docs/images: run `make picture`, after which outputs/quickstart is the run that they show.

Nothing in them is drawn by hand: each is a page or a notebook of a real run, photographed in Chromium, or a drawing made from its tables.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mistune
from PIL import Image

from docs.evidence import drawing, example
from tests.lab_browser import NotebookPage, start_chromium
from tests.lab_server import WORKBENCH, start_server
from workbench.report.results.run_tables import RunTables

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
IMAGES, RUN = ROOT / "docs" / "images", ROOT / "outputs" / "quickstart"
COLOURS, MOST_BYTES = 256, 150_000
# A pull request that shortens the chunks and leaves out their titles.
EXPERIMENT = """\
name: rag
dataset: {kind: golden, path: data, split: dev}
pipeline:
  chunking: {kind: markdown, size: 256, enrich: true}
  retrieval: {kind: bm25}
metrics: [span_recall@2000t, recall@5]
gate:
  rules: [recall@5 >= 0.7]
  baseline: rag.json
  tolerance: 5%
"""
CHANGE = 'pipeline.chunking={"kind": "fixed", "size": 128, "overlap": 0}'
FRAME = """<!doctype html><meta charset="utf-8"><title>Gate</title><style>
body {{ margin: 0; padding: 24px; background: #fff; color: #1f2328; font: 14px/1.5 "DejaVu Sans", sans-serif; }}
main {{ border: 1px solid #d1d9e0; border-radius: 6px; width: 1060px; }}
header {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: 10px 16px; color: #59636e; }}
article {{ padding: 4px 16px 12px; }}
h3 {{ font-size: 17px; margin: 12px 0; }} h4 {{ margin: 12px 0 8px; }} p, ul {{ margin: 8px 0; }}
table {{ border-collapse: collapse; font-size: 13px; margin-bottom: 14px; }} th, td {{ border: 1px solid #d1d9e0; padding: 5px 10px; text-align: left; }}
tr:nth-child(2n) {{ background: #f6f8fa; }}
code, pre {{ background: #f0f1f3; border-radius: 4px; font: 12px "DejaVu Sans Mono", monospace; padding: 2px 5px; }}
</style><main><header><b>workbench gate</b> · the summary of the job, in the checks of the pull request</header><article>{}</article></main>"""


# The browser has no font with these, which GitHub shows as pictures, too.
_MARK = '<svg width="15" height="15" viewBox="0 0 15 15" style="vertical-align: -2px">{}</svg>'
MARKS = {
    "❌": _MARK.format('<path d="M2 2L13 13M13 2L2 13" stroke="#d1242f" stroke-width="3.5"/>'),
    "✅": _MARK.format(
        '<rect width="15" height="15" rx="3" fill="#1a7f37"/><path d="M3 8L6.5 11L12 4" stroke="#fff" stroke-width="2" fill="none"/>'
    ),
}


@dataclass(frozen=True)
class Studio:
    """A browser, and a folder with the experiments, the notebooks and the run, in which JupyterLab works."""

    browser: "Browser"
    place: Path

    def photograph(self, page: Path, name: str, width: int, height: int, last: str = "html") -> None:
        """Photograph a page down to the end of its element `last`, at most `height` pixels."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        shown = context.new_page()
        shown.goto(page.as_uri())
        longest = shown.evaluate("(last) => Math.ceil(document.querySelector(last).getBoundingClientRect().bottom)", last)
        shown.screenshot(path=IMAGES / name, clip={"x": 0, "y": 0, "width": width, "height": min(height, longest)})
        context.close()

    @contextlib.contextmanager
    def notebook(self, path: str, width: int = 1240, height: int = 1000, **parameters: object) -> Iterator[NotebookPage]:
        """Open a notebook in JupyterLab without its sidebar, and run all its cells."""
        lab = start_server(self.place, (), Path(tempfile.mkdtemp(dir=self.place)))
        context = self.browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        try:
            notebook = NotebookPage(context.new_page(), lab, path, self.place / "stuck")
            notebook.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            notebook.set_parameters(**parameters)
            notebook.run_all()
            yield notebook
            notebook.close()
        finally:
            lab.end()


def report(studio: Studio) -> None:
    """Photograph the first screen of the report."""
    studio.photograph(RUN / "report.html", "report.png", 1280, 800)


def explorer(studio: Studio) -> None:
    """Photograph the explorer, the ranking at another budget, and the sliders of boundaries, which share a choice."""
    with studio.notebook("notebooks/work.ipynb", first="markdown-256-enriched", second="fixed-256-0") as notebook:
        page = notebook.page
        show(notebook, "explorer = ", 1130)
        page.screenshot(path=IMAGES / "explorer.png")
        show(notebook, "explorer.what_if()", 800)
        page.get_by_label("Cut", exact=True).fill("1000")
        page.keyboard.press("Enter")
        page.get_by_text("span_recall@1000t on all").first.wait_for()
        page.screenshot(path=IMAGES / "what_if.png")
        show(notebook, "explorer.boundaries()", 900)
        page.get_by_label("Chunking", exact=True).select_option("fixed")
        page.get_by_text("fixed-256-0:").first.wait_for()
        page.screenshot(path=IMAGES / "sliders.png")


def labeller(studio: Studio) -> None:
    """Photograph the labeller on a question of the handbook, with a document in which evidence is marked."""
    settings = {"results": "outputs/quickstart", "annotator": "ann", "file": "outputs/labels.jsonl", "again": True}
    with studio.notebook("notebooks/label.ipynb", **settings) as notebook:
        show(notebook, "labeller = ", 860)
        notebook.page.get_by_text("finance/home-office-budget").first.click()
        notebook.page.wait_for_timeout(1000)
        notebook.page.screenshot(path=IMAGES / "labeller.png")


def show(notebook: NotebookPage, source: str, height: int) -> None:
    """Scroll to the cell that begins with some source, in a window of some height."""
    size = notebook.page.viewport_size
    assert size
    notebook.page.set_viewport_size({"width": size["width"], "height": height})
    notebook.show_cell(next(place for place, cell in enumerate(notebook.cells()) if cell.source.startswith(source)))
    notebook.page.wait_for_timeout(2000)


def gate(studio: Studio) -> None:
    """Photograph the gate's Markdown for a pull request that fails, in a frame like that of a job's summary."""
    place = studio.place / "request"
    shutil.copytree(ROOT / "experiments" / "handbook", place / "data")
    (place / "rag.yaml").write_text(EXPERIMENT, "utf-8")
    for words, code in (
        (["sweep", "rag.yaml"], 0),
        (["gate", "outputs/rag", "--update-baseline", "rag.json"], 0),
        (["sweep", "rag.yaml", "--set", CHANGE], 0),
        (["gate", "outputs/rag", "--summary", "gate.md"], 1),
    ):
        done = subprocess.run([str(WORKBENCH), *words], cwd=place, env=studio_environment(), capture_output=True, text=True, check=False)
        assert done.returncode == code, (words, done.stdout, done.stderr)
    shown = mistune.create_markdown(plugins=["table"])((place / "gate.md").read_text("utf-8"))
    for mark, picture in MARKS.items():
        shown = shown.replace(mark, picture)
    page = place / "gate.html"
    page.write_text(FRAME.format(shown), "utf-8")
    studio.photograph(page, "gate.png", 1110, 900, last="table:nth-of-type(3) tbody tr:nth-child(5)")


def studio_environment() -> Mapping[str, str]:
    """The environment without what a job of CI adds to it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}


def evidence(_: Studio) -> None:
    """Draw evidence, chunks and cut-offs of a question of the run."""
    (IMAGES / "evidence.svg").write_text(drawing(example(RunTables.read(RUN))), "utf-8")


# Every picture of the docs, and what makes it.
PICTURES: Mapping[str, Callable[[Studio], None]] = {
    "report.png": report,
    "explorer.png": explorer,
    "what_if.png": explorer,
    "sliders.png": explorer,
    "labeller.png": labeller,
    "gate.png": gate,
    "evidence.svg": evidence,
}


def shrink(picture: Path) -> None:
    """Reduce the colours of a picture, then its size, until it is small enough."""
    image = Image.open(picture).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
    while picture.stat().st_size > MOST_BYTES:
        image = image.resize((image.width * 9 // 10, image.height * 9 // 10), Image.Resampling.LANCZOS)
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


def main(names: list[str]) -> None:
    """Make the pictures with these names, or all."""
    chosen = dict.fromkeys(make for name, make in PICTURES.items() if not names or name in names)
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder, start_chromium() as browser:
        place = Path(folder) / "handbook"
        for name in ("experiments", "notebooks"):
            shutil.copytree(ROOT / name, place / name)
        shutil.copytree(RUN, place / "outputs" / "quickstart")
        for make in chosen:
            make(Studio(browser, place))
    for name, make in PICTURES.items():
        if make in chosen and name.endswith(".png"):
            shrink(IMAGES / name)


if __name__ == "__main__":
    main(sys.argv[1:])
