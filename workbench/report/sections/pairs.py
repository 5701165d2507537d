"""Where pairs of configurations differ: which does better on which questions, why the other misses them, and in which slices."""

import itertools
from collections.abc import Iterator, Sequence

from workbench.analysis.findings import Findings
from workbench.analysis.pairwise import OTHER, OTHER_TOLD, Contrast, Part, contrast
from workbench.analysis.questions.miss_causes import cause_meanings
from workbench.attribution.causes import CAUSE_NAMES
from workbench.core.formatting import interval, p_value, plural, share, signed
from workbench.report.cells import Scale, count_cell, queries_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Fold, Prose, Row, Section, Table

# Of more configurations than this only the first is compared with all others.
_ALL_PAIRS = 4


def pairs(found: Findings) -> Section | None:
    """The first against every other, or all pairs where there are few; None where there is no second."""
    ranked = [one.name for one in found.standings.ranked]
    if len(ranked) < 2:
        return None
    chosen = itertools.combinations(ranked, 2) if len(ranked) <= _ALL_PAIRS else ((ranked[0], other) for other in ranked[1:])
    made = [where for a, b in chosen if (where := contrast(found.run, a, b)) is not None]
    told = "Questions that one of two configurations alone gets right, or more of; why the other misses them; and in which slices. Open a pair."
    folds = [_fold(number, found, where) for number, where in enumerate(made, 1)]
    return Section("Where two differ", "pairs", [Prose(told), *folds], "Pairs") if folds else None


def pair_blocks(found: Findings, where: Contrast, number: int = 1) -> list[Block]:
    """What there is to say of one pair."""
    causes, blocks = _causes(number, found, where), list[Block]()
    if where.judged is not None:
        blocks.append(Prose(f"{share(where.judged[0], 1)} and {share(where.judged[1], 1)} of what they found was judged."))
    blocks.append(causes if causes.rows else Prose("They do equally well on every question."))
    return [*blocks, _slices(number, where)]


def tally(where: Contrast) -> str:
    """On how many questions each does better."""
    asked = plural(where.a.queries + where.b.queries + where.ties, "question")
    return f"Of {asked}, {where.a.winner} is ahead on {where.a.queries}, {where.b.winner} on {where.b.queries}; on {where.ties} they are equal."


def _fold(number: int, found: Findings, where: Contrast) -> Fold:
    whole, tested = where.parts[0].difference, found.against(where.a.winner, where.b.winner)
    p = f"{p_value(tested.p_adjusted)} corrected" if tested else "not tested"
    counts = f"ahead on {where.a.queries}, behind on {where.b.queries}, equal on {where.ties}"
    note = f"{signed(whole.value)} {interval(whole.low, whole.high)}, {p} · {counts}"
    title = f"{where.a.winner} against {where.b.winner}"
    return Fold(title, pair_blocks(found, where, number), note, "pairing", opened=number == 1)


def _causes(number: int, found: Findings, where: Contrast) -> Table:
    told = {**cause_meanings(found.run), OTHER: OTHER_TOLD}
    columns = [words("cause of the miss"), Column(f"{where.a.winner} ahead"), Column(f"{where.b.winner} ahead"), text("which means")]
    rows = [
        Row([queries_cell(cause, [*won, *lost]), count_cell(len(won)), count_cell(len(lost)), Cell(told[cause])])
        for cause, won, lost in _by_cause(where)
    ]
    return Table(f"pair-{number}-causes", "Questions that one is ahead on, by the cause of the other's miss", columns, rows)


def _by_cause(where: Contrast) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    for cause in (*CAUSE_NAMES, OTHER):
        won, lost = where.a.causes.get(cause, ()), where.b.causes.get(cause, ())
        if won or lost:
            yield cause, won, lost


def _slices(number: int, where: Contrast) -> Table:
    ends = [bound for part in where.parts for bound in (part.difference.low, part.difference.value, part.difference.high)]
    scale = Scale.over(ends, zero=True)
    columns = [words("slice"), Column("questions"), Column("difference", note="95 % interval"), scale.column()]
    columns += [Column(f"{where.a.winner} ahead"), Column(f"{where.b.winner} ahead"), Column("equal")]
    caption = f"{where.metric}: {where.a.winner} minus {where.b.winner} by slice; exploratory, nothing is tested or corrected"
    return Table(f"pair-{number}-slices", caption, columns, [_slice(part, scale) for part in where.parts])


def _slice(part: Part, scale: Scale) -> Row:
    found, counts = part.difference, (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties)
    name = Cell(slice_name(part.name), note=f"{part.small}: tells little" if part.small else "")
    bar = Cell("", bar=scale.bar(found.value, found.low, found.high, zero=True))
    apart = value_cell(found.value, shown=signed(found.value), note=interval(found.low, found.high))
    return Row([name, count_cell(found.n), apart, bar, *map(count_cell, counts)])


def slice_name(label: str) -> str:
    """A slice as it is read."""
    field, equals, value = label.partition("=")
    return f"{field}: {value}" if equals else "all questions"
