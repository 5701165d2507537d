"""What a page says by its looks, as text: raised numbers, deleted text, and what is chosen in a form."""

import re

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from workbench.conversion.equations.scripts import lowered, raised, struck
from workbench.datasets.formats.markup import BLOCKS, walk

_DELETED = frozenset(("del", "s", "strike"))
_STRUCK = re.compile(r"(?:^|;)\s*text-decoration(?:-line)?\s*:[^;]*\bline-through\b", re.IGNORECASE)
_FRACTION_LINES = ("/", "⁄", "∕")
_CHOICES = ("checkbox", "radio")
# Fields whose value is not shown, or is the label of a button.
_NO_VALUE = ("hidden", "password", "submit", "button", "reset", "image", "file", "color")


def write_shown_state(content: Tag) -> None:
    """Write the state of forms, deleted text (~~100~~) and raised text (10⁻³) as text."""
    _write_forms(content)
    _write_deleted(content)
    for element in content.find_all(["sup", "sub"]):
        _write_script(element)


def _write_script(element: Tag) -> None:
    text, before = element.get_text(), _text_before(element)
    if element.name == "sub":
        written = lowered(text, before)
    elif _is_numerator(element):
        written = f" {text}" if before[-1:].isdecimal() else text
    else:
        written = raised(text, before)
    # A letter that is a link refers to a note.
    if written != text and (element.find("a") is None or not any(letter.isalpha() for letter in text)):
        # Replacing the element itself would search all elements beside it.
        element.string = written


def _is_numerator(element: Tag) -> bool:
    line = element.next_sibling
    below = line.next_sibling if isinstance(line, NavigableString) and line.strip() in _FRACTION_LINES else None
    return isinstance(below, Tag) and below.name == "sub"


def _text_before(element: PageElement) -> str:
    """Return the end of the text before an element in its block."""
    while element.previous_sibling is None and element.parent is not None and element.parent.name not in BLOCKS:
        element = element.parent
    before = element.previous_sibling
    return "" if before is None or (isinstance(before, Tag) and (before.name in BLOCKS or before.name == "br")) else before.get_text()


def _write_deleted(content: Tag) -> None:
    depth, texts = 0, list[NavigableString]()
    for event, element in list(walk(content)):
        if isinstance(element, Tag):
            if element.name in BLOCKS or element.name == "br":
                _strike(texts)
                texts = []
            depth += (1 if event == "open" else -1) if _is_deleted(element) else 0
        elif event == "open" and type(element) is NavigableString:
            if depth and element.strip():
                texts.append(element)
            elif not depth:
                _strike(texts)
                texts = []
    _strike(texts)


def _is_deleted(tag: Tag) -> bool:
    return tag.name in _DELETED or bool(_STRUCK.search(str(tag.get("style", ""))))


def _strike(texts: list[NavigableString]) -> None:
    for text, marked in zip(texts, struck(texts), strict=True):
        text.replace_with(marked)


def _write_forms(content: Tag) -> None:
    for field in content.find_all("input"):
        kind = str(field.get("type", "text")).lower()
        if kind in _CHOICES:
            # One without any text beside it opens a menu.
            text = _choice(field.has_attr("checked")) if _has_text_beside(field) else ""
        else:
            text = "" if kind in _NO_VALUE else f" {field.get('value', '')} "
        field.name, field.string = "span", text
    for select in content.find_all("select"):
        options = select.find_all("option")
        chosen = [option for option in options if option.has_attr("selected")]
        if select.has_attr("multiple"):
            for option in options:
                option.insert(0, _choice(option.has_attr("selected")))
        else:
            for option in options:
                if option is not (chosen[-1] if chosen else options[0]):
                    option.decompose()


def _has_text_beside(field: Tag) -> bool:
    row = field.find_parent([*(BLOCKS - {"td", "th"})])
    return row is None or any(text.strip() for text in row.strings)


def _choice(chosen: bool) -> str:
    return " ☒ " if chosen else " ☐ "
