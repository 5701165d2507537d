"""Equations of Word (Office Math) and of web pages (MathML) as a line of text, such as `x = (-b ± √(b² - 4ac))/(2a)`, and raised, lowered and struck text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from bs4 import Tag
from bs4.element import NavigableString

SUPERSCRIPTS = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−=()aeijkmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑᵢⱼₖₘₙₒₚᵣₛₜᵤᵥₓ")
# A raised number after a number or a unit, as in m².
_NUMBER = re.compile(r"[+−-]?\d+")
_EXPONENT = re.compile(r"(?=.*[^\W_])[\w+−*/.,()= -]+")
# Raised ends of ordinals, abbreviations and trademarks, which are no exponents: 2nd, 1er, Mme.
_ENDS = re.compile("st|nd|rd|th|er|re|ère|i?ème|eme|nde|os|as|te|me|mme|lles?|tm|sm|mc")
# Such ends after a number or a Roman numeral only: 3e, XIXe, 1º.
_NUMBER_ENDS = ("a", "e", "o")

_BRACKETED = ("f", "rad", "sSup", "sSubSup")
_SMALL = frozenset((*SUPERSCRIPTS.values(), *SUBSCRIPTS.values()))

# Operators that are not seen: functions, products, separators and sums.
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))
_ACCENTS = {"^": 0x302, "ˆ": 0x302, "~": 0x303, "˜": 0x303, "¯": 0x304, "‾": 0x304, "―": 0x304, "˙": 0x307, "¨": 0x308, "→": 0x20D7}
_NOT_SHOWN = ("annotation", "annotation-xml", "mphantom", "mprescripts", "none")


def grouped(text: str) -> str:
    """Return a text in brackets, unless it is one number or name, or has brackets around it already."""
    whole = text.replace(".", "").replace(",", "").isalnum() or len(text) <= 1 or (text[0] + text[-1] == "()" and text.count("(") == 1)
    return text if whole else f"({text})"


def script(text: str, mark: str, letters: dict[int, int]) -> str:
    """Return a text in small `letters`, or behind the mark if some of it has none."""
    if not text:
        return ""
    return text.translate(letters) if all(ord(letter) in letters for letter in text) else f"{mark}{grouped(text)}"


def raised(text: str, before: str) -> str:
    """Return text that is raised behind the text `before`, so that 10 with a raised 6 does not become 106. Ordinals (2nd) and marks stay."""
    inside = text.strip()
    if _NUMBER.fullmatch(inside):
        return inside.translate(SUPERSCRIPTS)
    if not before or not (before[-1].isalnum() or before[-1] in ")]}") or not _EXPONENT.fullmatch(inside):
        return text
    if _ENDS.fullmatch(inside.lower()) or (inside.lower() in _NUMBER_ENDS and (before[-1].isdecimal() or before[-1] in "IVXLC")):
        return text
    return script(inside, "^", SUPERSCRIPTS)


def lowered(text: str, before: str) -> str:
    """Return text that is lowered behind the text `before`: 10₂ is not 102. Behind letters it stays, as in H2O."""
    inside = text.strip()
    return inside.translate(SUBSCRIPTS) if before[-1:].isdecimal() and inside.isdecimal() else text


def struck(texts: Sequence[str]) -> list[str]:
    """Return the nonblank texts of a line with the marks of Markdown around all of them, inside of the blanks around them."""
    marked = list(texts)
    if marked:
        last = marked[-1].rstrip()
        marked[-1] = f"{last}~~{marked[-1][len(last) :]}"
        first = marked[0].lstrip()
        marked[0] = f"{marked[0][: len(marked[0]) - len(first)]}~~{first}"
    return marked


def linear(element: Any) -> str:
    """Return an equation, or a part of one, as a line of text."""
    name = _name(element)
    if name == "t":
        return str(element.text or "")
    if name.endswith("Pr"):
        return ""
    write = _OFFICE_MATH.get(name)
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
    while _name(element) not in _OFFICE_MATH:
        parts = [part for part in element if not _name(part).endswith("Pr")]
        if len(parts) != 1:
            return ""
        element = parts[0]
    return _name(element)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _inside(element: Any, name: str = "e") -> Iterator[str]:
    return (linear(child).strip() for child in element if _name(child) == name)


def _part(element: Any, name: str) -> str:
    return next(_inside(element, name), "")


def _value(element: Any, name: str, default: str) -> str:
    """Return a value of the element's properties. Word leaves out those that are usual."""
    for properties in element:
        for child in properties if _name(properties).endswith("Pr") else ():
            if _name(child) == name:
                return next((str(value) for key, value in child.attrib.items() if str(key).endswith("}val")), default)
    return default


def _base(element: Any) -> str:
    """Return the base of a script, in brackets if the script would belong to a part of it, as in (1/2)²."""
    text = _part(element, "e")
    return f"({text})" if any(_name(part) == "e" and _form(part) in _BRACKETED for part in element) else text


def _above(element: Any, name: str = "sup") -> str:
    return script(_part(element, name), "^", SUPERSCRIPTS)


def _below(element: Any, name: str = "sub") -> str:
    return script(_part(element, name), "_", SUBSCRIPTS)


def _delimited(element: Any) -> str:
    inside = _value(element, "sepChr", "|").join(_inside(element))
    return f"{_value(element, 'begChr', '(')}{inside}{_value(element, 'endChr', ')')}"


def _matrix(element: Any) -> str:
    rows = (row for row in element if _name(row) == "mr")
    return "[" + "; ".join(", ".join(linear(cell).strip() for cell in row) for row in rows) + "]"


def _function(element: Any) -> str:
    argument = _part(element, "e")
    return f"{_part(element, 'fName')}{'' if argument.startswith('(') else ' '}{argument}"


_OFFICE_MATH: Mapping[str, Callable[[Any], str]] = {
    "f": lambda element: f"{grouped(_part(element, 'num'))}/{grouped(_part(element, 'den'))}",
    "rad": lambda element: f"{script(_part(element, 'deg'), '', SUPERSCRIPTS)}√{grouped(_part(element, 'e'))}",
    "nary": lambda element: f"{_value(element, 'chr', '∫')}{_below(element)}{_above(element)} {_part(element, 'e')}",
    "d": _delimited,
    "m": _matrix,
    "eqArr": lambda element: "; ".join(_inside(element)),
    # The marks are combining characters.
    "acc": lambda element: f"{_part(element, 'e')}{_value(element, 'chr', chr(0x302))}",
    "func": _function,
    "sSup": lambda element: f"{_base(element)}{_above(element)}",
    "sSub": lambda element: f"{_base(element)}{_below(element)}",
    "sSubSup": lambda element: f"{_base(element)}{_below(element)}{_above(element)}",
    "sPre": lambda element: f"{_below(element)}{_above(element)}{_part(element, 'e')}",
    "limLow": lambda element: f"{_part(element, 'e')}{_below(element, 'lim')}",
    "limUpp": lambda element: f"{_part(element, 'e')}{_above(element, 'lim')}",
}


def linear_of_mathml(equation: Tag) -> str:
    """Return an equation as a line of text. The source in TeX is preferred, if a page has it beside the signs."""
    source = equation.find("annotation", encoding="application/x-tex")
    try:
        text = source.get_text() if source is not None else linear(_word_equation(equation))
    except RecursionError:  # no equation is nested so deeply
        text = equation.get_text()
    return " ".join(text.split())


def name_of_mathml(tag: Tag) -> str:
    """Return the name of an element without its prefix."""
    return tag.name.rpartition(":")[2]


def _word_equation(tag: Tag) -> Element:
    """Return an element as Word would write it."""
    name, inside = name_of_mathml(tag), [child for child in tag.children if isinstance(child, Tag)]
    if name in _NOT_SHOWN:
        return Element("r")
    if name in _MATHML and (made := _MATHML[name](tag, inside)) is not None:
        return made
    if inside:
        return _group("r", inside)
    text = Element("t")
    shown = "".join(str(child) for child in tag.children if type(child) is NavigableString).translate(_INVISIBLE)
    text.text = " " if name == "mspace" else " ".join(shown.split())
    return text


def _element(name: str, parts: Iterable[Element], values: Mapping[str, str] | None = None) -> Element:
    """Return an element with its parts behind the values of its properties."""
    made = Element(name)
    if values:
        made.append(_element(f"{name}Pr", [Element(key, {"{m}val": value}) for key, value in values.items()]))
    made.extend(list(parts))
    return made


def _group(name: str, tags: Iterable[Tag]) -> Element:
    return _element(name, map(_word_equation, tags))


def _each(tags: Iterable[Tag]) -> list[Element]:
    return [_group("e", [tag]) for tag in tags]


def _parts(form: str, *names: str) -> Callable[[Tag, list[Tag]], Element | None]:
    """Return a function that makes a form of an element with this number of parts, each under its name."""
    return lambda _, inside: (
        _element(form, [_group(*pair) for pair in zip(names, [[part] for part in inside], strict=True)])
        if len(inside) == len(names)
        else None
    )


def _mathml_fraction(tag: Tag, inside: list[Tag]) -> Element | None:
    if str(tag.get("linethickness", "1"))[:1] == "0" and len(inside) == 2:  # a binomial coefficient
        return _element("eqArr", _each(inside))
    return _parts("f", "num", "den")(tag, inside)


def _over(tag: Tag, inside: list[Tag]) -> Element | None:
    accent = _ACCENTS.get(inside[1].get_text().strip()) if len(inside) == 2 else None
    return _element("acc", [_group("e", inside[:1])], {"chr": chr(accent)}) if accent else _parts("limUpp", "e", "lim")(tag, inside)


def _fenced(tag: Tag, inside: list[Tag]) -> Element:
    values = {"begChr": str(tag.get("open", "(")), "endChr": str(tag.get("close", ")")), "sepChr": str(tag.get("separators", ","))[:1]}
    return _element("d", _each(inside), values)


def _table(_: Tag, inside: list[Tag]) -> Element:
    rows = (row for row in inside if name_of_mathml(row) in ("mtr", "mlabeledtr"))
    return _element("m", [_element("mr", _each(cell for cell in row.children if isinstance(cell, Tag))) for row in rows])


def _scripts(_: Tag, inside: list[Tag]) -> Element:
    """Return an element with pairs of scripts behind it and, after `mprescripts`, before it."""
    names = [name_of_mathml(part) for part in inside]
    middle = names.index("mprescripts") if "mprescripts" in names else len(inside)
    made = _group("e", inside[:1])
    for form, scripts in (("sSubSup", inside[1:middle]), ("sPre", inside[middle + 1 :])):
        for lower, upper in zip(scripts[::2], scripts[1::2], strict=False):
            made = _element("e", [_element(form, [made, _group("sub", [lower]), _group("sup", [upper])])])
    return made


_MATHML: Mapping[str, Callable[[Tag, list[Tag]], Element | None]] = {
    "mfrac": _mathml_fraction,
    "msqrt": lambda _, inside: _element("rad", [_group("e", inside)]),
    "mroot": _parts("rad", "e", "deg"),
    "msup": _parts("sSup", "e", "sup"),
    "msub": _parts("sSub", "e", "sub"),
    "msubsup": _parts("sSubSup", "e", "sub", "sup"),
    "munder": _parts("limLow", "e", "lim"),
    "mover": _over,
    "munderover": _parts("sSubSup", "e", "sub", "sup"),
    "mfenced": _fenced,
    "mmultiscripts": _scripts,
    "mtable": _table,
    "semantics": lambda _, inside: _group("r", inside[:1]),
}
