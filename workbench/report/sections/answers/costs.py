"""What an answer costs in time, tokens and money, and how much repeats of a question differ."""

import math
from collections.abc import Sequence

from workbench.analysis.answers.answer_costs import answer_costs
from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.condition_scores import answer_score
from workbench.analysis.answers.repeats import repeats_of
from workbench.analysis.findings import Findings
from workbench.core.formatting import plural, spread
from workbench.report.cells import count_cell, value_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Section, Table
from workbench.report.sections.answers.long_tables import opened
from workbench.report.text.answers import cost_sentence
from workbench.results.run_tables import RunTables
from workbench.statistics.answers.repeats import RepeatVariance

_MEANS = "Means over the answers to retrieved contexts. Values that no configuration has are left out."
_TIMED = " Times are those of the calls when they were made, so answers from the cache have the time of their first call."
_PRICED = " Money is in the currency of the prices in the experiment; the price of all answers is over all conditions."
_FAILED = (
    " Failed tries of calls, for answers and judgements, were sent and have no usable reply, such as after a timeout. The provider may bill them, "
    "beyond the price of the answers."
)
_UNPRICED = " Without prices in the experiment no money is stated."
# The title and the note of each value of `AnswerCosts`, and the digits of prices.
_COLUMNS = {
    "p50": ("ms", "median"),
    "p95": ("ms", "p95"),
    "context": ("context", "tokens"),
    "input": ("prompt", "tokens"),
    "output": ("answer", "tokens"),
    "cost": ("price", "per answer"),
    "total": ("price", "all answers"),
    "failed_tries": ("failed tries", "of calls"),
    "failed": ("price", "failed tries, at most"),
}
_TIMES, _PRICES = ("p50", "p95"), {"cost": 6, "total": 4, "failed": 4}
_REPEATS = (
    "Every question was answered {repeats}. The deviation between repeats is that of one answer around its question's mean, the deviation between "
    "questions that of the questions' means. If the first is not small beside the second, a single answer says little about its question."
)


def answer_costs_section(findings: Findings) -> Section | None:
    """Tabulate costs, and the variance between repeats if there are several. Returns None for a run without answers."""
    run = findings.run
    names = answering(run)
    if not names:
        return None
    sentence = cost_sentence(run, names[0])
    blocks: list[Block] = [*([Prose(sentence)] if sentence else []), *opened(_table(run, names)), *_repeats(run, names)]
    return Section("Cost and repeatability of answers", "answer-costs", blocks, "Answer costs")


def _table(run: RunTables, names: Sequence[str]) -> Table:
    costs = {name: answer_costs(run, name) for name in names}
    known = [column for column in _COLUMNS if any(not math.isnan(getattr(each, column)) for each in costs.values())]
    rows = [
        Row([Cell(name), *(_cell(column, getattr(each, column)) for column in known), count_cell(each.answers)])
        for name, each in costs.items()
    ]
    columns = [
        words("configuration"),
        *(Column(_COLUMNS[column][0], note=_COLUMNS[column][1]) for column in known),
        Column("answers", note="all conditions"),
    ]
    priced = _PRICED if "cost" in known else _UNPRICED if any(each.model for each in costs.values()) else ""
    failed = _FAILED if "failed_tries" in known else ""
    return Table("Costs of an answer", columns, rows, f"{_MEANS}{_TIMED if 'p50' in known else ''}{priced}{failed}")


def _cell(column: str, value: float) -> Cell:
    if column in _TIMES:
        return Cell(spread(value, value) if not math.isnan(value) else "–", sort=value)
    return value_cell(value, _PRICES[column]) if column in _PRICES else count_cell(value)


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
    caption = f"{measure} of {plural(times, 'repeat')} with retrieved contexts"
    return opened(Table(caption, columns, rows, _REPEATS.format(repeats=plural(times, "time"))))


def _repeat_row(name: str, variance: RepeatVariance) -> Row:
    deviations = [value_cell(value) for value in (variance.repeats_deviation, variance.questions_deviation, variance.reliability)]
    return Row([Cell(name), *deviations, count_cell(variance.changed), count_cell(variance.n)])
