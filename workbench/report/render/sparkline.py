"""Draw a sparkline: inline SVG with classes on a page, an image in fixed colours in a notebook, whose sanitizer removes SVG."""

import base64
import math

from markupsafe import Markup

from workbench.report.model import Sparkline

_WIDTH, _HEIGHT, _EDGE = 240, 56, 5
# They work on white and on black.
_COLOURS = {
    "usual": 'fill="#4a8fd0" fill-opacity=".2"',
    "limit": 'stroke="#d55e00" stroke-dasharray="5 4"',
    "mark": 'stroke="#888"',
    "line": 'fill="none" stroke="#4a8fd0" stroke-width="2"',
    "now": 'fill="#4a8fd0"',
}


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
        style = Markup('class="{}"').format(name) if page else Markup(_COLOURS[name])
        return Markup(text).format(style, *(each if isinstance(each, str) else f"{each:.1f}" for each in numbers))

    known = [value for value in (*line.values, *(line.usual or ()), *(() if line.limit is None else (line.limit,))) if math.isfinite(value)]
    low, high = min(known), max(known)

    def x(place: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * place / max(1, len(line.values) - 1)

    def y(value: float) -> float:
        return _HEIGHT / 2 if high == low else _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / (high - low)

    horizontal = '<line {0} x1="0" x2="240" y1="{1}" y2="{1}"/>'
    found = []
    if line.usual:
        bottom, top = map(y, line.usual)
        found.append(element('<rect {} x="0" width="240" y="{}" height="{}"/>', "usual", top, max(1.0, bottom - top)))
    found += [element(horizontal, "limit", y(line.limit))] if line.limit is not None else []
    found += [element('<line {0} x1="{1}" x2="{1}" y1="0" y2="56"/>', "mark", x(line.mark))] if line.mark is not None else []
    points = [(place, value) for place, value in enumerate(line.values) if not math.isnan(value)]
    drawn = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in points)
    found += [element('<polyline {} points="{}"/>', "line", drawn)] if len(points) > 1 else []
    return [*found, element('<circle {} cx="{}" cy="{}" r="3.5"/>', "now", x(points[-1][0]), y(points[-1][1]))]
