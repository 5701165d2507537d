"""Render a figure as inline SVG whose colours are classes, styled by the light, dark and print themes."""

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup

from workbench.report.figures.canvas import ACCENT, FAINT, INK, LINES, MUTED, PAPER, own_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CLASSES = {LINES[place]: f"line-{place}" for place in (1, 2, 3)}
_CLASSES |= {INK: "ink", MUTED: "muted", FAINT: "faint", ACCENT: "accent", PAPER: "paper"}
_FONT = re.compile(r"([\d.]+)px")
# Characters that XML does not allow.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


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
