"""Refusals of questions with and without evidence in the context."""

from collections.abc import Sequence

from workbench.components.context.conditions import GOLD, GOLD_DISTRACTORS, IRRELEVANT_ONLY, MISSING_GOLD, RETRIEVED
from workbench.core.text.formatting import count, listed, number, plural
from workbench.report.analysis.answer_values import answering, condition_mean
from workbench.report.analysis.decision import shown_first
from workbench.report.analysis.findings import Findings
from workbench.report.cells import UNKNOWN, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

_RIGHT, _WRONG = "higher is better", "lower is better"
# Metric, condition, title and direction of each column.
_COLUMNS = (
    ("refusal_rate", RETRIEVED, "unanswerable", _RIGHT),
    ("refusal_rate", MISSING_GOLD, "evidence removed", _RIGHT),
    ("refusal_rate", IRRELEVANT_ONLY, "irrelevant context", _RIGHT),
    ("refusal_rate_without_gold", RETRIEVED, "nothing retrieved", _RIGHT),
    ("over_refusal_rate", GOLD, "the evidence alone", _WRONG),
    ("over_refusal_rate", GOLD_DISTRACTORS, "with distractors", _WRONG),
    ("over_refusal_rate", RETRIEVED, "all evidence retrieved", _WRONG),
)
_READING = (
    "A refusal is right if the context does not contain the evidence, or the documents have no answer, and wrong if the context contains all evidence of the "
    "question. Each rate counts only questions of its kind, so that a configuration that retrieves more is not rewarded for it here."
)


def compute(findings: Findings) -> tuple[RunTables, tuple[str, ...]] | None:
    """Return the configurations that answer, the one shown first. None for a run without answers or metrics of refusals."""
    run, names = findings, shown_first(findings, answering(findings))
    return (run, names) if _shown(run, names) else None


def render(values: tuple[RunTables, tuple[str, ...]]) -> list[Block]:
    """State the refusals of the first configuration, and tabulate those of all."""
    run, names = values
    columns = _shown(run, names)
    titles = [words("configuration"), *(Column(title, note=note) for _, _, title, note in columns)]
    rows = []
    for name in names:
        means = [condition_mean(run, name, metric, condition) for metric, condition, _, _ in columns]
        cells = [value_cell(mean.value, note=f"{mean.bounds()}, n = {count(mean.n)}") if mean and mean.n else UNKNOWN for mean in means]
        rows.append(Row([Cell(name), *cells]))
    table = Table("Shares of refused questions", titles, rows, _READING)
    return [Prose(_finding(run, names[0], columns)), Collapsible("Refusals of every configuration", [table])]


def _finding(run: RunTables, name: str, columns: Sequence[tuple[str, str, str, str]]) -> str:
    """State the right and the wrong refusals of a configuration from what it retrieves, or else from the first contexts."""
    texts = []
    for right, verb in ((True, "rightly refuses"), (False, "wrongly refuses")):
        known = [each for each in columns if (each[3] == _RIGHT) == right]
        chosen = next((each for each in known if each[1] == RETRIEVED), next(iter(known), None))
        mean = condition_mean(run, name, *chosen[:2]) if chosen else None
        texts += (
            [f"{verb} {number(mean.value)} {mean.bounds()} of {plural(mean.n, 'question')} ({chosen[2]})"]
            if chosen and mean and mean.n
            else []
        )
    return f"{name} {listed(texts)}." if texts else f"{name} has no question whose refusal would be right or wrong."


def _shown(run: RunTables, names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """The columns in which a configuration has a value."""
    return [each for each in _COLUMNS if any((mean := condition_mean(run, name, *each[:2])) and mean.n for name in names)]


refusals = Topic(
    "refusals",
    "Refusals",
    "Refusals",
    compute,
    render,
    chapter="answers",
    views=("page", "answers"),
    missing="The run has no metric of refusals.",
)
