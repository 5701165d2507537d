"""Causes of failed answers by configuration, the most frequent first."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.components.context.conditions import GOLD, RETRIEVED
from workbench.core.text.formatting import capitalised, count, plural, share, shortened
from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSE_WORDS, EVIDENCE_CAUSES, Cause
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.causes import FailureCauses, answer_cause_meanings, attributed_conditions, failed_share, failures_of
from workbench.report.analysis.decision import shown_first
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.judges import OVERLAP
from workbench.report.analysis.labels import judge_of
from workbench.report.canvas import INK, LINES, MUTED, NAME_LENGTH, PAPER, POINTS, canvas, name_rows, own_style
from workbench.report.cells import UNKNOWN, Scale, opened, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.judges import CORRECTNESS_BY_OVERLAP
from workbench.report.topics.topic import Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_READING = (
    "Every failed answer has one cause. If several apply, the one of the earliest layer counts, from indexing to the answer, because later layers can only "
    "work with what earlier ones deliver."
)
# Causes that need no judge of correctness.
_WITHOUT_JUDGE = {"refusal", "unrefused"}
# What the generator reads, after "from".
_CONTEXTS = {RETRIEVED: "what it retrieves", GOLD: "the evidence alone"}
# The causes that a figure draws apart; the others are drawn together. Segments have the order of the legend, so that they are known without colour too.
MOST_CAUSES = len(LINES)
_CAUSE_COLOURS = (*LINES, MUTED)
# The least width of the axis, and of a segment with its number inside, as shares of the axis.
_LEAST_WIDTH, _NUMBERED = 0.3, 0.05
_LEGEND_COLUMNS, _LEGEND_ROW = 3, 0.2


def compute(findings: Findings) -> tuple[RunTables, list[FailureCauses]] | None:
    """Count the causes of failed answers of each configuration. None for a run whose answers were not examined."""
    run = findings
    all_failures = [failures for name in shown_first(findings, answering(run)) if (failures := failures_of(run, name))]
    return (run, all_failures) if all_failures else None


def render(values: tuple[RunTables, list[FailureCauses]]) -> list[Block]:
    """Show how many answers fail by each cause, of every configuration, and of the first in every condition."""
    run, all_failures = values
    first = all_failures[0]
    blocks: list[Block] = [Prose(failure_sentence(run, first))]
    if any(each.failed for each in all_failures):
        blocks += opened(causes_table(run, all_failures))
    known = (failures_of(run, first.configuration, condition) for condition in attributed_conditions(run))
    conditions = [failures for failures in known if failures and failures.given]
    if len(conditions) > 1 and any(each.failed for each in conditions):
        columns = [words("cause"), *(Column(each.condition.replace("_", " "), note=f"n = {count(each.given)}") for each in conditions)]
        meanings = answer_cause_meanings(run)
        rows = [
            Row([Cell(CAUSE_WORDS[cause]), *(_cause_cell(each, cause) for each in conditions), Cell(meanings[cause])])
            for cause in _order(conditions)
        ]
        table = Table("Failed answers by cause and condition", [*columns, text("meaning")], rows)
        blocks.append(Collapsible(f"Causes of {first.configuration} by condition, and what they mean", [table]))
    return blocks


def causes_plot(findings: Findings) -> "Drawing | None":
    """Plot the shares of failed answers by cause of every configuration. Returns None if no answer was examined."""
    values = compute(findings)
    if values is None:
        return None
    order, all_failures = _order(values[1]), values[1]
    named = order[:MOST_CAUSES] if len(order) > MOST_CAUSES + 1 else order
    rest = [cause for cause in order if cause not in named]
    titles = [*(CAUSE_WORDS[cause] for cause in named), *(["other causes"] if rest else [])]
    counts = [[*map(each.of, named), *([sum(map(each.of, rest))] if rest else [])] for each in all_failures]
    short = shortened([each.configuration for each in all_failures], NAME_LENGTH)
    return causes_drawing([(short[each.configuration], own, each.given) for each, own in zip(all_failures, counts, strict=True)], titles)


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
    """Tabulate the causes of every configuration: numbers of answers, stronger colours for more."""
    order = _order(all_failures)
    columns = [words("configuration"), Column("failed", note="95 % interval"), *(Column(CAUSE_WORDS[cause], "shade") for cause in order)]
    scale, rows = Scale.over([0.0, *(each.of(cause) for each in all_failures for cause in order)]), []
    for failures in all_failures:
        interval, failed = failed_share(run, failures), Cell("–", sort=math.nan, note="no answers")
        if interval:
            note = f"{interval.bounds()}, {count(failures.failed)} of {count(failures.given)}"
            failed = value_cell(failures.failed / failures.given, shown=share(failures.failed, failures.given), note=note)
        counts = [math.nan if not failures.given else failures.of(cause) for cause in order]
        rows.append(Row([Cell(failures.configuration), failed, *scale.shades(counts, 0)]))
    judge = judge_of(run, "correctness") if not run.answer_judgements.empty else ""
    least = (run.manifest.get("judging") or {}).get("thresholds", {}).get("correctness")
    decided = (
        f" An answer is wrong if {judge} gives it less than {least:g}; the error of that judge is not part of the intervals."
        if judge and least is not None
        else ""
    )
    return Table("Answers to retrieved contexts that fail, by cause", columns, rows, f"{_READING}{decided}")


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
    chapter="answers",
    views=("page", "judges"),
    missing="The answers of the run have no causes of failures.",
)
