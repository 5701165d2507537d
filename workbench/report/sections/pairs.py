"""Pairs of configurations: the questions on which one is ahead, the causes of the other's misses, and the slices."""

import itertools

from workbench.analysis.findings import Findings
from workbench.analysis.pairwise import OTHER, OTHER_MEANING, Contrast, Part, contrast
from workbench.analysis.questions.miss_causes import cause_meanings
from workbench.attribution.causes import CAUSE_NAMES
from workbench.core.formatting import interval, p_value, plural, share, signed
from workbench.report.cells import Scale, count_cell, gap_cell, queries_cell, text, words
from workbench.report.model import Block, Cell, Column, Fold, Prose, Row, Section, Table

# With more configurations than this, only the first is compared with all others.
_ALL_PAIRS = 4


def pairs(found: Findings) -> Section | None:
    """Compare the leader with every other configuration, or all pairs of up to four. Returns None if there is only one."""
    ranked = [standing.name for standing in found.standings.ranked]
    if len(ranked) < 2:
        return None
    chosen = itertools.combinations(ranked, 2) if len(ranked) <= _ALL_PAIRS else ((ranked[0], other) for other in ranked[1:])
    made = [where for a, b in chosen if (where := contrast(found.run, a, b)) is not None]
    about = "Open a pair to see the questions on which each configuration is ahead, why the other misses them, and in which slices."
    folds = [_fold(found, where, opened=where is made[0]) for where in made]
    return Section("Pairwise comparison", "pairs", [Prose(about), *folds], "Pairs") if folds else None


def pair_blocks(found: Findings, where: Contrast) -> list[Block]:
    """The causes and slices of one pair."""
    causes, blocks = _causes(found, where), list[Block]()
    if where.judged is not None:
        blocks.append(Prose(f"{share(where.judged[0], 1)} and {share(where.judged[1], 1)} of what they found was judged."))
    blocks.append(causes if causes.rows else Prose("They do equally well on every question."))
    return [*blocks, _slices(where)]


def tally(where: Contrast) -> str:
    """The number of questions on which each of the two is ahead."""
    questions = plural(where.a.queries + where.b.queries + where.ties, "question")
    return f"Of {questions}, {where.a.winner} is ahead on {where.a.queries}, {where.b.winner} on {where.b.queries}; on {where.ties} they are equal."


def _fold(found: Findings, where: Contrast, *, opened: bool) -> Fold:
    whole, tested = where.parts[0].difference, found.against(where.a.winner, where.b.winner)
    p = f"{p_value(tested.p_adjusted)} corrected" if tested else "not tested"
    counts = f"ahead on {where.a.queries}, behind on {where.b.queries}, equal on {where.ties}"
    note = f"{signed(whole.value)} {interval(whole.low, whole.high)}, {p} · {counts}"
    title = f"{where.a.winner} against {where.b.winner}"
    return Fold(title, pair_blocks(found, where), note, "pairing", opened=opened)


def _causes(found: Findings, where: Contrast) -> Table:
    meanings = {**cause_meanings(found.run), OTHER: OTHER_MEANING}
    columns = [words("cause of the miss"), Column(f"{where.a.winner} ahead"), Column(f"{where.b.winner} ahead"), text("which means")]
    rows = []
    for cause in (*CAUSE_NAMES, OTHER):
        won, lost = where.a.causes.get(cause, ()), where.b.causes.get(cause, ())
        if won or lost:
            rows.append(Row([queries_cell(cause, [*won, *lost]), count_cell(len(won)), count_cell(len(lost)), Cell(meanings[cause])]))
    return Table("Questions that one is ahead on, by the cause of the other's miss", columns, rows)


def _slices(where: Contrast) -> Table:
    ends = [bound for part in where.parts for bound in (part.difference.low, part.difference.value, part.difference.high)]
    scale = Scale.over(ends, zero=True)
    columns = [words("slice"), Column("questions"), Column("difference", note="95 % interval"), scale.column()]
    columns += [Column(f"{where.a.winner} ahead"), Column(f"{where.b.winner} ahead"), Column("equal")]
    caption = f"{where.metric}: {where.a.winner} minus {where.b.winner} by slice; exploratory, nothing is tested or corrected"
    return Table(caption, columns, [_slice(part, scale) for part in where.parts])


def _slice(part: Part, scale: Scale) -> Row:
    found, counts = part.difference, (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties)
    name = Cell(slice_name(part.name), note=f"{part.small}: weak evidence" if part.small else "")
    return Row([name, count_cell(found.n), gap_cell(found), scale.cell(found, zero=True), *map(count_cell, counts)])


def slice_name(label: str) -> str:
    """Describe a slice in words."""
    field, equals, value = label.partition("=")
    return f"{field}: {value}" if equals else "all questions"
