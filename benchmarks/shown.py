"""Format a benchmark's figures as lines: names and values, and a table where rows have the same columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WIDEST = 160


def lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """All figures in order, then the claims with their outcomes."""
    for name, value in figures.items():
        if name != "claims":
            yield from _part(name, value)
    for claim in figures.get("claims", []):
        bound = next(key for key in ("at least", "at most") if key in claim)
        verdict = "holds" if claim["holds"] else "FAILS"
        yield f"{verdict}: {claim['claim']}: {number(claim['found'])} ({bound} {number(claim[bound])})"


def number(value: Any) -> str:
    """A value as text: numbers with three significant digits, or all digits of a whole number."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 1 or not value else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _part(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield f"{name}:"
        yield from (f"  {line}" for line in _mapping(value))
    elif _is_list(value) and all(isinstance(item, Mapping) for item in value) and value:
        yield f"{name}:"
        yield from (f"  {line}" for line in _mapping({str(place): item for place, item in enumerate(value, 1)}))
    else:
        yield f"{name}: {_one_line(value)}"


def _mapping(value: Mapping[str, Any]) -> Iterator[str]:
    """A table if all values are flat mappings with the same keys, else a line or a block for each name."""
    rows = list(value.values())
    if all(isinstance(row, Mapping) for row in rows) and all(_plain(row) and list(row) == list(rows[0]) for row in rows):
        yield from _table(value)
    elif _plain(value):
        width = max(len(str(key)) for key in value)
        yield from (f"{key!s:<{width}}  {number(item)}" for key, item in value.items())
    else:
        for key, item in value.items():
            yield from _part(str(key), item)


def _table(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    columns = list(next(iter(rows.values())))
    cells = [["", *columns], *([str(name), *(number(row[column]) for column in columns)] for name, row in rows.items())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        yield "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))])


def _plain(value: Mapping[str, Any]) -> bool:
    return not any(isinstance(item, Mapping) or _is_list(item) for item in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _one_line(value: Any) -> str:
    text = ", ".join(number(item) for item in value) if _is_list(value) else number(value)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
