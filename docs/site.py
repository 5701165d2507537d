"""Build the documentation as a site with a search, into build/site: `make site`.

The pages are read as they are in the repository, so that every link works there and here. Their order is that of docs/README.md.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/**/*.md", "experiments/*.md", "experiments/handbook/*.md", "benchmarks/*/*.md")
SETTINGS = """
project, author = "Workbench", "the authors of Workbench"
html_title = "Workbench"
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_show_sourcelink = html_copy_source = html_show_sphinx = False
myst_heading_anchors = 5
root_doc = "README"
# Pages that another page refers to, but no table of contents.
suppress_warnings = ["toc.not_included"]
"""
_LINK = re.compile(r"\]\(([^)#:\s]+)")


def main(folder: Path = ROOT / "build") -> int:
    """Write the site to `folder`/site. A dead link or anchor is an error. Return the exit code."""
    source, site = folder / "site-source", folder / "site"
    for place in (source, site):
        shutil.rmtree(place, ignore_errors=True)
    for path in files():
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (source / "conf.py").write_text(SETTINGS, "utf-8")
    with (source / "README.md").open("a", encoding="utf-8") as page:
        page.writelines(contents())
    code = build_main(["-q", "-W", "--keep-going", "-b", "html", str(source), str(site)])
    if code == 0:
        shutil.copyfile(site / "README.html", site / "index.html")
    return code


def files() -> set[Path]:
    """The pages, and the files of the repository that they refer to."""
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    linked = {(page.parent / target).resolve() for page in pages for target in _LINK.findall(page.read_text("utf-8"))}
    return pages | {path for path in linked if path.is_file() and path.is_relative_to(ROOT)}


def contents() -> Iterator[str]:
    """Yield the table of contents of each section of docs/README.md that lists pages."""
    index = (ROOT / "docs/README.md").read_text("utf-8")
    yield from _contents("Start", [page for page in ("docs/README.md", "docs/tutorial.md") if (ROOT / page).is_file()])
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[2:]:
        title, _, body = section.partition("\n")
        paths = [
            (ROOT / "docs" / target).resolve().relative_to(ROOT) for target in re.findall(r"^\| \[[^]]+\]\(([^)#]+)\)", body, re.MULTILINE)
        ]
        yield from _contents(title, [path.as_posix() for path in paths])


def _contents(title: str, paths: Iterable[str]) -> Iterator[str]:
    yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *paths, "```", ""])


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
