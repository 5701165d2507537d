"""The differences of all configurations from the baseline or the leader, with their tests."""

from collections.abc import Sequence

import numpy as np

from workbench.core.text.formatting import plural, shortened
from workbench.measures.statistics.comparison import Comparison
from workbench.measures.statistics.intervals import ALPHA
from workbench.report.analysis.findings import Findings
from workbench.report.canvas import NAME_LENGTH, IntervalRow, differences_drawing
from workbench.report.cells import count_cell, described, difference_cells, digits_for, key_of, p_cell, words
from workbench.report.model import Block, Cell, Column, Figure, Prose, Row, Table
from workbench.report.sentences import unaccepted_drafts
from workbench.report.topics.topic import Topic

_TESTS = ("paired t p", "randomisation p", "corrected p", "Holm p")


def undone(comparison: Comparison) -> bool:
    """Check for a difference that is significant by itself and does not count, because losses that were not seen would undo it."""
    return comparison.p <= ALPHA and comparison.p_adjusted == 1


def compute_differences(findings: Findings) -> tuple[Findings, str, list[Comparison]] | None:
    """Compare every other configuration with the reference. None if there is only one."""
    base = findings.reference
    pairs = (
        [findings.comparison(standing.name, base.name) for standing in findings.standings.ranked if standing is not base] if base else []
    )
    tested = [pair for pair in pairs if pair is not None]
    return (findings, base.name, tested) if base and tested else None


def render_differences(values: tuple[Findings, str, list[Comparison]]) -> list[Block]:
    """Plot the differences, name the configurations behind others than the baseline, and explain pairs within and outside the tie set."""
    findings, base, tested = values
    return [_figure(findings, base, tested), *_behind(findings, base), *_outside_note(findings, tested)]


def _behind(findings: Findings, base: str) -> list[Block]:
    """Name a configuration ahead of each one that is behind, if the figure compares with a baseline only. The figure has the baseline itself."""
    verdict = findings.verdict
    if verdict is None or not verdict.behind or not findings.conclusive or verdict.family == "all pairs":
        return []
    known = [(name, ahead) for name in verdict.behind if name != base and (ahead := verdict.ahead_of(name, base))]
    if not known:
        return []
    rows = [Row([Cell(name), Cell(ahead), p_cell(p)]) for name, (ahead, p) in known]
    caption = f"Configurations that are behind others than the baseline, and the one ahead of each with the smallest p, corrected for all {plural(len(verdict.pairs), 'pair')}"
    return [Table(caption, [words("configuration"), words("ahead of it"), Column("corrected p")], rows)]


def _figure(findings: Findings, base: str, tested: Sequence[Comparison]) -> Figure:
    short = shortened([base, *(pair.a for pair in tested)], NAME_LENGTH)
    rows = [IntervalRow(short[pair.a], pair.simultaneous, _claimed(findings, pair)) for pair in tested]
    digits = digits_for(end for pair in tested for end in (pair.difference.value, pair.low_adjusted, pair.high_adjusted))
    data = _table(findings, base, tested)
    caption = f"Solid points, {sum(row.solid for row in rows)} of {len(rows)}, differ after correction for all comparisons; rings may not."
    if not findings.conclusive:
        why = "on drafts" if unaccepted_drafts(findings) else "with so few questions or documents"
        caption = f"All points are rings, because {why} no difference is claimed."
    if any(np.isfinite(row.estimate.low) for row in rows):
        caption += " The intervals hold for all comparisons at once with 95 % confidence."
    drawing = differences_drawing(rows, f"{findings.primary} minus that of {short[base]}", digits)
    return Figure("differences", described(data), caption, drawing, data, key_of(short))


def _claimed(findings: Findings, pair: Comparison) -> bool:
    """Check that a difference is significant, and that the run has enough questions and documents to claim it."""
    return findings.conclusive and bool(pair.p_adjusted <= ALPHA)


def _table(findings: Findings, base: str, tested: Sequence[Comparison]) -> Table:
    verdict = findings.verdict
    corrected = f"; corrected for {plural(len(verdict.comparisons), 'comparison')} ({verdict.family})" if verdict else ""
    columns = [words("configuration"), Column("difference"), Column("interval, corrected", sorts=False), *map(Column, _TESTS)]
    rows = []
    for pair in tested:
        ps = [p_cell(p) for p in (pair.p, pair.p_random, pair.p_adjusted, pair.p_holm)]
        reading = Cell(_reading(findings, pair))
        rows.append(Row([Cell(pair.a), *difference_cells(pair.simultaneous), *ps, count_cell(pair.difference.n), reading]))
    caption = f"{findings.primary} minus that of {base}, question by question{corrected}"
    return Table(caption, [*columns, Column("questions"), words("reading")], rows)


def _reading(findings: Findings, pair: Comparison) -> str:
    if np.isnan(pair.p):
        return "not tested"
    if pair.identical:
        return "the same"
    if pair.p_adjusted > ALPHA:
        return f"statistically indistinguishable{', because unseen losses could undo it' if undone(pair) else ''}"
    return "different" if _claimed(findings, pair) else "too few data for a claim"


def _outside_note(findings: Findings, tested: Sequence[Comparison]) -> list[Block]:
    """Explain why a pair can be statistically indistinguishable although one of the two is outside the tie set."""
    best = findings.verdict.best if findings.verdict and findings.conclusive else ()
    if not any(comparison.p_adjusted > ALPHA and (comparison.a in best) != (comparison.b in best) for comparison in tested):
        return []
    explanation = (
        "Some pairs are statistically indistinguishable although one of the two is outside the tie set: a configuration is outside if any "
        "other one is ahead of it; a pair tests whether exactly these two differ, in either direction and corrected for all pairs tested."
    )
    return [Prose(explanation)]


differences = Topic("differences", "Differences", "Differences", compute_differences, render_differences, views=("comparison",))
