"""Equations of Word (Office Math), as a line of text: `x = (-b ± √(b² - 4ac))/(2a)`."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.conversion.equations.scripts import SUBSCRIPTS, SUPERSCRIPTS, grouped, script

_BRACKETED = ("f", "rad", "sSup", "sSubSup")
_SMALL = frozenset((*SUPERSCRIPTS.values(), *SUBSCRIPTS.values()))


def linear(element: Any) -> str:
    """Return an equation, or a part of one, as a line of text."""
    name = _name(element)
    if name == "t":
        return str(element.text or "")
    if name.endswith("Pr"):
        return ""
    write = _FORMS.get(name)
    return write(element) if write else _joined(element)


def _joined(element: Any) -> str:
    """Return the parts of an element, with a blank where the next one would change a number: 1 1/2, √9 x."""
    text, after = "", ""
    for child in element:
        part, form = linear(child), _form(child)
        if part:
            number_before = form == "f" and text[-1:].isdecimal() and part[0].isalnum()
            after_form = after and text[-1:].isalnum() and ord(text[-1]) not in _SMALL and part[0].isalnum()
            text, after = f"{text}{' ' if number_before or after_form else ''}{part}", form
    return text


def _form(element: Any) -> str:
    """Return the name of the form that an element is, also as the only part of others."""
    while _name(element) not in _FORMS:
        parts = [part for part in element if not _name(part).endswith("Pr")]
        if len(parts) != 1:
            return ""
        element = parts[0]
    return _name(element)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _part(element: Any, name: str) -> str:
    return next((linear(child).strip() for child in element if _name(child) == name), "")


def _value(element: Any, name: str, default: str) -> str:
    """Return a value of the element's properties. Word leaves out those that are usual."""
    for properties in element:
        for each in properties if _name(properties).endswith("Pr") else ():
            if _name(each) == name:
                return next((str(value) for key, value in each.attrib.items() if str(key).endswith("}val")), default)
    return default


def _base(element: Any) -> str:
    """Return what has a script, in brackets if the script would belong to a part of it, as in (1/2)²."""
    text = _part(element, "e")
    return f"({text})" if any(_name(part) == "e" and _form(part) in _BRACKETED for part in element) else text


def _above(element: Any, name: str = "sup") -> str:
    return script(_part(element, name), "^", SUPERSCRIPTS)


def _below(element: Any, name: str = "sub") -> str:
    return script(_part(element, name), "_", SUBSCRIPTS)


def _fraction(element: Any) -> str:
    return f"{grouped(_part(element, 'num'))}/{grouped(_part(element, 'den'))}"


def _radical(element: Any) -> str:
    return f"{script(_part(element, 'deg'), '', SUPERSCRIPTS)}√{grouped(_part(element, 'e'))}"


def _operator(element: Any) -> str:
    return f"{_value(element, 'chr', '∫')}{_below(element)}{_above(element)} {_part(element, 'e')}"


def _delimited(element: Any) -> str:
    inside = _value(element, "sepChr", "|").join(linear(child).strip() for child in element if _name(child) == "e")
    return f"{_value(element, 'begChr', '(')}{inside}{_value(element, 'endChr', ')')}"


def _matrix(element: Any) -> str:
    rows = (row for row in element if _name(row) == "mr")
    return "[" + "; ".join(", ".join(linear(cell).strip() for cell in row) for row in rows) + "]"


def _equations(element: Any) -> str:
    return "; ".join(linear(child).strip() for child in element if _name(child) == "e")


def _accented(element: Any) -> str:
    # The marks are combining characters.
    return f"{_part(element, 'e')}{_value(element, 'chr', chr(0x302))}"


def _function(element: Any) -> str:
    argument = _part(element, "e")
    return f"{_part(element, 'fName')}{'' if argument.startswith('(') else ' '}{argument}"


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "f": _fraction,
    "rad": _radical,
    "nary": _operator,
    "d": _delimited,
    "m": _matrix,
    "eqArr": _equations,
    "acc": _accented,
    "func": _function,
    "sSup": lambda element: f"{_base(element)}{_above(element)}",
    "sSub": lambda element: f"{_base(element)}{_below(element)}",
    "sSubSup": lambda element: f"{_base(element)}{_below(element)}{_above(element)}",
    "sPre": lambda element: f"{_below(element)}{_above(element)}{_part(element, 'e')}",
    "limLow": lambda element: f"{_part(element, 'e')}{_below(element, 'lim')}",
    "limUpp": lambda element: f"{_part(element, 'e')}{_above(element, 'lim')}",
}
