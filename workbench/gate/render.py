"""The outcome of a gate as lines of a terminal, Markdown, annotations of GitHub Actions and JUnit XML."""

import html
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.errors import RunError, WorkbenchError, error_line
from workbench.core.files import write_text
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import aligned, plural, shortened
from workbench.core.text.printable import printable, printable_line
from workbench.gate.check import GateReport
from workbench.gate.rules import RuleResult
from workbench.measures.statistics.decisions import Decision
from workbench.report.analysis.causes import HitRow, QuestionLoss, lost_table
from workbench.report.cells import table_lines
from workbench.report.model import Table
from workbench.report.render.plain import escaped, markdown
from workbench.report.results.run_tables import MANIFEST, RunTables, write_table
from workbench.report.runs.index import refresh_index
from workbench.report.topics.run.gate import causes_table, lost_sentence, short_table

_WORDS = {Decision.PASS: "pass", Decision.FAIL: "FAIL", Decision.UNDECIDED: "undecided"}
_MARKS = {Decision.PASS: "✅ pass", Decision.FAIL: "❌ fail", Decision.UNDECIDED: "⚠️ undecided"}
# The longest name in a terminal that a table does not cut again.
_NAME = 24
_ORDER = (Decision.FAIL, Decision.UNDECIDED, Decision.PASS)
# Passing retrieval tests beyond these are counted, since an experiment can have one for every question.
_MOST_TESTS = 5
# Of the terminal: the questions with losses, those whose hits are shown side by side, the hits of each side, and the letters of an id and of a question.
_LOSSES, _COMPARED, _HITS, _ID, _TEXT = 10, 3, 5, 44, 150
# Of Markdown, of which GitHub shows at most 1 MiB: rules, questions with losses, those with hits, and the letters of a hit.
_MOST_RULES, _MARKDOWN_LOSSES, _MARKDOWN_COMPARED, _LETTERS = 200, 20, 10, 80
# GitHub shows ten annotations of each level for a step.
_MOST_ANNOTATIONS = 10


def gate_lines(report: GateReport) -> Iterator[str]:
    """Yield the outcome, each rule with its reason, failures first, what differs from the baseline, and what broke."""
    yield printable_line(_headline(report))
    rules, more = _shown_rules(report)
    for result in rules:
        yield printable_line(f"{_WORDS[result.outcome]:<9}  {result.rule}: {result.reason}")
    if more:
        yield f"{_WORDS[Decision.PASS]:<9}  {more}"
    yield from map(printable_line, _remarks(report))
    yield from _again_lines(report)
    if report.lost:
        yield ""
        yield from map(printable_line, lost_lines(report.lost))
        yield from (printable_line(line) for lost in _compared(report, _COMPARED) for line in _side_by_side(lost))


def gate_markdown(report: GateReport) -> str:
    """Render the outcome, the rules, what differs from the baseline, and what broke with hits before and after side by side."""
    return printable("\n".join(_markdown_lines(report))) + "\n"


def annotation_lines(report: GateReport, warn_undecided: bool = False) -> Iterator[str]:
    """Yield a workflow command for each rule that did not pass, and one for what broke."""
    levels = {Decision.FAIL: "error", Decision.UNDECIDED: "warning" if warn_undecided else "error"}
    for rule in [rule for rule in _in_order(report) if rule.outcome in levels][:_MOST_ANNOTATIONS]:
        yield annotation(levels[rule.outcome], f"{rule.outcome}: {rule.rule}", rule.reason)
    if report.lost:
        changes = "\n".join(f"{lost.query_id} {lost.question}: {_change_text(lost)}" for lost in report.lost[:_MOST_ANNOTATIONS])
        yield annotation("notice", f"What broke: {len(report.lost)} losses since the baseline", changes)


def annotation(level: str, title: str, message: str) -> str:
    """Format a workflow command of GitHub Actions. Its values must not contain line breaks, and a title no colon or comma."""
    lines = ["%0A".join(printable_line(line).replace("%", "%25") for line in text.split("\n")) for text in (title, message)]
    return f"::{level} title={lines[0].replace(':', '%3A').replace(',', '%2C')}::{lines[1]}"


def gate_junit(report: GateReport, warn_undecided: bool = False) -> str:
    """Render each rule as a test, and each remark, such as one on drafts, as a property.

    An undecided rule is a failure of the type `undecided`, or skipped if it is only a warning.
    """
    cases = []
    for rule in report.rules:
        tag = "skipped" if warn_undecided and rule.outcome is Decision.UNDECIDED else "failure"
        details = {"message": rule.reason} | ({"type": str(rule.outcome)} if tag == "failure" else {})
        cases.append((rule.rule, {} if rule.outcome is Decision.PASS else {tag: details}))
    return _junit(report.name, f"{report.name}.{report.configuration}", cases, _remarks(report))


def unchecked_junit(reason: str, name: str) -> str:
    """Render a gate that could not be checked as a test with an error."""
    return _junit(name, name, [("the gate can be checked", {"error": {"message": reason}})])


def lost_lines(lost: Sequence[QuestionLoss], most: int = _LOSSES) -> list[str]:
    """Write what the first questions lost as lines of a terminal. No line for no loss."""
    if not lost:
        return []
    table = short_table(lost, most)
    # Shorter names of questions and documents keep lines readable.
    names = [shortened((row.cells[column].text for row in table.rows), _NAME) for column in (0, 1)]
    rows = [
        replace(row, cells=[*(replace(cell, text=names[column][cell.text]) for column, cell in enumerate(row.cells[:2])), *row.cells[2:]])
        for row in table.rows
    ]
    return [f"What broke: {lost_sentence(lost)}", *table_lines(replace(table, rows=rows))]


def lost_markdown(lost: Sequence[QuestionLoss]) -> str:
    """Write what the first questions lost as Markdown: a sentence, the causes, and a table. Empty for no loss."""
    if not lost:
        return ""
    tables: tuple[Table, ...] = (causes_table(lost), short_table(lost, _MARKDOWN_LOSSES))
    parts = [f"#### What broke\n\n{lost_sentence(lost).capitalize()}"]
    return "\n\n".join([*parts, *(part for table in tables for part in markdown(replace(table, caption="")))]) + "\n"


def _remarks(report: GateReport) -> list[str]:
    """Return the notes, and the commit that was checked."""
    return [*report.notes, *([f"commit {report.commit}"] if report.commit else [])]


def _headline(report: GateReport) -> str:
    counts = [(sum(rule.outcome is outcome for rule in report.rules), outcome) for outcome in _ORDER]
    parts = [f"{count} {outcome}" for count, outcome in counts if count]
    return f"{report.name}, {report.configuration}: {_WORDS[report.outcome]} ({plural(len(report.rules), 'rule')}: {', '.join(parts)})"


def _in_order(report: GateReport) -> list[RuleResult]:
    """Return the rules, failures first. Retrieval tests that pass come last."""
    return sorted(report.rules, key=lambda rule: (_ORDER.index(rule.outcome), rule.kind == "retrieval test"))


def _shown_rules(report: GateReport) -> tuple[list[RuleResult], str]:
    """Return the rules that are shown one by one, and a phrase that counts the other retrieval tests. Empty if all are shown."""
    rules = _in_order(report)
    passed = [rule for rule in rules if rule.kind == "retrieval test" and rule.outcome is Decision.PASS]
    if len(passed) <= _MOST_TESTS:
        return rules, ""
    return [rule for rule in rules if rule not in passed], plural(len(passed), "retrieval test")


def _again_lines(report: GateReport) -> Iterator[str]:
    """Yield how to run both sides again, if there is an alarm."""
    kinds = list(dict.fromkeys(rule.kind for rule in report.rules if rule.alarm))
    if not kinds:
        return
    yield "An alarm that other values of a model may explain is decided by a second run of both sides. Outputs of their own have a store of their own:"
    yield "  workbench sweep EXPERIMENT --outputs AGAIN        (at this commit)"
    yield f"  workbench sweep EXPERIMENT --outputs BASE_AGAIN   (at the commit of the {' and of the '.join(kinds)})"
    options = " ".join(f"--{kind}-again BASE_AGAIN/{report.name}" for kind in kinds)
    yield f"then the same workbench gate with --again AGAIN/{report.name} {options}"


def _compared(report: GateReport, most: int) -> list[QuestionLoss]:
    """Return the first losses of different questions that have hits to compare."""
    first: dict[str, QuestionLoss] = {}
    for lost in report.lost:
        if lost.before or lost.after:
            first.setdefault(lost.query_id, lost)
    return list(first.values())[:most]


def _side_by_side(lost: QuestionLoss) -> Iterator[str]:
    text = lost.question if len(lost.question) <= _TEXT else f"{lost.question[:_TEXT]} …"
    yield ""
    yield f"{lost.query_id}  {text}"
    sides = []
    for hits in (lost.before[:_HITS], lost.after[:_HITS]):
        names = shortened((hit["doc_id"] for hit in hits), _ID)
        sides.append([f"{names[hit['doc_id']]}{'*' if hit['relevant'] else ''}" for hit in hits])
    rows = [[str(rank + 1), *(side[rank] if rank < len(side) else "" for side in sides)] for rank in range(max(map(len, sides)))]
    yield from (f"  {line}" for line in aligned([["rank", "before", "now (* relevant)"], *rows]))


def _markdown_lines(report: GateReport) -> Iterator[str]:
    yield f"### {_MARKS[report.outcome].split()[0]} {escaped(_headline(report))}"
    yield ""
    yield from ("| outcome | rule | reason |", "|---|---|---|")
    rules, more = _shown_rules(report)
    for result in rules[:_MOST_RULES]:
        yield f"| {_MARKS[result.outcome]} | {escaped(result.rule)} | {escaped(result.reason)} |"
    if len(rules) > _MOST_RULES:
        yield f"| | and {plural(len(rules) - _MOST_RULES, 'rule')} | |"
    if more:
        yield f"| {_MARKS[Decision.PASS]} | {more} | |"
    for note in _remarks(report):
        yield from ("", escaped(note))
    if again := list(_again_lines(report)):
        yield from ("", escaped(again[0]), "", "```", *(line.strip() for line in again[1:-1]), "```", "", escaped(again[-1]))
    if report.lost:
        yield from ("", lost_markdown(report.lost).rstrip())
    for lost in _compared(report, _MARKDOWN_COMPARED):
        yield from _markdown_side_by_side(lost)


def _markdown_side_by_side(lost: QuestionLoss) -> Iterator[str]:
    # Markdown is not read inside a tag.
    title = ": ".join(html.escape(" ".join(printable(text).split())) for text in (lost.query_id, lost.question))
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from ("| rank | before | now |", "|--:|---|---|")
    for rank in range(min(_HITS, max(len(lost.before), len(lost.after)))):
        yield f"| {rank + 1} | {_markdown_hit(lost.before[rank:])} | {_markdown_hit(lost.after[rank:])} |"
    yield from ("", "</details>")


def _markdown_hit(hits: Sequence[HitRow]) -> str:
    if not hits:
        return ""
    first = hits[0]
    name = escaped(first["doc_id"])
    return f"{f'**{name}**' if first['relevant'] else name} {first['start']}–{first['end']}: {escaped(first['text'][:_LETTERS])}"


def _change_text(lost: QuestionLoss) -> str:
    """Say what a question lost, and from where to where it fell."""
    if lost.subject == "answer":
        return f"{lost.missing} {lost.value_before:.3f} → {lost.value_after:.3f}"
    ranks = [f"rank {rank}" if rank else "no rank" for rank in (lost.rank_before, lost.rank_after)]
    return f"{lost.missing} {' → '.join(ranks)}{f' ({lost.cause})' if lost.cause else ''}"


def _junit(name: str, classname: str, cases: Sequence[tuple[str, Mapping[str, Mapping[str, str]]]], notes: Sequence[str] = ()) -> str:
    """Write tests as JUnit XML, each with its outcome by the name of its element. A test that passed has none."""
    numbers = {"tests": len(cases)} | {
        counter: sum(tag in outcome for _, outcome in cases)
        for counter, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error"))
    }
    counts = {counter: str(number) for counter, number in numbers.items()}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"workbench gate {printable(name)}"} | counts)
    if notes:
        properties = ElementTree.SubElement(suite, "properties")
        for note in notes:
            ElementTree.SubElement(properties, "property", {"name": "note", "value": printable(note)})
    for test, outcome in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": printable(classname), "name": printable(test)})
        for tag, details in outcome.items():
            ElementTree.SubElement(case, tag, {key: printable(value) for key, value in details.items()})
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


_FILE, _PAGE, _TABLES = "gate.json", "report.html", ("gate", "lost")


def append_summary(text: str, path: Path) -> None:
    """Append Markdown to the summary of a job."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_junit(text: str, path: Path) -> None:
    """Write JUnit XML atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_gate(report: GateReport, folder: Path, reported: bool = False) -> None:
    """Write the tables `gate` and `lost`, and gate.json, each atomically.

    report.html is drawn again, which takes most of the time, if it is `reported` or shows another outcome.
    """
    tables = [(SCHEMAS["gate"], gate_table(report)), (SCHEMAS["lost"], lost_table(report.configuration, report.lost))]
    paths = [folder / f"{schema.name}.parquet" for schema, _ in tables]
    before = [path.read_bytes() if path.is_file() else b"" for path in paths]
    for schema, table in tables:
        write_table(folder, schema, table)
    changed = before != [path.read_bytes() for path in paths]
    _write(gate_json(report), folder, reported=reported or (changed and _shows_gate(folder)))


def _shows_gate(folder: Path) -> bool:
    """Return True if the report of a run shows the outcome of a gate."""
    page = folder / _PAGE
    return page.is_file() and b'<section id="gate"' in page.read_bytes()


def gate_table(report: GateReport) -> pd.DataFrame:
    """Return a row for each rule, then one for each remark."""
    schema = SCHEMAS["gate"]
    rows = [asdict(rule) | {"outcome": str(rule.outcome)} for rule in report.rules]
    blank: dict[str, Any] = {name: "" if dtype == "str" else 0 if dtype == "int64" else None for name, dtype in schema.dtypes.items()}
    rows += [blank | {"kind": "note", "reason": note} for note in report.notes]
    table = pd.DataFrame(rows, columns=[name for name in schema.names if name != "configuration"])
    return schema.conform(table.assign(configuration=report.configuration))


def gate_json(report: GateReport) -> dict[str, Any]:
    """Return the outcome as JSON values, with null for numbers that do not apply."""
    head = {
        "run": report.name,
        "configuration": report.configuration,
        "outcome": str(report.outcome),
        "exit_code": report.exit_code,
        "commit": report.commit,
    }
    rules = json.loads(pd.DataFrame([asdict(rule) | {"outcome": str(rule.outcome)} for rule in report.rules]).to_json(orient="records"))
    lost = json.loads(pd.DataFrame([asdict(loss) for loss in report.lost]).to_json(orient="records")) if report.lost else []
    return head | {"alarms": list(report.alarms), "notes": list(report.notes), "rules": rules, "lost": lost}


def write_unchecked(error: Exception, folder: Path, summary: Path | None, junit: Path | None) -> None:
    """Write an error to the summary and as JUnit XML, and in place of the last outcome into the folder of the run."""
    reason, exit_code = error_line(error), error.exit_code if isinstance(error, WorkbenchError) else RunError.exit_code
    if summary is not None:
        append_summary(f"### ❌ The gate could not be checked\n\n{escaped(printable(reason))}\n", summary)
    if junit is not None:
        write_junit(unchecked_junit(reason, folder.name), junit)
    if (folder / MANIFEST).is_file():
        earlier = [folder / f"{SCHEMAS[name].name}.parquet" for name in _TABLES]
        for path in earlier:
            path.unlink(missing_ok=True)
        content = {"run": folder.name, "outcome": "error", "exit_code": exit_code, "reason": reason, "rules": [], "lost": []}
        _write(content, folder, reported=_shows_gate(folder))


def _write(content: dict[str, Any], folder: Path, *, reported: bool) -> None:
    """Write gate.json, and the report again if it is there and `reported`."""
    write_text(folder / _FILE, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    if reported and (folder / _PAGE).is_file():
        from workbench.report.render.html import write_report  # draws figures

        write_report(RunTables.read(folder), folder / _PAGE)
    refresh_index(folder)
