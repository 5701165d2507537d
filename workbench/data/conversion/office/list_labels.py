"""The labels of numbered paragraphs as Word shows them: `3.`, `(b)`, `1.2.1`. A paragraph has only the name of its list and its level."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.text.formatting import ordinal
from workbench.data.conversion.office.markup import all_named, attribute, child_of, children_of, style_chain, value_of
from workbench.data.formats.markup import list_number

_FORMS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_PLACE = re.compile("%([1-9])")
_NO_LIST = "0"


@dataclass(frozen=True)
class _Level:
    """A level of a list: the first number, the form of numbers, the text with a `%1` for each number, and the last level that restarts it."""

    start: int
    form: str
    text: str
    restart: int | None
    digits_only: bool
    style: str


@dataclass(frozen=True)
class _List:
    """A list of the document: the definition that it counts with, its own `starts`, and its levels."""

    definition: str
    starts: Mapping[int, int]
    levels: Mapping[int, _Level]


@dataclass
class Lists:
    """The numbered lists of a document, and the lists of its paragraph styles: (number, level) with None for what a style leaves open."""

    _lists: dict[str, _List] = field(default_factory=dict)
    _styles: dict[str, tuple[str | None, int | None]] = field(default_factory=dict)
    _based: dict[str, str] = field(default_factory=dict)
    _default: str = ""

    @classmethod
    def read(cls, numberings: Iterable[Any], styles: Iterable[Any]) -> "Lists":
        """Read the lists from the roots of the parts of a document."""
        lists = cls()
        for root in numberings:
            lists._read_lists(root)
        for root in styles:
            for style in all_named(root, "w:style"):
                lists._read_style(style)
        return lists

    def list_of(self, paragraph: Any) -> tuple[str, int] | None:
        """Return the list and the level of a paragraph, by its own properties or by its style, or None."""
        properties = child_of(paragraph, "w:pPr")
        own = child_of(properties, "w:numPr")
        style = value_of(child_of(properties, "w:pStyle")) or self._default
        number, level = self._of_style(style)
        number = value_of(child_of(own, "w:numId")) or number
        own_level = _number(child_of(own, "w:ilvl"))
        level = level if own_level is None else own_level
        return (number, level or 0) if number and number != _NO_LIST and number in self._lists else None

    def __getitem__(self, number: str) -> _List:
        return self._lists[number]

    def _read_lists(self, root: Any) -> None:
        definitions = {attribute(definition, "abstractNumId"): definition for definition in all_named(root, "w:abstractNum")}
        linked = {
            value_of(link): number
            for number, definition in definitions.items()
            if (link := child_of(definition, "w:styleLink")) is not None
        }
        for numbering in all_named(root, "w:num"):
            definition = value_of(child_of(numbering, "w:abstractNumId"))
            link = value_of(child_of(definitions.get(definition), "w:numStyleLink"))
            definition = linked.get(link, definition)
            levels, starts = _levels(definitions.get(definition)), dict[int, int]()
            for override in children_of(numbering, "w:lvlOverride"):
                levels |= _levels(override)
                if (start := _number(child_of(override, "w:startOverride"))) is not None:
                    starts[_level_number(override)] = start
            self._lists[attribute(numbering, "numId")] = _List(definition, starts, levels)

    def _read_style(self, style: Any) -> None:
        name, properties = attribute(style, "styleId"), child_of(child_of(style, "w:pPr"), "w:numPr")
        if attribute(style, "default") in ("1", "true", "on") and attribute(style, "type") == "paragraph":
            self._default = name
        self._styles[name] = (value_of(child_of(properties, "w:numId")) or None, _number(child_of(properties, "w:ilvl")))
        self._based[name] = value_of(child_of(style, "w:basedOn"))

    def _of_style(self, style: str) -> tuple[str, int | None]:
        number, level, seen = "", None, list[str]()
        for based_on in style_chain(style, self._based):
            own_number, own_level = self._styles.get(based_on, (None, None))
            number, level = own_number or "", own_level if level is None else level
            seen.append(based_on)
            if number:
                break
        if number in self._lists:
            # A list names the style of a level.
            named = {named_level.style: index for index, named_level in self._lists[number].levels.items()}
            level = next((named[name] for name in seen if name in named), level)
        return number, level


class ListCounters:
    """The numbers of the lists in a part of a document, which go on behind other paragraphs."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._numbers: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def next_label(self, number: str, level: int) -> str | None:
        """Return the label of the next paragraph of a list, which is empty if Word shows none, or None for a bullet."""
        found = self._lists[number]
        numbers = self._numbers.setdefault(found.definition, {})
        if level in found.starts and (number, level) not in self._begun:
            numbers[level] = found.starts[level]
        else:
            numbers[level] = numbers[level] + 1 if level in numbers else _start(found, level)
        self._begun.add((number, level))
        for deeper in [other for other in numbers if other > level and _restarts(found, other, level)]:
            del numbers[deeper]
        if level not in found.levels:
            return ""
        here = found.levels[level]
        return None if here.form == "bullet" else " ".join(_PLACE.sub(lambda mark: _written(found, numbers, here, mark), here.text).split())


def _written(found: _List, numbers: Mapping[int, int], here: _Level, mark: re.Match[str]) -> str:
    level = int(mark[1]) - 1
    number = numbers.get(level, _start(found, level))
    form = found.levels[level].form if level in found.levels else ""
    if form == "none":
        return ""
    if here.digits_only:
        return str(number)
    if form == "decimalZero":
        return f"{number:02}"
    if form == "ordinal":
        return ordinal(number)
    return list_number(number, _FORMS.get(form, "1"), repeated=True)


def _start(found: _List, level: int) -> int:
    return found.starts.get(level, found.levels[level].start if level in found.levels else 1)


def _restarts(found: _List, deeper: int, level: int) -> bool:
    restart = found.levels[deeper].restart if deeper in found.levels else None
    return restart is None or level < restart


def _levels(definition: Any) -> dict[int, _Level]:
    return {_level_number(level): _level(level) for level in children_of(definition, "w:lvl")}


def _level(element: Any) -> _Level:
    start, legal = _number(child_of(element, "w:start")), child_of(element, "w:isLgl")
    return _Level(
        # ECMA-376, 17.9.25: a list without a start begins with 0.
        start=0 if start is None else start,
        form=value_of(child_of(element, "w:numFmt")) or "decimal",
        text=value_of(child_of(element, "w:lvlText")),
        restart=_number(child_of(element, "w:lvlRestart")),
        digits_only=legal is not None and value_of(legal) not in ("0", "false", "off"),
        style=value_of(child_of(element, "w:pStyle")),
    )


def _level_number(element: Any) -> int:
    text = attribute(element, "ilvl")
    return int(text) if text.isdecimal() else 0


def _number(element: Any) -> int | None:
    text = value_of(element)
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
