"""Mark the chunks of a text and the evidence in it, as HTML with inline styles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from workbench.core.records import Chunk

_SHADES = ("rgba(74,143,208,.28)", "rgba(227,150,40,.26)")
_SHARED = "background-color:rgba(128,128,128,.35);border-bottom:2px dotted"
_MARK = "font-size:.8em;font-weight:700;margin:0 .4em"
# Lines under the text, so that evidence and chunks are seen together, in light and dark, and not by colour alone.
WHOLE_STYLE = "text-decoration:underline solid #2e9e5b 3px;text-underline-offset:3px"
CUT_STYLE = "text-decoration:underline wavy #d9443f 2px;text-underline-offset:3px"
SCISSORS = "✂"


@dataclass(frozen=True, slots=True)
class EvidenceMark:
    """A span of evidence in a text, and whether no chunk delivers it whole. `title` is shown on hovering."""

    start: int
    end: int
    cut: bool
    title: str = ""


def marked_text(
    text: str, chunks: Sequence[Chunk], evidence: Sequence[EvidenceMark] = (), start: int = 0, end: int | None = None
) -> Markup:
    """Return the text from `start` to `end` with its chunks in alternating colours.

    A chunk begins with its number. Overlaps of chunks are grey and dotted. Evidence is underlined, with a wavy line and scissors if it is
    cut. `chunks` are those of the whole text, ordered by start.
    """
    end = len(text) if end is None else end
    numbered = [(chunk.start, chunk.end, place) for place, chunk in enumerate(chunks)]
    marks = sorted((mark.start, mark.end, place) for place, mark in enumerate(evidence))
    borders = {start, end, *(edge for first, last, _ in [*numbered, *marks] for edge in (first, last) if start < edge < end)}
    edges = sorted(borders)
    parts = zip(pairwise(edges), _inside(edges, numbered), _inside(edges, marks), strict=True)
    return Markup("").join(
        _segment(text, low, high, chunks, within, [evidence[mark] for mark in held]) for (low, high), within, held in parts
    )


def _inside(edges: Sequence[int], spans: Sequence[tuple[int, int, int]]) -> Iterator[list[int]]:
    """Yield the numbers of the spans (start, end, number), ordered by start, that contain each stretch between two edges."""
    active: list[tuple[int, int]] = []
    following = 0
    for low in edges[:-1]:
        while following < len(spans) and spans[following][0] <= low:
            active.append(spans[following][1:])
            following += 1
        active = [(last, number) for last, number in active if last > low]
        yield [number for _, number in active]


def _segment(text: str, low: int, high: int, chunks: Sequence[Chunk], within: Sequence[int], evidence: Sequence[EvidenceMark]) -> Markup:
    style = f"background-color:{_SHADES[within[0] % 2]}" if len(within) == 1 else _SHARED if within else ""
    starts = ",".join(str(place + 1) for place in within if chunks[place].start == low)
    number = Markup('<span style="{}">{}</span>').format(_MARK, starts) if starts else ""
    content: str | Markup = text[low:high]
    if evidence:
        cut = any(mark.cut for mark in evidence)
        scissors = SCISSORS if any(mark.cut and mark.start == low for mark in evidence) else ""
        title = "; ".join(dict.fromkeys(mark.title for mark in evidence if mark.title))
        content = Markup('<span style="{}" title="{}">{}{}</span>').format(CUT_STYLE if cut else WHOLE_STYLE, title, scissors, content)
    return Markup('<span style="{}">{}{}</span>').format(style, number, content)
