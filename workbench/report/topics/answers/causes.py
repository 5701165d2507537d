"""Causes of failed answers by configuration, the most frequent first."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.components.context.conditions import GOLD, RETRIEVED
from workbench.core.text.formatting import capitalised, count, plural, share, shortened
from workbench.measures.attribution.causes import CAUSE_NAMES, EVIDENCE_CAUSES, Cause
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.causes import (
    FailureCauses,
    answer_cause_meanings,
    attributed_conditions,
    failed_share,
    failures_of,
    unrefused_answers,
)
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.judges import OVERLAP
from workbench.report.analysis.labels import judge_of
from workbench.report.canvas import INK, LINES, MUTED, NAME_LENGTH, PAPER, POINTS, canvas, name_rows, own_style
from workbench.report.cells import UNKNOWN, count_cell, described, key_of, opened, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.judges import CORRECTNESS_BY_OVERLAP
from workbench.report.topics.topic import Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_OTHER = "other causes"
_READING = (
    "Every failed answer has one cause. If several apply, the one of the earliest layer counts, from indexing to the answer, because later layers can only "
    "work with what earlier ones deliver."
)
_DECIDED = "agreement with the expected answer: the number of failures depends on that judge, whose error is not part of the intervals."
_CAPTION = (
    "Failed answers to retrieved contexts by cause, as shares of all answers. The segments are in the order of the legend, the most frequent cause of the "
    "run first, with the number of answers inside and the share of all failed answers on the right."
)
# Causes that need no judge of correctness.
_WITHOUT_JUDGE = {"refusal", "unrefused"}
# What the generator reads, after "from".
_CONTEXTS = {RETRIEVED: "what it retrieves", GOLD: "the evidence alone"}
# The causes that have a colour; the others are drawn together. Segments have the order of the legend, so that they are known without colour too.
MOST_CAUSES = len(LINES)
_CAUSE_COLOURS = (*LINES, MUTED)
# The least width of the axis, and of a segment with its number inside, as shares of the axis.
_LEAST_WIDTH, _NUMBERED = 0.3, 0.05
_LEGEND_COLUMNS, _LEGEND_ROW = 3, 0.2


def compute(findings: Findings) -> tuple[RunTables, list[FailureCauses]] | None:
    """Count the causes of failed answers of each configuration. None for a run whose answers were not examined."""
    run = findings
    all_failures = [failures for name in answering(run) if (failures := failures_of(run, name))]
    return (run, all_failures) if all_failures else None


def render(values: tuple[RunTables, list[FailureCauses]]) -> list[Block]:
    """Show how many answers fail by each cause, of every configuration, and of the first in every condition."""
    run, all_failures = values
    first = all_failures[0]
    blocks: list[Block] = [Prose(failure_sentence(run, first))]
    if any(each.failed for each in all_failures):
        meanings, of = answer_cause_meanings(run), first.failed
        sentences = [
            f"{cause.name}, {count(answers)} of {count(of)} ({share(answers, of)}): {meanings[cause.name]}."
            for cause, answers in first.by_frequency
        ]
        blocks += [Lines(sentences)] if sentences else []
        judge = judge_of(run, "correctness") if not run.answer_judgements.empty else ""
        least = (run.manifest.get("judging") or {}).get("thresholds", {}).get("correctness")
        decided = f" An answer is wrong if {judge} gives it less than {least:g} for {_DECIDED}" if judge and least is not None else ""
        blocks += [Prose(f"{_READING}{decided}"), causes_figure(all_failures), *opened(causes_table(run, all_failures))]
    known = (failures_of(run, first.configuration, condition) for condition in attributed_conditions(run))
    conditions = [failures for failures in known if failures and failures.given]
    if len(conditions) > 1 and any(each.failed for each in conditions):
        columns = [words("cause"), *(Column(each.condition.replace("_", " "), note=f"n = {count(each.given)}") for each in conditions)]
        meanings = answer_cause_meanings(run)
        rows = [
            Row([Cell(cause), *(_cause_cell(each, cause) for each in conditions), Cell(meanings[cause])]) for cause in _order(conditions)
        ]
        table = Table("Failed answers by cause and condition", [*columns, text("meaning")], rows)
        blocks.append(Collapsible(f"Causes of {first.configuration} by condition", [table]))
    return blocks


def causes_figure(all_failures: Sequence[FailureCauses]) -> Figure:
    """Plot the shares of failed answers by cause of every configuration."""
    order = _order(all_failures)
    named = order[:MOST_CAUSES] if len(order) > MOST_CAUSES + 1 else order
    rest = [cause for cause in order if cause not in named]
    titles = [*named, *([_OTHER] if rest else [])]
    counts = [[*map(each.of, named), *([sum(map(each.of, rest))] if rest else [])] for each in all_failures]
    short = shortened([each.configuration for each in all_failures], NAME_LENGTH)
    columns = [words("configuration"), *(Column(cause) for cause in titles), Column("answers")]
    rows = [
        Row([Cell(each.configuration), *map(count_cell, own), count_cell(each.given)])
        for each, own in zip(all_failures, counts, strict=True)
    ]
    table = Table("Failed answers by cause", columns, rows)
    also = f" Other causes are {', '.join(rest)}." if rest else ""
    drawing = causes_drawing([(short[each.configuration], own, each.given) for each, own in zip(all_failures, counts, strict=True)], titles)
    return Figure("answer-causes", described(table), f"{_CAPTION}{also}", drawing, table, key_of(short))


@own_style()
def causes_drawing(bars: Sequence[tuple[str, Sequence[int], int]], names: Sequence[str]) -> "Drawing":
    """Stack the failed answers by cause in a row for each configuration (name, numbers in the order of `names`, all answers), as shares."""
    legend = -(-len(names) // _LEGEND_COLUMNS) * _LEGEND_ROW
    figure, (axes,) = canvas(0.75 + 0.26 * len(bars) + legend)
    longest = max((sum(counts) / of for _, counts, of in bars if of), default=0.0)
    width = min(1.0, max(_LEAST_WIDTH, longest))
    for y, (_, counts, of) in enumerate(bars):
        start = 0.0
        for number, many in enumerate(counts):
            part = many / of if of else 0.0
            axes.barh([y], [part], left=start, height=0.72, color=_CAUSE_COLOURS[number], edgecolor=PAPER, linewidth=0.8)
            if part > _NUMBERED * width:
                axes.text(start + part / 2, y, count(many), ha="center", va="center", color=PAPER, fontsize=POINTS)
            start += part
        failed: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": INK, "fontsize": POINTS}
        axes.annotate(share(sum(counts), of) if of else "–", (1, y), (6, 0), ("axes fraction", "data"), **failed)
    handles = [axes.barh([0], [0], color=_CAUSE_COLOURS[number], label=name) for number, name in enumerate(names)]
    axes.set_xlim(0, width)
    axes.locator_params(axis="x", nbins=5)
    name_rows(axes, [name for name, _, _ in bars], "share of the answers that fail")
    axes.set_axisbelow(True)
    # A legend fills column by column, and is read row by row.
    by_column = [handle for column in range(_LEGEND_COLUMNS) for handle in handles[column::_LEGEND_COLUMNS]]
    figure.legend(handles=by_column, loc="outside upper left", ncols=_LEGEND_COLUMNS, frameon=False, fontsize=POINTS, handlelength=1.2)
    return figure


def causes_table(run: RunTables, all_failures: Sequence[FailureCauses]) -> Table:
    """Tabulate the causes of every configuration: numbers of answers and their shares."""
    order, meanings = _order(all_failures), answer_cause_meanings(run)
    columns = [words("configuration"), Column("failed", note="95 % interval"), *(Column(cause, note="answers") for cause in order)]
    rows = []
    for failures in all_failures:
        interval, failed = failed_share(run, failures), Cell("–", sort=math.nan, note="no answers")
        if interval:
            note = f"{interval.bounds()}, {count(failures.failed)} of {count(failures.given)}"
            failed = value_cell(failures.failed / failures.given, shown=share(failures.failed, failures.given), note=note)
        rows.append(Row([Cell(failures.configuration), failed, *(_cause_cell(failures, cause) for cause in order)]))
    # The sentences above the table have the meanings of the first configuration's causes.
    explained = {each.cause.name for each in all_failures[0].causes}
    note = "; ".join(f"{cause}: {meanings[cause]}" for cause in order if cause not in explained)
    return Table("Causes of failed answers to retrieved contexts", columns, rows, f"{capitalised(note)}." if note else "")


def _order(all_failures: Sequence[FailureCauses]) -> list[str]:
    """The causes of all configurations, the most frequent first."""
    counts = {cause: sum(each.of(cause) for each in all_failures) for cause in CAUSE_NAMES}
    return sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])


def _cause_cell(failures: FailureCauses, cause: str) -> Cell:
    many = failures.of(cause)
    if not failures.given:
        return UNKNOWN
    return Cell(count(many), sort=float(many), note=share(many, failures.given) if many else "")


def because(cause: Cause) -> str:
    """Complete "the answer fails …"."""
    if cause.layer == "judging":
        return "for no reason that shows"
    return f"because {'evidence is missing: ' if cause in EVIDENCE_CAUSES else ''}{cause.because}"


def failure_sentence(run: RunTables, failures: FailureCauses) -> str:
    """State how many answers of a configuration fail, and the most frequent cause."""
    name, context = failures.configuration, _CONTEXTS.get(failures.condition, f"contexts of the condition {failures.condition}")
    verb = "is" if failures.missing == 1 else "are"
    missing = f" {plural(failures.missing, 'answer')} {verb} missing and not counted." if failures.missing else ""
    if not failures.given:
        return f"{name} has no answer from {context}, so no failure is counted.{missing}"
    if not failures.failed:
        return f"No answer of {name} from {context} is known to fail, of {plural(failures.given, 'answer')}.{missing}"
    interval = failed_share(run, failures)
    bounds = f", 95 % interval {interval.bounds()}" if interval and math.isfinite(interval.low) else ""
    fraction = _fraction(failures)
    rate = f"{capitalised(fraction)} of {name} from {context} {_fails(failures)}"
    return f"{rate} ({share(failures.failed, failures.given)}{bounds}), {mostly(failures)}{_measured(run, failures)}.{missing}"


def mostly(failures: FailureCauses) -> str:
    """Name the most frequent cause and its number."""
    first, *others = failures.by_frequency
    tied = [each for each in others if each.answers == first.answers]
    times = f"{'as often as any other cause' if tied else 'most often'} ({count(first.answers)}) " if others else "each time "
    return f"{times if failures.failed > 1 else ''}{because(first.cause)}"


def failing_answers(run: RunTables, configuration: str) -> str:
    """Say how many answers of a configuration fail and why, as a part of a sentence. Empty if none is known to fail.

    Without judges, only answers to unanswerable questions are known to fail.
    """
    failures = failures_of(run, configuration)
    if failures is None:
        unrefused, of = unrefused_answers(run, configuration)
        verb = "is" if unrefused == 1 else "are"
        return f"{count(unrefused)} of {plural(of, 'unanswerable question')} {verb} answered" if unrefused else ""
    if not failures.failed:
        return ""
    return (
        f"{_fraction(failures)} {_fails(failures)} ({share(failures.failed, failures.given)}), {mostly(failures)}{_measured(run, failures)}"
    )


def _measured(run: RunTables, failures: FailureCauses) -> str:
    """Qualify a number of failures that rests on the correctness scored by `overlap`. Empty if none does."""
    by_overlap = not run.answer_judgements.empty and judge_of(run, "correctness") == OVERLAP
    by_overlap &= any(each.cause.name not in _WITHOUT_JUDGE for each in failures.causes)
    return f"; {CORRECTNESS_BY_OVERLAP}" if by_overlap else ""


def _fraction(failures: FailureCauses) -> str:
    if failures.given == 1:
        return "the only answer"
    return f"{count(failures.failed)} of {plural(failures.given, 'answer')}"


def _fails(failures: FailureCauses) -> str:
    return "fails" if failures.failed == 1 else "fail"


answer_failures = Topic(
    "causes",
    "Why do answers fail?",
    "Causes",
    compute,
    render,
    anchor="answer-causes",
    views=("page", "judges"),
    missing="The answers of the run have no causes of failures.",
)
