"""Equations of web pages (MathML), as the same line of text as those of Word."""

from collections.abc import Callable, Iterable, Mapping
from xml.etree.ElementTree import Element

from bs4 import Tag
from bs4.element import NavigableString

from workbench.conversion.equations.word import linear

# Operators that are not seen: functions, products, separators and sums.
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))
_ACCENTS = {"^": 0x302, "ˆ": 0x302, "~": 0x303, "˜": 0x303, "¯": 0x304, "‾": 0x304, "―": 0x304, "˙": 0x307, "¨": 0x308, "→": 0x20D7}
_NOT_SHOWN = ("annotation", "annotation-xml", "mphantom", "mprescripts", "none")


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
    if name in _FORMS and (made := _FORMS[name](tag, inside)) is not None:
        return made
    if inside:
        return _group("r", inside)
    text = Element("t")
    text.text = (
        " "
        if name == "mspace"
        else " ".join("".join(str(each) for each in tag.children if type(each) is NavigableString).translate(_INVISIBLE).split())
    )
    return text


def _group(name: str, tags: Iterable[Tag]) -> Element:
    made = Element(name)
    made.extend([_word_equation(tag) for tag in tags])
    return made


def _parts(form: str, *names: str) -> Callable[[Tag, list[Tag]], Element | None]:
    """Return a function that makes a form of an element with this number of parts, each under its name."""

    def make(_: Tag, inside: list[Tag]) -> Element | None:
        made = Element(form)
        made.extend([_group(name, [part]) for name, part in zip(names, inside, strict=False)])
        return made if len(inside) == len(names) else None

    return make


def _with_values(form: str, values: Mapping[str, str], groups: Iterable[Element]) -> Element:
    made, properties = Element(form), Element(f"{form}Pr")
    properties.extend(Element(name, {"{m}val": value}) for name, value in values.items())
    made.append(properties)
    made.extend(groups)
    return made


def _fraction(tag: Tag, inside: list[Tag]) -> Element | None:
    if str(tag.get("linethickness", "1"))[:1] == "0" and len(inside) == 2:  # a binomial coefficient
        return _group_of("eqArr", inside)
    return _parts("f", "num", "den")(tag, inside)


def _group_of(form: str, tags: Iterable[Tag]) -> Element:
    made = Element(form)
    made.extend([_group("e", [tag]) for tag in tags])
    return made


def _root(_: Tag, inside: list[Tag]) -> Element:
    made = Element("rad")
    made.append(_group("e", inside))
    return made


def _over(tag: Tag, inside: list[Tag]) -> Element | None:
    accent = _ACCENTS.get(inside[1].get_text().strip()) if len(inside) == 2 else None
    return _with_values("acc", {"chr": chr(accent)}, [_group("e", inside[:1])]) if accent else _parts("limUpp", "e", "lim")(tag, inside)


def _fenced(tag: Tag, inside: list[Tag]) -> Element:
    values = {"begChr": str(tag.get("open", "(")), "endChr": str(tag.get("close", ")")), "sepChr": str(tag.get("separators", ","))[:1]}
    return _with_values("d", values, [_group("e", [part]) for part in inside])


def _table(_: Tag, inside: list[Tag]) -> Element:
    made = Element("m")
    for row in inside:
        if name_of_mathml(row) in ("mtr", "mlabeledtr"):
            made.append(_group_of("mr", [cell for cell in row.children if isinstance(cell, Tag)]))
    return made


def _scripts(_: Tag, inside: list[Tag]) -> Element:
    """Return an element with pairs of scripts behind it and, after `mprescripts`, before it."""
    names = [name_of_mathml(part) for part in inside]
    middle = names.index("mprescripts") if "mprescripts" in names else len(inside)
    made = _group("e", inside[:1])
    for form, scripts in (("sSubSup", inside[1:middle]), ("sPre", inside[middle + 1 :])):
        for lower, upper in zip(scripts[::2], scripts[1::2], strict=False):
            scripted = Element(form)
            scripted.extend([made, _group("sub", [lower]), _group("sup", [upper])])
            made = Element("e")
            made.append(scripted)
    return made


_FORMS: Mapping[str, Callable[[Tag, list[Tag]], Element | None]] = {
    "mfrac": _fraction,
    "msqrt": _root,
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
