"""The outcome of a gate: its rules with the numbers behind them."""

import math
from collections.abc import Mapping
from typing import Any

from workbench.analysis.findings import Findings
from workbench.core.formatting import interval, plural, signed
from workbench.report.cells import count_cell, p_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Fold, Lines, Prose, Row, Section, Table

TITLE = "Does it pass the gate?"
_OUTCOMES = ("fail", "undecided", "pass")
_SENTENCES = {
    "fail": "The gate fails.",
    "undecided": "The gate is undecided: nothing is shown to be worse than is tolerated, and not everything to be good enough.",
    "pass": "The gate passes.",
}
_READING = (
    "A limit is about these questions (specification) or others like them (inference). A comparison with a baseline is paired by question; its "
    "difference is negative if the run is worse, with a lower and an upper bound of 95 % confidence each, and it passes if the lower bound is above the limit. "
    "p is one-sided and corrected for the number of rules (Holm)."
)
# Retrieval tests that passed beyond these are folded.
_MOST = 5


def gate(findings: Findings) -> Section | None:
    """Show the rules of the last gate of the run, failures first. Returns None for a run without one."""
    table = findings.run.table("gate")
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    rules = sorted((row for row in rows if row["kind"] != "note"), key=lambda row: _OUTCOMES.index(row["outcome"]))
    if not rules:
        return None
    passed = [row for row in rules if row["kind"] == "retrieval test" and row["outcome"] == "pass"]
    folded = passed if len(passed) > _MOST else []
    shown = [row for row in rules if row not in folded]
    blocks: list[Block] = [Prose(_sentence(rules))]
    blocks += [_table(f"Rules for {rules[0]['configuration']}", shown, _READING)] if shown else []
    blocks += [Lines([row["reason"] for row in rows if row["kind"] == "note"])] if len(rules) < len(rows) else []
    blocks += [Fold(f"{plural(len(folded), 'retrieval test')} passed", [_table("Retrieval tests", folded, "")])] if folded else []
    return Section(TITLE, "gate", blocks, "Gate")


def _sentence(rules: list[dict[str, Any]]) -> str:
    counts = {outcome: sum(row["outcome"] == outcome for row in rules) for outcome in _OUTCOMES}
    worst = next(outcome for outcome in _OUTCOMES if counts[outcome])
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"{_SENTENCES[worst]} {plural(len(rules), 'rule')}: {parts}."


def _table(caption: str, rows: list[dict[str, Any]], note: str) -> Table:
    columns = [words("outcome"), text("rule"), Column("value"), Column("baseline"), Column("difference"), Column("limit"), Column("p")]
    return Table(caption, [*columns, Column("questions"), text("reason")], [_row(row) for row in rows], note)


def _row(row: Mapping[str, Any]) -> Row:
    cells = [Cell(row["outcome"], sort=float(_OUTCOMES.index(row["outcome"]))), Cell(row["rule"], note=row["kind"])]
    bounds = "" if math.isnan(row["low"]) else interval(row["low"], row["high"])
    compared, digits = not math.isnan(row["difference"]), 0 if row["kind"] == "retrieval test" else 3
    difference = signed(row["difference"]) if compared else "–"
    cells += [value_cell(row["value"], digits, note="" if compared else bounds), value_cell(row["reference"])]
    cells += [value_cell(row["difference"], shown=difference, note=bounds if compared else ""), value_cell(row["limit"], digits)]
    return Row([*cells, p_cell(row["p_adjusted"]), count_cell(row["n"]), Cell(row["reason"])])
