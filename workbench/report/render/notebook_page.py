"""Render an executed notebook as a self-contained HTML page without scripts, safe to open whoever ran the notebook."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.core.errors import InputError
from workbench.core.files import write_text
from workbench.core.text.display import excerpt, visible_html
from workbench.report.render.html import environment, style_sheet

# Outputs may style themselves, but nothing is loaded and no script runs.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TAGS = set(
    re.findall(
        r"[\w-]+",
        (
            "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i "
            "img kbd li mark ol p pre q s small span strong sub summary sup table tbody td tfoot th thead tr u ul"
        ),
    )
)
_EVERYWHERE = {"style", "title", "dir", "lang", "id", "role", "tabindex", "aria-label", "aria-hidden"}
_ATTRIBUTES = {
    "*": _EVERYWHERE,
    "a": {"href"},
    "details": {"open"},
    "img": {"src", "alt", "width"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
# Properties of text and boxes. An output cannot cover the rest of the page.
_PROPERTIES = set(
    re.findall(
        r"[\w-]+",
        (
            "background-color border border-bottom border-collapse border-left border-right border-top caption-side clip-path "
            "color display float font-family font-size font-style font-variant font-weight height line-height list-style margin "
            "margin-bottom margin-left margin-right margin-top max-height max-width min-width opacity overflow overflow-wrap "
            "overflow-x overflow-y padding padding-bottom padding-left padding-right padding-top text-align text-decoration "
            "text-underline-offset vertical-align white-space width word-break"
        ),
    )
)
_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
# Links may leave the page, and styles may not: no addresses, no escapes that hide one, no margins that move a box over others.
_SCHEMES = {"http", "https", "mailto"}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
# Browsers skip them at the beginning of an address and inside its scheme.
_SKIPPED = re.compile(r"[\x00-\x20\x7f-\xa0]")
_FUNCTIONS = {"rgb", "rgba", "hsl", "hsla", "calc", "min", "max", "inset"}
# The time to clean a tree grows with its depth. Elements that end where the next one begins do not nest.
_MOST_ELEMENTS = 20_000
_NESTING = re.compile(r"<(?!(?:br|dd|dt|hr|img|li|p|tbody|td|tfoot|th|thead|tr)\b)[a-z]", re.IGNORECASE)
_ELEMENT = re.compile("<[a-z]", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_LEFT_OUT = "An output with too many elements was here. Run the notebook to see it."
# Characters of the reason why a file is not a notebook.
_REASON = 200
_ABSENT = "An interactive element was here. Run the notebook to use it."


@dataclass(frozen=True)
class PageCell:
    """A cell on the page: the text of a Markdown cell as HTML, or source code with its outputs as HTML."""

    text: str = ""
    source: str = ""
    outputs: tuple[Markup, ...] = ()


def write_notebook_page(notebook: Path) -> Path:
    """Write an executed notebook as a page beside it, and return the path of the page.

    Raises
    ------
    InputError: the file does not exist or is no notebook that nbformat accepts.
    """
    page = notebook.with_suffix(".html")
    write_text(page, notebook_page(notebook))
    return page


def notebook_page(notebook: Path) -> str:
    """Return the page of an executed notebook. Raises InputError if the file does not exist or is not a notebook."""
    cells = list(_cells(_read(notebook)))
    title = next((match[1] for cell in cells if (match := re.search(r"<h1>(.*?)</h1>", cell.text))), "")
    shown = {"title": Markup(title).striptags() or notebook.stem, "file": notebook.name, "cells": cells}
    text = environment().get_template("notebook.html.j2").render(shown | {"policy": _POLICY, "style": Markup(style_sheet())})
    return visible_html(text)


def _read(path: Path) -> list[Any]:
    import nbformat

    try:
        # Half of a surrogate pair is JSON, and no text of a page.
        text = _SURROGATES.sub("\ufffd", json.dumps(json.loads(path.read_bytes()), ensure_ascii=False))
        notebook = nbformat.convert(nbformat.reader.reads(text), 4)
        _, notebook = nbformat.validator.normalize(notebook)
        nbformat.validate(notebook, relax_add_props=True)
        return list(notebook.cells)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "give the path of an executed notebook") from error
    except RecursionError as error:
        raise InputError(f"{path} is not a notebook: it is nested too deeply", "give the path of an executed notebook") from error
    except (ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        reason = f": {excerpt(str(error), _REASON)}" if isinstance(error, nbformat.ValidationError) else ""
        raise InputError(f"{path} is not a notebook{reason}", "give the path of an executed notebook") from error


def _cells(cells: list[Any]) -> Iterator[PageCell]:
    from markdown_it import MarkdownIt

    heading, silent, markdown = "", list[str](), MarkdownIt("commonmark", {"html": False}).enable("table")
    for cell in cells:
        # The record at the end is for the program that ran the notebook.
        if "record" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            heading = next((line.strip("# ") for line in cell.source.splitlines() if line.startswith("#")), heading)
            yield PageCell(_cleaned(markdown.render(cell.source)))
        elif cell.cell_type == "code" and cell.source:
            # Parameters and imports print nothing: they are shown with the cell that uses them.
            silent.append(cell.source)
            if outputs := tuple(shown for output in cell.outputs if (shown := _output(output, heading))):
                yield PageCell(source="\n\n".join(silent), outputs=outputs)
                silent = []
    if silent:
        yield PageCell(source="\n\n".join(silent))


def _output(output: Any, heading: str) -> Markup:
    """Return an output as HTML, in the richest of its forms that needs no script."""
    if output.output_type == "stream":
        return _plain(output.text)
    if output.output_type == "error":
        return _plain("\n".join(output.traceback) or f"{output.ename}: {output.evalue}")
    data = {kind: value if isinstance(value, str) else json.dumps(value) for kind, value in output.data.items()}
    if "text/html" in data and not _is_too_large(data["text/html"]):
        html = _cleaned(data["text/html"])
        # A wide table scrolls by keyboard, unless the output does so itself.
        frame = Markup('<div class="frame" tabindex="0" role="group" aria-label="Table">{}</div>')
        return frame.format(html) if "<table" in html and "tabindex" not in html else html
    if kind := next((kind for kind in _PICTURES if kind in data), ""):
        return _picture(kind, data, output.metadata.get(kind), heading)
    if _WIDGET in data:
        return Markup('<p class="note">{}</p>').format(_ABSENT)
    return _plain(data.get("text/plain", data.get("text/markdown", _LEFT_OUT if "text/html" in data else "")))


def _is_too_large(html: str) -> bool:
    """Check for HTML that takes long to clean. In pictures, elements of tables and lists nest too."""
    nesting = _ELEMENT if re.search("<(?:svg|math)", html, re.IGNORECASE) else _NESTING
    return sum(1 for _ in islice(nesting.finditer(html), _MOST_ELEMENTS + 1)) > _MOST_ELEMENTS


def _picture(kind: str, data: Mapping[str, str], said: object, heading: str) -> Markup:
    """Return an image with its alternative text: that of its metadata, else its description, else the heading above it."""
    metadata = said if isinstance(said, Mapping) else {}
    described = "" if data.get("text/plain", "<").startswith("<") else data["text/plain"]
    alt = str(metadata.get("alt") or described or f"Figure: {heading or 'no description'}")
    try:
        content = data[kind].encode() if kind == "image/svg+xml" else base64.b64decode(data[kind])
    except (binascii.Error, ValueError):
        return Markup('<p class="note">{}</p>').format(alt)
    encoded = base64.b64encode(content).decode("ascii")
    width = metadata.get("width")
    size = Markup(' width="{}"').format(width) if isinstance(width, int) else ""
    return Markup('<img src="data:{};base64,{}" alt="{}"{}>').format(kind, encoded, alt, size)


def _plain(text: str) -> Markup:
    return (
        Markup('<pre tabindex="0" role="group" aria-label="Output">{}</pre>').format(_ESCAPES.sub("", text)) if text.strip() else Markup("")
    )


def _cleaned(html: str) -> Markup:
    import nh3

    return Markup(
        nh3.clean(
            html,
            tags=_TAGS,
            clean_content_tags={"script", "style"},
            attributes=_ATTRIBUTES,
            attribute_filter=_attribute,
            filter_style_properties=_PROPERTIES,
            url_schemes={"http", "https", "mailto", "data"},
            link_rel="noopener noreferrer",
        )
    )


def _attribute(_: str, name: str, value: str) -> str | None:
    """Keep images inside the page and links that lead to pages."""
    if name == "src":
        return value if value.startswith("data:image/") else None
    if name == "href":
        scheme = _SCHEME.match(_SKIPPED.sub("", value).lower())
        return value if scheme is None or scheme[1] in _SCHEMES else None
    if name == "style":
        return ";".join(filter(_is_harmless, value.split(";")))
    # A positive number would move the output to the front of the page's order.
    return "0" if name == "tabindex" else value


def _is_harmless(declaration: str) -> bool:
    """Check that a declaration of a style loads nothing and keeps its element in its place."""
    name, _, value = declaration.partition(":")
    if "\\" in declaration or not {function.lower() for function in re.findall(r"([\w-]*)\s*\(", value)} <= _FUNCTIONS:
        return False
    return not ("margin" in name.lower() and ("-" in value or "(" in value))
