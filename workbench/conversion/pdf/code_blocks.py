"""Code in a PDF: lines whose characters are equally wide, with their breaks and indentation."""

import re
from collections.abc import Sequence
from itertools import pairwise

from workbench.conversion.pdf.hyphens import LINE_END_HYPHEN
from workbench.conversion.pdf.lines import PrintedLine

# A document in which more of the text is of one width was written with a typewriter, or is a terminal's.
_MOSTLY = 0.7
# The distance of two lines of a paragraph, and between lines of one listing, in heights of a line.
_WITHIN, _APART = 1.45, 3.5
# The usual distance of lines, in heights.
_SPACING = 1.15
# The difference of two left edges that are the same, and the deepest indentation that is kept.
_SAME_EDGE, _DEEPEST = 1.5, 60


def code_lines(lines: Sequence[PrintedLine]) -> frozenset[int]:
    """Return the numbers of the lines that are code. Code that fills a line inside of a paragraph is not."""
    fixed = sum(len(line.text) for line in lines if line.fixed)
    if fixed > _MOSTLY * sum(len(line.text) for line in lines):
        return frozenset()
    found = set[int]()
    for number, line in enumerate(lines):
        above = lines[number - 1] if number and number - 1 not in found else None
        if line.fixed and not (above and _inside(above, line)):
            found.add(number)
    return frozenset(found)


def _inside(above: PrintedLine, line: PrintedLine) -> bool:
    """Return whether a line continues the sentence of the line above it."""
    near = above.page == line.page and 0 < above.bottom - line.bottom <= _WITHIN * max(line.height, above.height)
    return near and abs(above.left - line.left) < _SAME_EDGE and not re.search(r"[.!?:]$", above.text)


def goes_on(last: PrintedLine, line: PrintedLine) -> bool:
    """Return whether a line of code belongs to the listing that ends with another one, on this page or the one before."""
    return last.page != line.page or abs(last.bottom - line.bottom) <= _APART * max(last.height, line.height)


def fenced(lines: Sequence[PrintedLine]) -> str:
    """Return lines of code as a block of Markdown."""
    edge = min(line.left for line in lines)
    widths = sorted((line.right - line.left) / len(line.text) for line in lines if line.text)
    width = max(widths[len(widths) // 2], 0.1)
    rows = [_indented(lines[0], edge, width)]
    for above, line in pairwise(lines):
        distance = above.bottom - line.bottom if above.page == line.page else 0.0
        if above.page == line.page and abs(distance) < 0.4 * line.height:
            # A part of the same line.
            rows[-1] += " " * max(1, min(_DEEPEST, round((line.left - above.right) / width))) + _code(line)
        else:
            rows += [""] * max(0, round(distance / (_SPACING * line.height)) - 1)
            rows.append(_indented(line, edge, width))
    text = "\n".join(rows)
    fence = "`" * max(3, max((len(run) + 1 for run in re.findall("`{3,}", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _indented(line: PrintedLine, edge: float, width: float) -> str:
    return " " * min(_DEEPEST, round((line.left - edge) / width)) + _code(line)


def _code(line: PrintedLine) -> str:
    return line.text.replace(LINE_END_HYPHEN, "-")
