"""What an answer costs in time, tokens and money, and how much repeats of a question differ."""

import math
from collections.abc import Sequence

from workbench.analysis.answers.answer_costs import answer_costs
from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.condition_scores import answer_score
from workbench.analysis.answers.repeats import repeats_of
from workbench.analysis.findings import Findings
from workbench.core.formatting import number, plural, spread
from workbench.report.cells import count_cell, value_cell, words
from workbench.report.model import Block, Cell, Column, Row, Section, Table
from workbench.results.run_tables import RunTables
from workbench.statistics.repeats import RepeatVariance

_COSTS = (
    "Means over the answers to retrieved contexts; the last column is the price of all answers of all conditions. Times are those of the calls when they were "
    "made, so answers from the cache have the time of their first call. Money is in the currency of the prices in the experiment; without prices there is none."
)
_REPEATS = (
    "Every question was answered {repeats} times. The deviation between repeats is that of one answer around its question's mean, the deviation between "
    "questions that of the questions' means. If the first is not small beside the second, a single answer says little about its question."
)


def answer_costs_section(findings: Findings) -> Section | None:
    """Tabulate costs, and the variance between repeats if there are several. Returns None for a run without answers."""
    run = findings.run
    names = answering(run)
    if not names:
        return None
    repeats = _repeats(run, names)
    return Section("Cost and repeatability of answers", "answer-costs", [_table(run, names), *repeats], "Answer costs")


def _table(run: RunTables, names: Sequence[str]) -> Table:
    columns = [words("configuration"), Column("ms", note="median"), Column("ms", note="p95"), Column("context", note="tokens")]
    columns += [
        Column("prompt", note="tokens"),
        Column("answer", note="tokens"),
        Column("price", note="per answer"),
        Column("price", note="all answers"),
    ]
    rows = []
    for name in names:
        costs = answer_costs(run, name)
        times = [_time_cell(value) for value in (costs.p50, costs.p95)]
        tokens = [count_cell(value) for value in (costs.context, costs.input, costs.output)]
        rows.append(Row([Cell(name), *times, *tokens, value_cell(costs.cost, 6), value_cell(costs.total, 4)]))
    return Table("Costs of an answer", columns, rows, _COSTS)


def _repeats(run: RunTables, names: Sequence[str]) -> list[Block]:
    measure, times = answer_score(run), int(run.manifest.get("repeats", 1))
    found = {name: variance for name in names if measure and times > 1 and (variance := repeats_of(run, name, str(measure)))}
    if not found:
        return []
    columns = [
        words("configuration"),
        Column("between repeats", note="standard deviation"),
        Column("between questions", note="standard deviation"),
    ]
    columns += [Column("reliability", note="of one answer"), Column("changed", note="questions"), Column("questions")]
    rows = [_repeat_row(name, variance) for name, variance in found.items()]
    return [
        Table(f"{measure} of {plural(times, 'repeat')} with retrieved contexts", columns, rows, _REPEATS.format(repeats=number(times, 0)))
    ]


def _repeat_row(name: str, variance: RepeatVariance) -> Row:
    deviations = [value_cell(value) for value in (variance.repeats_deviation, variance.questions_deviation, variance.reliability)]
    return Row([Cell(name), *deviations, count_cell(variance.changed), count_cell(variance.n)])


def _time_cell(milliseconds: float) -> Cell:
    known = not math.isnan(milliseconds)
    return Cell(spread(milliseconds, milliseconds) if known else "–", sort=milliseconds)
