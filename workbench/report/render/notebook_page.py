"""An executed notebook as a part of a page: no script, no request to anywhere, nothing live from documents."""

import re
from dataclasses import dataclass
from pathlib import Path

import nh3
from markupsafe import Markup, escape

_TAGS = {"a", "article", "br", "code", "div", "em", "hr", "img", "li", "mark", "ol", "p", "pre", "small", "span", "strong", "ul"}
_TAGS |= {"h1", "h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}
_ATTRIBUTES = {
    "img": {"src", "alt", "width"},
    "table": {"class", "aria-label"},
    "th": {"scope", "class"},
    "td": {"class"},
    "div": {"class", "role", "aria-label", "tabindex"},
}
_ATTRIBUTES |= {tag: {"class"} for tag in ("p", "ul", "li", "mark", "small", "article", "span")}
_HIDDEN_CELLS = {"parameters", "injected-parameters", "papermill-error-cell-tag", "record"}
_IMAGE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]+")
_OURS = re.compile(r"wb(-[a-z]+)?")
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A notebook in the report: its heading, its anchor, its cleaned body and the headings inside as (anchor, text)."""

    title: str
    anchor: str
    body: Markup
    headings: tuple[tuple[str, Markup], ...] = ()


def section(title: str, notebook: Path, level: int) -> Section:
    """An executed notebook as a section whose first heading is of this level."""
    anchor = f"notebook-{title}"
    body, headings = _anchored(clean(_exported(notebook)), anchor, level - 1)
    return Section(title, anchor, body, headings)


def clean(html: str) -> str:
    """HTML with nothing left but our own tags and classes, images that are PNG data, and links within the page."""
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style", "iframe", "object", "svg", "math"},
        attributes=_ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"data"},
        link_rel=None,
    )


def _kept(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if tag == "img" and _IMAGE.fullmatch(value) else None
    if attribute == "class":
        return " ".join(name for name in value.split() if _OURS.fullmatch(name)) or None
    return value


def _exported(notebook: Path) -> str:
    """The notebook's Markdown and outputs as HTML, its code left out."""
    # Heavy to import, and needed by reports alone.
    import nbformat
    from nbconvert.exporters import HTMLExporter

    read = nbformat.read(notebook, as_version=4)
    read.cells = [cell for cell in read.cells if not _HIDDEN_CELLS & set(cell.metadata.get("tags", []))]
    for cell in read.cells:
        # What was printed on the way is for whoever watches the notebook.
        cell["outputs"] = [output for output in cell.get("outputs", []) if output.output_type != "stream"]
    exporter = HTMLExporter(template_name="basic", exclude_input=True, exclude_output_prompt=True, exclude_anchor_links=True)
    html, _ = exporter.from_notebook_node(read)
    return str(html)


def _anchored(body: str, anchor: str, deeper: int) -> tuple[Markup, tuple[tuple[str, Markup], ...]]:
    """The body with its headings `deeper` levels down and numbered anchors on them; the headings below the first."""
    headings: list[tuple[str, Markup]] = []

    def place(found: re.Match[str]) -> str:
        level = min(int(found[1]) + deeper, 6)
        headings.append((f"{anchor}-{len(headings) + 1}", Markup(found[2])))
        return f'<h{level} id="{escape(headings[-1][0])}">{found[2]}</h{level}>'

    placed = Markup(_HEADING.sub(place, body))
    return placed, tuple(headings[1:])
