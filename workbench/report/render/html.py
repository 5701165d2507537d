"""Render report.html, a self-contained file with one script and no network requests, its figures as inline SVG whose colours are classes."""

import base64
import functools
import hashlib
import io
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup, escape

from workbench.core.files import write_text
from workbench.core.text.display import visible_html
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.analysis.setting_names import short_names
from workbench.report.canvas import ACCENT, FAINT, INK, LINES, MUTED, PAPER, own_style
from workbench.report.model import Report, Sparkline
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import folder_of
from workbench.report.topics.decision.opening import about, excerpt, opening

_TEMPLATES = Path(__file__).parents[1] / "templates"
# Longest name, in letters, that is kept on one line.
_UNBROKEN = 32


def write_report(run: RunTables, path: Path) -> Path:
    """Write the report of a run to `path`. It names the notebooks beside it without reading them."""
    return write_page(document_of(run), path)


def write_page(document: Report, path: Path) -> Path:
    """Write a document to `path` as a page."""
    write_text(path, rendered(document))
    return path


def document_of(run: RunTables) -> Report:
    """Build the report of a finished run, without empty sections."""
    # Deferred: other pages need no topic.
    from workbench.report.topics.registry import sections

    conclusions = findings(run)
    names, decision = [*run.names, *run.failures], decide(conclusions)
    first = opening(decision, excerpt(decision))
    return Report(run.name, folder_of(run), names, first, sections(conclusions), about(conclusions), short_names(run))


@functools.cache
def environment() -> "Environment":
    """The package's templates. Values are escaped by default, and undefined names raise an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def rendered(document: Report) -> str:
    """Render the document as a page whose policy allows only its own script and style sheet."""
    script, style = _joined("page.js", "decision.js", "ranking.js", "questions.js", "start.js"), style_sheet()
    context = {"page": True, "look": _look, "named": _naming(document.names), "picture": inline_svg, "number": itertools.count(1).__next__}
    context |= {"within": "", "course": sparkline, "worded": _naming(document.names, document.short_names)}
    shown = {"document": document, "policy": policy(script, style), "script": Markup(script), "style": Markup(style)}
    return visible_html(environment().get_template("report.html.j2").render(context | shown))


def scriptless_page(template: str, style: str, **values: object) -> str:
    """Render a template as a page with this style sheet and without a script."""
    return visible_html(environment().get_template(template).render(values, style=Markup(style), policy=policy("", style)))


def style_sheet() -> str:
    """The style sheet of all pages."""
    return _joined("page.css", "decision.css", "ranking.css", "questions.css", "media.css")


def _joined(*names: str) -> str:
    return "".join((_TEMPLATES / name).read_text("utf-8") for name in names)


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that allows only this script and this style sheet."""
    directives = ("default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'", "img-src data:")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'"])


def _look(_: str, *classes: str) -> Markup:
    names = " ".join(name for name in classes if name)
    return Markup(' class="{}"').format(names) if names else Markup("")


def _naming(names: Sequence[str], short: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], Markup]:
    """Mark up the names of configurations in a sentence to prevent breaks at hyphens. A long name has to break somewhere.

    A name with a hyphen, which is no word of a sentence, is replaced by its short name, and shown on hovering.
    """
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))

    def named(text: str) -> Markup:
        text = re.sub(r"\bp ([=<]) ", "p\u00a0\\1\u00a0", text)
        parts = re.split(rf"(?<![\w.-])({longest_first})(?![\w-])", text) if names else [text]
        return Markup("").join(_name(part, short.get(part, part)) if at % 2 else escape(part) for at, part in enumerate(parts))

    return named


def _name(name: str, short: str) -> Markup:
    if short != name and "-" in name:
        return Markup('<span title="{}">{}</span>').format(name, short)
    return Markup('<span class="name">{}</span>').format(name) if len(name) <= _UNBROKEN else escape(name)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

_CLASSES = {LINES[place]: f"line-{place}" for place in (1, 2, 3)}
_CLASSES |= {INK: "ink", MUTED: "muted", FAINT: "faint", ACCENT: "accent", PAPER: "paper"}
_FONT = re.compile(r"([\d.]+)px")
# Characters that XML does not allow.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_WIDTH, _HEIGHT, _EDGE = 240, 56, 5
# They work on white and on black.
_LINE_COLOURS = {
    "usual": 'fill="#4a8fd0" fill-opacity=".2"',
    "limit": 'stroke="#d55e00" stroke-dasharray="5 4"',
    "mark": 'stroke="#888"',
    "line": 'fill="none" stroke="#4a8fd0" stroke-width="2"',
    "now": 'fill="#4a8fd0"',
}


def inline_svg(figure: "Figure", name: str, alt: str) -> Markup:
    """Render a figure as an `svg` element with a title, without style attributes or requests. `name` must be unique on the page."""
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with own_style(), rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")), transparent=True)
    root = ElementTree.fromstring(_CONTROL.sub("", drawn.getvalue().decode("utf-8")))
    for parent in list(root.iter()):
        for child in [node for node in parent if _local(node.tag) in ("metadata", "style")]:
            parent.remove(child)
    for element in root.iter():
        _cleaned(element)
    _named(root, name)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "class": "figure", "role": "img", "aria-labelledby": f"{name}-title", "focusable": "false"})
    title = ElementTree.Element("title", {"id": f"{name}-title"})
    title.text = _CONTROL.sub("", alt)
    root.insert(0, title)
    return Markup(re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode")))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _cleaned(element: "ElementTree.Element[str]") -> None:
    """Strip namespaces and turn style attributes into plain attributes and classes."""
    element.tag = _local(element.tag)
    attributes = {_local(key): value for key, value in element.attrib.items()}
    style = attributes.pop("style", "")
    classes = []
    for part in style.split(";"):
        key, _, value = (text.strip() for text in part.partition(":"))
        if key in ("fill", "stroke") and value in _CLASSES:
            classes.append(f"{key}-{_CLASSES[value]}")
        elif key == "font":
            attributes["font-size"] = _FONT.search(value)[1]  # type: ignore[index]  # matplotlib always gives one
        elif key and not (key == "fill" and value == "#000000"):
            attributes[key] = value
    if classes:
        attributes["class"] = " ".join(classes)
    element.attrib.clear()
    element.attrib.update(attributes)


def _named(root: "ElementTree.Element[str]", name: str) -> None:
    """Prefix referenced ids with the figure's name and remove the others."""
    used = set()
    for element in root.iter():
        for key in {"href", "clip-path"} & element.attrib.keys():
            used.add(element.attrib[key].removeprefix("url(").strip("#)"))
            element.attrib[key] = element.attrib[key].replace("#", f"#{name}-")
    for element in root.iter():
        identifier = element.attrib.pop("id", "")
        if identifier in used:
            element.attrib["id"] = f"{name}-{identifier}"


def sparkline(line: Sparkline, page: bool) -> Markup:
    """Return a sparkline, on a page or in a notebook. Without a value it is empty."""
    if all(map(math.isnan, line.values)):
        return Markup("")
    svg = Markup('<svg xmlns="http://www.w3.org/2000/svg" class="course" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, _HEIGHT, line.alt, Markup("").join(_elements(line, page))
    )
    if page:
        return svg
    encoded = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    return Markup('<img src="data:image/svg+xml;base64,{}" alt="{}" width="{}">').format(encoded, line.alt, _WIDTH)


def _elements(line: Sparkline, page: bool) -> list[Markup]:
    def element(text: str, name: str, *numbers: float | str) -> Markup:
        style = Markup('class="{}"').format(name) if page else Markup(_LINE_COLOURS[name])
        return Markup(text).format(style, *(each if isinstance(each, str) else f"{each:.1f}" for each in numbers))

    known = [value for value in (*line.values, *(line.usual or ()), *(() if line.limit is None else (line.limit,))) if math.isfinite(value)]
    low, high = min(known), max(known)

    def x(position: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * position / max(1, len(line.values) - 1)

    def y(value: float) -> float:
        return _HEIGHT / 2 if high == low else _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / (high - low)

    horizontal = '<line {0} x1="0" x2="240" y1="{1}" y2="{1}"/>'
    elements = []
    if line.usual:
        bottom, top = map(y, line.usual)
        elements.append(element('<rect {} x="0" width="240" y="{}" height="{}"/>', "usual", top, max(1.0, bottom - top)))
    elements += [element(horizontal, "limit", y(line.limit))] if line.limit is not None else []
    elements += [element('<line {0} x1="{1}" x2="{1}" y1="0" y2="56"/>', "mark", x(line.mark))] if line.mark is not None else []
    points = [(position, value) for position, value in enumerate(line.values) if not math.isnan(value)]
    drawn = " ".join(f"{x(position):.1f},{y(value):.1f}" for position, value in points)
    elements += [element('<polyline {} points="{}"/>', "line", drawn)] if len(points) > 1 else []
    return [*elements, element('<circle {} cx="{}" cy="{}" r="3.5"/>', "now", x(points[-1][0]), y(points[-1][1]))]
