"""What each part of a configuration adds: effects over matched pairs of configurations, as a figure and tables."""

import math
from collections.abc import Sequence

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.parts import LATENCIES, PartEffect, parts
from workbench.core.formatting import plural, shortened, signed
from workbench.report.cells import (
    count_cell,
    described,
    difference_cells,
    digits_for,
    gap_cell,
    key_of,
    p_cell,
    value_cell,
    words,
)
from workbench.report.figures import plots
from workbench.report.figures.canvas import NAME_LENGTH
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, Section, Table
from workbench.report.text.parts import added_text, differing_sentence, missing_sentence, shows_parts, unmatched
from workbench.statistics.effects import EffectReading
from workbench.statistics.intervals import ALPHA, THIS_CORPUS

_INTRODUCTION = (
    "An effect is the difference between two alternatives of a part, on the same questions, averaged over all pairs of configurations that are "
    "equal in everything else. Worth it, better, harmful and worse are claims about the primary metric after correction for all effects, a "
    "family of its own beside the comparisons of configurations; whether a gain is worth its time is for you to decide. A part "
    "that loses all questions about a few documents can look like a gain if the sample has none of them. Where documents that were not seen could undo an "
    "effect, it is a gain or a loss on these documents, and no claim about others. No benefit shown does not mean no benefit: the column shown gives the effect "
    "that these questions show with 80 % power."
)


def parts_section(findings: Findings) -> Section | None:
    """Show the effects of all parts. Returns None if the run varies a single part that replaces another."""
    if not shows_parts(findings):
        return None
    effects, missing = parts(findings.run), unmatched(findings)
    blocks: list[Block] = [Prose(_INTRODUCTION)] if effects else []
    if effects:
        beside = _beside(effects)
        blocks += [_figure(findings, effects), *([beside] if beside else [])]
        differ = [differing_sentence(part) for part in effects if part.effect.p_differs <= ALPHA]
        blocks += [Lines(differ)] if differ else []
    blocks += [Prose(missing_sentence(missing))] if missing else []
    blocks += [Collapsible("Every pair of configurations", [_pairs(findings, effects)])] if effects else []
    return Section("What does each part add?", "parts", blocks, "Parts") if blocks else None


def _names(effects: Sequence[PartEffect]) -> list[str]:
    return [f"{part.alternative} over {part.reference}" for part in effects]


def _labels(effects: Sequence[PartEffect]) -> dict[str, str]:
    """The short names of effects in a figure: their alternatives, if that tells them apart, since a cut would leave out what differs."""
    names, alternatives = _names(effects), [part.alternative for part in effects]
    told = len(set(alternatives)) == len(alternatives)
    short = shortened(alternatives if told else names, NAME_LENGTH)
    return dict(zip(names, [short[name] for name in (alternatives if told else names)], strict=True))


def _figure(findings: Findings, effects: Sequence[PartEffect]) -> Figure:
    names, short = _names(effects), _labels(effects)
    rows = [
        plots.IntervalRow(short[name], part.effect.comparison.simultaneous, _claimed(part))
        for name, part in zip(names, effects, strict=True)
    ]
    ends = [(row.estimate.value, row.estimate.low, row.estimate.high) for row in rows]
    data = _table(findings, effects)
    caption = (
        f"Solid points, {sum(row.solid for row in rows)} of {len(rows)}, are effects after correction for all of them; rings may be chance."
    )
    if any(np.isfinite(row.estimate.low) for row in rows):
        caption += " The intervals hold for all effects at once with 95 % confidence."
    drawing = plots.differences(rows, f"effect on {findings.primary}", digits_for(end for row in ends for end in row))
    return Figure("parts", described(data), caption, drawing, data, key_of(short))


def _claimed(part: PartEffect) -> bool:
    return part.effect.reading in (EffectReading.GAIN, EffectReading.LOSS)


def _table(findings: Findings, effects: Sequence[PartEffect]) -> Table:
    columns = [words("part"), Column("effect"), Column("interval, corrected", sorts=False), Column("p", note="corrected")]
    columns += [Column("shown", note="80 % power"), Column("questions"), Column("pairs", note="of possible")]
    columns += [Column("in the pairs", note="lowest to highest"), Column("p", note="that it differs")]
    columns += [Column(f"ms {name}", note="added") for name in LATENCIES]
    rows = [_row(name, part) for name, part in zip(_names(effects), effects, strict=True)]
    limited = any(part.effect.comparison.difference.conditional for part in effects)
    note = (
        "Only pairs of ranked configurations count. Milliseconds per question are added at the median and the 95th percentile, as the range of the "
        f"pairs whose times vary least.{f' {THIS_CORPUS}' if limited else ''}"
    )
    caption = f"Effects on {findings.primary}, corrected for {plural(len(effects), 'effect')}"
    return Table(caption, [*columns, words("reading")], rows, note)


def _row(name: str, part: PartEffect) -> Row:
    effect, row = part.effect, part.effect.comparison
    ends = [pair.difference.value for pair in (part.lowest, part.highest)]
    spread = Cell(" to ".join(dict.fromkeys(map(signed, ends))), sort=ends[0])
    counted = [count_cell(row.difference.n), Cell(f"{len(part.pairs)} of {part.possible}", sort=float(len(part.pairs)))]
    cells = [
        Cell(name, note=part.stage),
        *difference_cells(row.simultaneous),
        p_cell(row.p_adjusted),
        value_cell(effect.detectable),
        *counted,
    ]
    return Row([*cells, spread, p_cell(effect.p_differs), *(_time_cell(part, name) for name in LATENCIES), Cell(part.verdict)])


def _time_cell(part: PartEffect, percentile: str) -> Cell:
    time = part.latency.get(percentile)
    return Cell(added_text(time.span, time.value), sort=time.value) if time else value_cell(math.nan)


def _beside(effects: Sequence[PartEffect]) -> Table | None:
    """Tabulate the effects on other metrics. Returns None if the run has none of them."""
    metrics = list(effects[0].others)
    if not metrics:
        return None
    rows = [
        Row([Cell(name), *(gap_cell(part.others[metric]) for metric in metrics)])
        for name, part in zip(_names(effects), effects, strict=True)
    ]
    caption = "Exploratory: effects on other metrics; intervals are of each effect by itself, nothing is tested or corrected"
    return Table(caption, [words("part"), *(Column(metric, note="95 % interval") for metric in metrics)], rows)


def _pairs(findings: Findings, effects: Sequence[PartEffect]) -> Table:
    columns = [words("part"), words("configuration"), words("minus"), Column(str(findings.primary)), Column("95 % interval", sorts=False)]
    rows = [
        Row([Cell(name), Cell(pair.configuration), Cell(pair.reference), *difference_cells(pair.difference), count_cell(pair.difference.n)])
        for name, part in zip(_names(effects), effects, strict=True)
        for pair in part.pairs
    ]
    caption = "The pairs behind each effect; intervals are of each pair by itself, nothing is tested or corrected"
    return Table(caption, [*columns, Column("questions")], rows)
