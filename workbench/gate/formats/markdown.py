"""The outcome of a gate as Markdown, for the summary of a job."""

import html
from collections.abc import Iterator, Sequence

from workbench.core.formatting import plural
from workbench.gate.formats.terminal import HITS, again_lines, compared, headline, remarks, shown_rules
from workbench.gate.losses.rendering import lost_markdown
from workbench.gate.lost import LostQuestion, RankedHit
from workbench.gate.report import GateReport
from workbench.printable import printable
from workbench.report.render.plain import escaped
from workbench.statistics.gates.paired import Decision

# GitHub shows at most 1 MiB.
MOST_RULES, _COMPARED, _LETTERS = 200, 10, 80
MARKS = {Decision.PASS: "✅ pass", Decision.FAIL: "❌ fail", Decision.UNDECIDED: "⚠️ undecided"}


def gate_markdown(report: GateReport) -> str:
    """Render the outcome, the rules, what differs from the baseline, and what broke with hits before and after side by side."""
    return printable("\n".join(_lines(report))) + "\n"


def _lines(report: GateReport) -> Iterator[str]:
    yield f"### {MARKS[report.outcome].split()[0]} {escaped(headline(report))}"
    yield ""
    yield from ("| outcome | rule | reason |", "|---|---|---|")
    rules, more = shown_rules(report)
    for result in rules[:MOST_RULES]:
        yield f"| {MARKS[result.outcome]} | {escaped(result.rule)} | {escaped(result.reason)} |"
    if len(rules) > MOST_RULES:
        yield f"| | and {plural(len(rules) - MOST_RULES, 'rule')} | |"
    if more:
        yield f"| {MARKS[Decision.PASS]} | {more} | |"
    for note in remarks(report):
        yield from ("", escaped(note))
    if again := list(again_lines(report)):
        yield from ("", escaped(again[0]), "", "```", *(line.strip() for line in again[1:-1]), "```", "", escaped(again[-1]))
    if report.lost:
        yield from ("", lost_markdown(report.lost).rstrip())
    for lost in compared(report, _COMPARED):
        yield from _side_by_side(lost)


def _side_by_side(lost: LostQuestion) -> Iterator[str]:
    yield from ("", f"<details><summary>{_html(lost.query_id)}: {_html(lost.question)}</summary>", "")
    yield from ("| rank | before | now |", "|--:|---|---|")
    for rank in range(min(HITS, max(len(lost.before), len(lost.after)))):
        yield f"| {rank + 1} | {_hit(lost.before[rank:])} | {_hit(lost.after[rank:])} |"
    yield from ("", "</details>")


def _html(text: str) -> str:
    """Escape a text inside a tag, where Markdown is not read."""
    return html.escape(" ".join(printable(text).split()))


def _hit(hits: Sequence[RankedHit]) -> str:
    if not hits:
        return ""
    first = hits[0]
    name = escaped(first.doc_id)
    return f"{f'**{name}**' if first.relevant else name} {first.start}–{first.end}: {escaped(first.text[:_LETTERS])}"
