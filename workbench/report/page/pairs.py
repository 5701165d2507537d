"""Where pairs of configurations differ: which does better on which questions, why the other misses them, and in which slices."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.analysis.findings import Findings
from workbench.analysis.pairwise import OTHER, OTHER_TOLD, Contrast, Examined, Won, contrast_of
from workbench.attribution.evidence_causes import CAUSES, DOCUMENT_CAUSES
from workbench.core.formatting import interval, p_value, plural, signed
from workbench.pipeline.context import RunContext
from workbench.report.page.bars import Scale
from workbench.report.page.table import Cell, Column, Row, Table, value_cell

# Of more configurations than this only the first is held against all others.
_ALL_PAIRS = 4
_MOST_IDS = 12


@dataclass(frozen=True)
class Pair:
    """Two configurations: the difference, the questions each does better on, by cause and by slice."""

    name: str
    a: Won
    b: Won
    ties: int
    difference: str
    p: str
    judged: str
    causes: Table
    slices: Table


def pairs(bench: RunContext, found: Findings, looked: Mapping[str, Examined]) -> list[Pair]:
    """The first against every other, or all pairs where there are few; `looked` holds the configurations by name."""
    names = [one.name for one in found.standings.ranked]
    chosen = itertools.combinations(names, 2) if len(names) <= _ALL_PAIRS else ((names[0], other) for other in names[1:])
    made = ((a, b, contrast_of(bench, found.primary, looked[a], looked[b])) for a, b in chosen)
    return [_pair(number, found, a, b, where) for number, (a, b, where) in enumerate(made, 1) if where is not None]


def _pair(number: int, found: Findings, a: str, b: str, where: Contrast) -> Pair:
    whole, tested = where.parts[0].difference, found.against(a, b)
    difference = f"{signed(whole.value)} {interval(whole.low, whole.high)}"
    p = f"{p_value(tested.p_adjusted)} corrected" if tested else "not tested"
    judged = "" if where.judged is None else f"{where.judged[0]:.0%} and {where.judged[1]:.0%} of what they found was judged."
    sheets = _causes(number, found, where), _slices(number, where)
    return Pair(f"pair-{number}", where.a, where.b, where.ties, difference, p, judged, *sheets)


def _causes(number: int, found: Findings, where: Contrast) -> Table:
    of_text = found.primary.family in ("spans", "chunks") and bool(found.dataset.needs)
    told = CAUSES | {OTHER: OTHER_TOLD} if of_text else CAUSES | DOCUMENT_CAUSES | {OTHER: OTHER_TOLD}
    headings = [
        Column("cause of the miss", "word"),
        Column(f"{where.a.winner} better"),
        Column(f"{where.b.winner} better"),
        Column("which means", "text", sorts=False),
    ]
    rows = [
        Row([Cell(cause, note=_ids(where, cause)), value_cell(len(won), 0), value_cell(len(lost), 0), Cell(told[cause])])
        for cause, won, lost in _by_cause(where)
    ]
    return Table(f"pair-{number}-causes", "Questions that one does better on, by the cause of the other's miss", headings, rows)


def _by_cause(where: Contrast) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    for cause in (*CAUSES, OTHER):
        won, lost = where.a.causes.get(cause, ()), where.b.causes.get(cause, ())
        if won or lost:
            yield cause, won, lost


def _ids(where: Contrast, cause: str) -> str:
    ids = [*where.a.causes.get(cause, ()), *where.b.causes.get(cause, ())]
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return f"{', '.join(ids[:_MOST_IDS])}{more}"


def _slices(number: int, where: Contrast) -> Table:
    scale = Scale.over(
        (bound for part in where.parts for bound in (part.difference.low, part.difference.value, part.difference.high)), zero=True
    )
    headings = [
        Column("slice", "word"),
        Column("questions"),
        Column("difference", note="95 % interval"),
        Column("", "bar", sorts=False, note=scale.told()),
        Column(f"{where.a.winner} better"),
        Column(f"{where.b.winner} better"),
        Column("equal"),
    ]
    rows = []
    for part in where.parts:
        found, counts = part.difference, (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties)
        field, equals, value = part.name.partition("=")
        name = Cell(f"{field}: {value}" if equals else "all questions", note=f"{part.small}: tells little" if part.small else "")
        bar = Cell("", bar=scale.bar(found.value, found.low, found.high, zero=True))
        cells = [name, value_cell(found.n, 0), value_cell(found.value, text=signed(found.value), note=interval(found.low, found.high)), bar]
        rows.append(Row([*cells, *(value_cell(one, 0) for one in counts)]))
    about = f"By slice, over {plural(where.parts[0].difference.n, 'question')}"
    return Table(f"pair-{number}-slices", about, headings, rows)
