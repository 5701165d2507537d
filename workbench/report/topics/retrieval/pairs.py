"""Pairs of configurations: the questions on which one is ahead, the causes of the other's misses, and the slices."""

import itertools
import re

import numpy as np

from workbench.core.text.formatting import p_value, plural, share, signed
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.pairwise import OTHER, Contrast, Part, contrast, meanings
from workbench.report.cells import Scale, count_cell, gap_cell, queries_cell, text, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table
from workbench.report.topics.topic import COMPARED, Topic

# With more configurations than this, only the first is compared with all others.
_ALL_PAIRS = 4


def compute(findings: Findings) -> tuple[Findings, list[Contrast]] | None:
    """Compare the leader with every other configuration, or all pairs of up to four. None if there is only one."""
    ranked = [standing.name for standing in findings.standings.ranked]
    chosen = itertools.combinations(ranked, 2) if len(ranked) <= _ALL_PAIRS else ((ranked[0], other) for other in ranked[1:])
    contrasts = [pair for a, b in chosen if (pair := contrast(findings, a, b)) is not None]
    return (findings, contrasts) if contrasts else None


def render(values: tuple[Findings, list[Contrast]]) -> list[Block]:
    """Collapse the causes and slices of each pair, the first one opened."""
    findings, contrasts = values
    introduction = "Open a pair to see the questions on which each configuration is ahead, why the other misses them, and in which slices."
    blocks: list[Block] = [Prose(introduction)]
    for pair in contrasts:
        a, b = pair.a.winner, pair.b.winner
        tested = findings.against(a, b)
        compared = tested or findings.outside_family(a, b)
        gap = compared.simultaneous if compared else pair.parts[0].difference
        known = compared is not None and not np.isnan(compared.p)
        p = f"{p_value(compared.p_adjusted)} corrected{'' if tested else ' for all pairs'}" if compared and known else "not tested"
        counts = f"ahead on {pair.a.queries}, behind on {pair.b.queries}, equal on {pair.ties}"
        note = f"{signed(gap.value)} {gap.bounds()}, {p} · {counts}"
        blocks.append(Collapsible(f"{a} against {b}", pair_blocks(findings, pair), note, "pairing", opened=pair is contrasts[0]))
    return blocks


def render_leading(values: tuple[Findings, Contrast]) -> list[Block]:
    """Show the questions on which the two differ, by cause and by slice."""
    findings, pair = values
    return [Prose(tally(pair)), *pair_blocks(findings, pair)]


def pair_blocks(findings: Findings, pair: Contrast) -> list[Block]:
    """The causes and slices of one pair."""
    causes, blocks = _causes(findings, pair), list[Block]()
    if pair.judged is not None:
        blocks.append(Prose(f"{share(pair.judged[0], 1)} and {share(pair.judged[1], 1)} of their retrieved documents are judged."))
    blocks.append(causes if causes.rows else Prose("They do equally well on every question."))
    # The difference on all questions is that of the title, with the bounds of its family.
    return [*blocks, *([_slices(pair)] if len(pair.parts) > 1 else [])]


def tally(pair: Contrast) -> str:
    """The number of questions on which each of the two is ahead."""
    questions = plural(pair.a.queries + pair.b.queries + pair.ties, "question")
    return f"Of {questions}, {pair.a.winner} is ahead on {pair.a.queries}, {pair.b.winner} on {pair.b.queries}; {pair.ties} are ties."


def _causes(findings: Findings, pair: Contrast) -> Table:
    known = meanings(findings)
    columns = [words("cause of the miss"), Column(f"{pair.a.winner} ahead"), Column(f"{pair.b.winner} ahead"), text("meaning")]
    rows = []
    for cause in (*CAUSE_NAMES, OTHER):
        won, lost = pair.a.causes.get(cause, ()), pair.b.causes.get(cause, ())
        if won or lost:
            rows.append(Row([queries_cell(cause, [*won, *lost]), count_cell(len(won)), count_cell(len(lost)), Cell(known[cause])]))
    return Table("Questions that one is ahead on, by the cause of the other's miss", columns, rows)


def _slices(pair: Contrast) -> Table:
    slices = pair.parts[1:]
    ends = [bound for part in slices for bound in (part.difference.low, part.difference.value, part.difference.high)]
    scale = Scale.over(ends, zero=True)
    columns = [words("slice"), Column("questions"), Column("difference", note="95 % interval"), scale.column()]
    columns += [Column(f"{pair.a.winner} ahead"), Column(f"{pair.b.winner} ahead"), Column("equal")]
    caption = f"{pair.metric}: {pair.a.winner} minus {pair.b.winner} by slice; exploratory, nothing is tested or corrected"
    return Table(caption, columns, [_slice(part, scale) for part in slices])


def _slice(part: Part, scale: Scale) -> Row:
    difference, counts = part.difference, (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties)
    name = Cell(slice_name(part.name), note=f"{part.small}: weak evidence" if part.small else "")
    return Row([name, count_cell(difference.n), gap_cell(difference), scale.cell(difference, zero=True), *map(count_cell, counts)])


def slice_name(label: str) -> str:
    """Describe a slice in words."""
    # A value can contain an ampersand too, and rarely a field with its value.
    parts = [part.partition("=") for part in re.split("&(?=[^&=]+=)", label)]
    return ", ".join(f"{field}: {value}" for field, _, value in parts) if "=" in label else "all questions"


sources = Topic(
    "sources",
    "Where the first two differ",
    "",
    lambda findings: (findings, findings.contrast) if findings.contrast else None,
    render_leading,
    views=("comparison",),
    missing="The run has no second configuration to compare.",
)
pairs = Topic("pairs", "Pairwise comparison", "Pairs", compute, render, views=COMPARED)
