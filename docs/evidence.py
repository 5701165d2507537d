"""Draw how span recall counts the evidence of one question of the handbook, from the rankings of the quickstart."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from typing import NamedTuple

from workbench.core.text.formatting import number
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import count
from workbench.report.results.run_tables import RunTables

QUESTION, CONFIGURATION = "hb-070", "fixed-128-64"
CUTS = (5, 1_000)
_ROWS, _WIDE, _LINE, _CHARACTER = 9, 72, 19, 6.9
_STEP = 27
_TOP, _TEXT, _LIST = 112, 96, 704
_INK, _SOFT, _EVIDENCE, _FIRST, _SECOND = "#1f2328", "#59636e", "#ffe08a", "#0b62c4", "#9a3e00"


class Slice(NamedTuple):
    """Characters of a document."""

    start: int
    end: int

    def within(self, other: "Slice") -> int:
        """Count the characters that are also in the other slice."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


class Ranked(NamedTuple):
    """A chunk of the ranking: its document, its place there, and its tokens."""

    document: str
    place: Slice
    tokens: int


class Example(NamedTuple):
    """A question with one piece of evidence in one document, and its ranking."""

    question: str
    document: str
    text: str
    evidence: Slice
    ranking: Sequence[Ranked]
    recall: Sequence[tuple[str, float]]


def example(run: RunTables, question: str = QUESTION, configuration: str = CONFIGURATION) -> Example:
    """Read the example from the tables of a run."""
    texts = run.table("passages").set_index(["doc_id", "start"])["text"].to_dict()
    needs = run.table("evidence").query("query_id == @question", local_dict={"question": question})
    (need,) = needs.itertuples()
    hits = run.of("hits", configuration).query("query_id == @question", local_dict={"question": question}).head(_ROWS)
    ranking = [
        Ranked(hit.doc_id, Slice(hit.start, hit.end), count(texts[hit.doc_id, 0][hit.start : hit.end], MINILM)) for hit in hits.itertuples()
    ]
    values = run.of("queries", configuration).query("query_id == @question and condition == 'retrieved'", local_dict={"question": question})
    by_metric = values.set_index("metric")["value"]
    asked = run.questions.set_index("query_id").loc[question, "text"]
    recall = [(name, float(by_metric[name])) for name in (f"span_recall@{CUTS[0]}", f"span_recall@{CUTS[1]}t")]
    return Example(asked, need.doc_id, texts[need.doc_id, 0], Slice(need.start, need.end), ranking, recall)


def drawing(shown: Example) -> str:
    """Draw an example as SVG: the document with its evidence and two chunks, and the ranking with its cut-offs."""
    chunks = [(rank, each.place) for rank, each in enumerate(shown.ranking, 1) if each.document == shown.document]
    chunks = [(rank, place) for rank, place in chunks if place.within(shown.evidence)][:2]
    window = Slice(min(place.start for _, place in chunks), max(place.end for _, place in chunks))
    lines = list(_lines(shown.text, window))
    height = _TOP + max(_LINE * len(lines), _STEP * len(shown.ranking) + 76) + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 {height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" fill="{_INK}">',
        f'<rect width="1200" height="{height}" fill="#ffffff"/>',
        _label(24, 34, f"“{shown.question}”", 'font-size="16" font-weight="bold"'),
        _label(24, 64, f"{shown.document}: the evidence is marked, brackets are the chunks with some of it", _muted()),
        _label(_LIST, 64, f"The ranking of {CONFIGURATION}, and its cut-offs", _muted()),
    ]
    parts += [*_document(shown, lines), *_brackets(chunks, lines), *_ranking(shown), *_sums(shown, chunks, height)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lines(text: str, window: Slice) -> Iterator[Slice]:
    """Break the characters of a window into lines at the ends of words."""
    start = window.start
    while start < window.end:
        stop = min(window.end, start + _WIDE)
        newline = text.find("\n", start, stop)
        if newline >= 0:
            stop = newline + 1
        elif stop < window.end:
            stop = text.rfind(" ", start, stop) + 1 or stop
        if text[start:stop].strip():
            yield Slice(start, stop)
        start = stop


def _document(shown: Example, lines: Sequence[Slice]) -> Iterator[str]:
    for row, line in enumerate(lines):
        y = _TOP + row * _LINE
        if marked := line.within(shown.evidence):
            x = _TEXT + _CHARACTER * max(0, shown.evidence.start - line.start)
            yield f'<rect x="{x:.1f}" y="{y - 13}" width="{_CHARACTER * marked:.1f}" height="17" fill="{_EVIDENCE}"/>'
        text = shown.text[line.start : line.end].rstrip()
        width = f'textLength="{_CHARACTER * len(text):.1f}" lengthAdjust="spacingAndGlyphs"'
        yield _label(
            _TEXT, y, text, f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11.5" xml:space="preserve" {width}'
        )


def _brackets(chunks: Sequence[tuple[int, Slice]], lines: Sequence[Slice]) -> Iterator[str]:
    """Draw a bracket at the lines of each chunk, and a dashed border where it begins and ends in a line."""
    for place, (rank, chunk) in enumerate(sorted(chunks, key=lambda each: each[1])):
        rows = [row for row, line in enumerate(lines) if line.within(chunk)]
        x, colour = 76 - 34 * place, (_FIRST, _SECOND)[place]
        top, bottom = _TOP + rows[0] * _LINE - 13, _TOP + rows[-1] * _LINE + 4
        yield f'<path d="M{x + 8} {top}H{x}V{bottom}H{x + 8}" fill="none" stroke="{colour}" stroke-width="3"/>'
        middle = (top + bottom) // 2
        yield _label(
            x - 6,
            middle,
            f"rank {rank}",
            f'fill="{colour}" font-weight="bold" text-anchor="middle" transform="rotate(-90 {x - 6} {middle})"',
        )
        for at, row in ((chunk.start, rows[0]), (chunk.end, rows[-1])):
            border = _TEXT + _CHARACTER * (at - lines[row].start)
            y = _TOP + row * _LINE
            yield f'<path d="M{border:.1f} {y - 15}V{y + 6}" stroke="{colour}" stroke-width="2" stroke-dasharray="3 2"/>'


def _ranking(shown: Example) -> Iterator[str]:
    totals, cut = list(accumulate(each.tokens for each in shown.ranking)), False
    for row, (each, total) in enumerate(zip(shown.ranking, totals, strict=True)):
        y = _TOP + row * _STEP
        found = each.place.within(shown.evidence) if each.document == shown.document else 0
        fill = _EVIDENCE if found else "#eef1f4"
        yield f'<rect x="{_LIST}" y="{y - 16}" width="476" height="22" rx="3" fill="{fill}"/>'
        yield _label(_LIST + 26, y, str(row + 1), 'text-anchor="end" font-weight="bold"')
        yield _label(_LIST + 38, y, each.document if len(each.document) <= 36 else f"{each.document[:35]}…", 'font-size="12"')
        yield _label(_LIST + 468, y, f"{each.tokens} tokens, {total:,} in all", f'font-size="12" text-anchor="end" fill="{_SOFT}"')
        over = total > CUTS[1] and not cut
        cut = cut or over
        for applies, text, at in ((row + 1 == CUTS[0], f"k = {CUTS[0]}", y + 9), (over, f"{CUTS[1]:,} t", y + 4)):
            if applies:
                yield f'<path d="M{_LIST - 4} {at}H{_LIST + 480}" stroke="#c4262e" stroke-width="2" stroke-dasharray="7 4"/>'
                yield _label(_LIST - 8, at + 4, text, 'fill="#c4262e" font-size="12" font-weight="bold" text-anchor="end"')


def _sums(shown: Example, chunks: Sequence[tuple[int, Slice]], height: int) -> Iterator[str]:
    size = shown.evidence.end - shown.evidence.start
    for place, (metric, value) in enumerate(shown.recall):
        found = round(value * size)
        text = f"{metric} = {found} of {size} marked characters = {number(value)}"
        yield _label(_LIST, _TOP + _STEP * len(shown.ranking) + 26 + 24 * place, text, 'font-size="12.5" font-weight="bold"')
    overlap = chunks[0][1].within(chunks[1][1]) if len(chunks) > 1 else 0
    text = f"Evidence counts once, although the two chunks share {overlap} characters. The chunk in which the {CUTS[1]:,}th token falls is read up to it."
    yield _label(24, height - 22, text, _muted())


def _label(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" {more}>{escape(text)}</text>'


def _muted() -> str:
    return f'fill="{_SOFT}"'
