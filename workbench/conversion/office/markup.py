"""The XML of office files: names of elements, and content that a file has in several forms."""

from collections.abc import Iterator, Mapping
from typing import Any

# Styles that are based on each other. A longer chain would be climbed for each style and each paragraph.
_MOST_BASED = 100

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    "http://schemas.openxmlformats.org/drawingml/2006/picture": "pic",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
}


def parser() -> Any:
    """Return a parser of XML that expands no entities. Office files nest deeper than it accepts by default."""
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)


def name_of(element: Any) -> str:
    """Return the name of an element with the usual prefix of its namespace, such as `w:p`."""
    namespace, _, local = str(element.tag)[1:].rpartition("}")
    return f"{_PREFIXES.get(namespace, '')}:{local}"


def all_named(root: Any, *names: str) -> Iterator[Any]:
    """Yield the elements with one of the names, in the order of the document."""
    return (element for element in root.iter() if name_of(element) in names)


def children_of(element: Any, *names: str) -> list[Any]:
    """Return the children with one of the names. None has no children."""
    return [child for child in element if name_of(child) in names] if element is not None else []


def child_of(element: Any, name: str) -> Any:
    """Return the first child with a name, or None."""
    return next(iter(children_of(element, name)), None)


def ancestor_of(element: Any, *names: str) -> Any:
    """Return the innermost element with one of the names around an element, or None."""
    return next((ancestor for ancestor in element.iterancestors() if name_of(ancestor) in names), None)


def text_of(element: Any) -> str:
    """Return the text of an element, without the codes of its fields."""
    return "".join(text.text or "" for text in all_named(element, "w:t", "m:t", "a:t")).strip()


def attribute(element: Any, name: str) -> str:
    """Return the value of an attribute of any namespace, or an empty text."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")


def value_of(element: Any) -> str:
    """Return the value of an element of properties, or an empty text for None."""
    return "" if element is None else attribute(element, "val")


def style_chain(style: str, based: Mapping[str, str]) -> Iterator[str]:
    """Yield a style and the styles that it is based on, each once, up to the longest chain that is read."""
    seen = set[str]()
    while style and style not in seen and len(seen) < _MOST_BASED:
        seen.add(style)
        yield style
        style = based.get(style, "")


def replace(element: Any, by: list[Any]) -> None:
    """Put elements in the place of another one."""
    parent = element.getparent()
    index = parent.index(element)
    parent[index : index + 1] = by


def remove(element: Any) -> None:
    """Remove an element with all that is in it."""
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def choose_alternatives(root: Any) -> None:
    """Keep one form of what a part has in several: a chart or diagram, else the first with text, else the first."""
    for element in reversed(list(all_named(root, "mc:AlternateContent"))):
        forms = [form for form in element if name_of(form) in ("mc:Choice", "mc:Fallback")]
        chosen = next((form for form in forms if _is_chart(form) or text_of(form)), forms[0] if forms else element)
        replace(element, list(chosen))


def _is_chart(form: Any) -> bool:
    # The other form of a chart says that the program is too old to show it.
    return any(
        "chart" in attribute(graphic, "uri") or "diagram" in attribute(graphic, "uri") for graphic in all_named(form, "a:graphicData")
    )
