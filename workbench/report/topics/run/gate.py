"""The outcome of the last gate of a run: its rules with the numbers behind them."""

import math
from collections.abc import Sequence
from typing import Any

from workbench.core.text.formatting import interval, plural, signed
from workbench.report.analysis.findings import Findings
from workbench.report.cells import count_cell, p_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Lines, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

_READING = (
    "A limit is about these questions (specification) or others like them (inference). A comparison with a baseline is paired by question; its "
    "difference is negative if the run is worse, with a lower and an upper bound of 95 % confidence each, and it passes if the lower bound is above the limit, "
    "else fails if a drop is shown (p of at most 0.05), even one that may be within the limit, else is undecided. "
    "p is one-sided and corrected for the number of rules (Holm)."
)
# Retrieval tests that passed beyond these are folded.
_MOST = 5
# The worst first.
OUTCOMES = ("fail", "undecided", "pass")
_SENTENCES = {
    "fail": "fails.",
    "undecided": "is undecided: no rule fails, but this run does not decide every rule.",
    "pass": "passes.",
}


def compute(findings: Findings) -> list[dict[str, Any]] | None:
    """Return the rows of the last gate of the run, failed rules first, notes last. None without a rule."""
    rows = [{str(name): value for name, value in row.items()} for row in findings.table("gate").to_dict("records")]
    rules = sorted((row for row in rows if row["kind"] != "note"), key=lambda row: OUTCOMES.index(row["outcome"]))
    return [*rules, *(row for row in rows if row["kind"] == "note")] if rules else None


def render(rows: list[dict[str, Any]]) -> list[Block]:
    """Show the outcome and the rules. Many retrieval tests that passed are collapsed."""
    rules, notes = [row for row in rows if row["kind"] != "note"], [row["reason"] for row in rows if row["kind"] == "note"]
    passed = [row for row in rules if row["kind"] == "retrieval test" and row["outcome"] == "pass"]
    folded = passed if len(passed) > _MOST else []
    shown = [row for row in rules if row not in folded]
    blocks: list[Block] = [Prose(gate_sentence([row["outcome"] for row in rules], rules[0]["configuration"]))]
    blocks += [_table(f"Rules for {rules[0]['configuration']}", shown, _READING)] if shown else []
    blocks += [Lines(notes)] if notes else []
    return blocks + (
        [Collapsible(f"{plural(len(folded), 'retrieval test')} passed", [_table("Retrieval tests", folded, "")])] if folded else []
    )


def _table(caption: str, rows: list[dict[str, Any]], note: str) -> Table:
    columns = [words("outcome"), text("rule"), Column("value"), Column("baseline"), Column("difference"), Column("limit"), Column("p")]
    cells = []
    for row in rows:
        bounds = "" if math.isnan(row["low"]) else interval(row["low"], row["high"])
        compared, digits = not math.isnan(row["difference"]), 0 if row["kind"] == "retrieval test" else 3
        difference = signed(row["difference"]) if compared else "–"
        named = [Cell(row["outcome"], sort=float(OUTCOMES.index(row["outcome"]))), Cell(row["rule"], note=row["kind"])]
        named += [value_cell(row["value"], digits, note="" if compared else bounds), value_cell(row["reference"])]
        named += [value_cell(row["difference"], shown=difference, note=bounds if compared else ""), value_cell(row["limit"], digits)]
        cells.append(Row([*named, p_cell(row["p_adjusted"]), count_cell(row["n"]), Cell(row["reason"])]))
    return Table(caption, [*columns, Column("questions"), text("reason")], cells, note)


def gate_sentence(outcomes: Sequence[str], configuration: str) -> str:
    """State the worst outcome of the rules for a configuration, and how many have which."""
    counts = {outcome: list(outcomes).count(outcome) for outcome in OUTCOMES}
    worst = next(outcome for outcome in OUTCOMES if counts[outcome])
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"The gate of {configuration} {_SENTENCES[worst]} {plural(len(outcomes), 'rule')}: {parts}."


def gate_opening(run: RunTables) -> list[str]:
    """The sentence of the run's last gate, or nothing for a run without one."""
    table = run.table("gate")
    rules = table[table["kind"] != "note"]
    if rules.empty:
        return []
    return [gate_sentence(rules["outcome"].tolist(), str(rules["configuration"].iloc[0]))]


gate = Topic("gate", "Does it pass the gate?", "Gate", compute, render)
