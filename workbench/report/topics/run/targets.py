"""Questions and hits that the targets of a run served, and what could not be measured."""

import json
from collections.abc import Mapping
from typing import Any

from workbench.core.text.formatting import count, plural, share
from workbench.report.analysis.findings import Findings
from workbench.report.cells import count_cell, text, words
from workbench.report.model import Block, Cell, Collapsible, Column, Lines, Row, Table
from workbench.report.results.run_tables import RETRIEVED
from workbench.report.topics.topic import Topic

_READING = (
    "A target is a system that Workbench asks, and whose index it does not see. A question for which it found nothing scores 0, and one that failed has no score. Hits are "
    "matched with the documents of the dataset; one whose document is not known takes its rank and is not relevant, and one whose characters are not known leaves its question without metrics of chunks and spans. Times are those of the "
    "replies; they include the network and other requests at the same time, if there are any."
)


def compute(findings: Findings) -> tuple[list[dict[Any, Any]], bool] | None:
    """Return a row for each target, and whether the run has other conditions than `retrieved`. None for a run without targets."""
    rows = findings.table("targets").to_dict("records")
    return (rows, findings.manifest["conditions"] != [RETRIEVED]) if rows else None


def render(values: tuple[list[dict[Any, Any]], bool]) -> list[Block]:
    """Show what each target served, what was not measured, and examples of hits that were not matched."""
    rows, conditions = values
    notes = [note for row in rows for note in _unmeasured(row, conditions)]
    blocks: list[Block] = [_table(rows), *([Lines(notes)] if notes else [])]
    blocks += [_examples(row, "could not be matched", "examples") for row in rows if row["unmatched"]]
    return blocks + [_examples(row, "matched a document but not a place in it", "unplaced_examples") for row in rows if row["unplaced"]]


def _table(rows: list[dict[Any, Any]]) -> Table:
    columns = [words("target"), words("kind"), words("serves"), Column("questions"), Column("failed"), text("first failure")]
    columns += [
        Column("nothing found"),
        Column("hits"),
        Column("not matched"),
        Column("without a place"),
        Column("only an id"),
        Column("answers with sources"),
    ]
    cells = []
    for row in rows:
        served = " and ".join(name for name, able in (("search", row["searches"]), ("answers", row["answers"])) if able)
        counts = ("empty", "hits", "unmatched", "unplaced", "without_text")
        names = [Cell(row["configuration"]), Cell(row["target"]), Cell(served), count_cell(row["asked"]), count_cell(row["failed"])]
        sourced = count_cell(row["sourced"] if row["answers"] else None)
        cells.append(Row([*names, Cell(row["error"] or "–"), *(count_cell(row[name]) for name in counts), sourced]))
    return Table("What each target served", columns, cells, _READING)


def _unmeasured(row: Mapping[Any, Any], conditions: bool) -> list[str]:
    """Say what is not measured of a target, and why. `conditions` says whether the run has others than `retrieved`."""
    name, notes = row["configuration"], []
    if row["hits"] and row["without_text"] == row["hits"]:
        notes.append(f"{name} returns neither text nor positions: metrics of chunks and spans do not apply to it.")
    if row["unmatched"]:
        part = share(row["unmatched"], row["hits"])
        notes.append(f"{name} returned {plural(row['unmatched'], 'hit')} of {count(row['hits'])} ({part}) that could not be matched.")
    if row["unread"]:
        notes.append(f"Answers of {name} have parts that are no text and are not read: {row['unread']}.")
    if not row["answers"]:
        notes.append(f"{name} only searches: metrics of answers do not apply to it.")
    elif conditions and not row["takes_context"]:
        notes.append(f"{name} cannot be given a context: its answers are measured under the condition retrieved only.")
    if row["answers"] and not row["sourced"] and not row["searches"]:
        notes.append(f"{name} names no sources: neither its retrieval nor the support of its answers is known.")
    return notes


def _examples(row: Mapping[Any, Any], what: str, column: str) -> Collapsible:
    return Collapsible(f"Hits of {row['configuration']} that {what}", [Lines(json.loads(row[column]))])


targets = Topic("targets", "What did the targets serve?", "Targets", compute, render)
