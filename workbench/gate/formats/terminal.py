"""The outcome of a gate as lines for a terminal."""

from collections.abc import Iterator, Sequence

from workbench.core.formatting import aligned, plural, shortened
from workbench.gate.losses.rendering import lost_lines
from workbench.gate.lost import LostQuestion, RankedHit
from workbench.gate.report import GateReport, RuleResult
from workbench.printable import printable_line
from workbench.statistics.gates.paired import Decision

_MARKS = {Decision.PASS: "pass", Decision.FAIL: "FAIL", Decision.UNDECIDED: "undecided"}
_ORDER = (Decision.FAIL, Decision.UNDECIDED, Decision.PASS)
# Passing retrieval tests beyond these are counted, since an experiment can have one for every question.
MOST_TESTS = 5
# Questions whose hits are shown side by side, the hits of each side, and the letters of an id and of a question.
_COMPARED, HITS, _ID, _TEXT = 3, 5, 44, 150


def gate_lines(report: GateReport) -> Iterator[str]:
    """Yield the outcome, each rule with its reason, failures first, what differs from the baseline, and what broke."""
    yield printable_line(headline(report))
    rules, more = shown_rules(report)
    for result in rules:
        yield printable_line(f"{_MARKS[result.outcome]:<9}  {result.rule}: {result.reason}")
    if more:
        yield f"{_MARKS[Decision.PASS]:<9}  {more}"
    yield from map(printable_line, remarks(report))
    yield from again_lines(report)
    if report.lost:
        yield ""
        yield from map(printable_line, lost_lines(report.lost))
        yield from (printable_line(line) for lost in compared(report, _COMPARED) for line in _side_by_side(lost))


def remarks(report: GateReport) -> list[str]:
    """Return the notes, and the commit that was checked."""
    return [*report.notes, *([f"commit {report.commit}"] if report.commit else [])]


def headline(report: GateReport) -> str:
    """Return the outcome in one line."""
    counts = [(sum(rule.outcome is outcome for rule in report.rules), outcome) for outcome in _ORDER]
    parts = [f"{count} {outcome}" for count, outcome in counts if count]
    return f"{report.name}, {report.configuration}: {_MARKS[report.outcome]} ({plural(len(report.rules), 'rule')}: {', '.join(parts)})"


def in_order(report: GateReport) -> list[RuleResult]:
    """Return the rules, failures first. Retrieval tests that pass come last."""
    return sorted(report.rules, key=lambda rule: (_ORDER.index(rule.outcome), rule.kind == "retrieval test"))


def shown_rules(report: GateReport) -> tuple[list[RuleResult], str]:
    """Return the rules that are shown one by one, and a phrase that counts the other retrieval tests. Empty if all are shown."""
    rules = in_order(report)
    passed = [rule for rule in rules if rule.kind == "retrieval test" and rule.outcome is Decision.PASS]
    if len(passed) <= MOST_TESTS:
        return rules, ""
    return [rule for rule in rules if rule not in passed], plural(len(passed), "retrieval test")


def again_lines(report: GateReport) -> Iterator[str]:
    """Yield how to run both sides again, if there is an alarm."""
    if not report.alarms:
        return
    yield "An alarm that other values of a model may explain is decided by a second run of both sides. Outputs of their own have a store of their own:"
    yield "  workbench sweep EXPERIMENT --outputs AGAIN        (at this commit)"
    yield f"  workbench sweep EXPERIMENT --outputs BASE_AGAIN   (at the commit of the {' and of the '.join(_alarmed(report))})"
    options = " ".join(f"--{kind}-again BASE_AGAIN/{report.name}" for kind in _alarmed(report))
    yield f"then the same workbench gate with --again AGAIN/{report.name} {options}"


def _alarmed(report: GateReport) -> list[str]:
    return list(dict.fromkeys(rule.kind for rule in report.rules if rule.alarm))


def compared(report: GateReport, most: int) -> list[LostQuestion]:
    """Return the first losses of different questions that have hits to compare."""
    first: dict[str, LostQuestion] = {}
    for lost in report.lost:
        if lost.before or lost.after:
            first.setdefault(lost.query_id, lost)
    return list(first.values())[:most]


def _side_by_side(lost: LostQuestion) -> Iterator[str]:
    text = lost.question if len(lost.question) <= _TEXT else f"{lost.question[:_TEXT]} …"
    yield ""
    yield f"{lost.query_id}  {text}"
    sides = [_column(hits) for hits in (lost.before, lost.after)]
    rows = [[str(rank + 1), *(side[rank] if rank < len(side) else "" for side in sides)] for rank in range(max(map(len, sides)))]
    yield from (f"  {line}" for line in aligned([["rank", "before", "now (* relevant)"], *rows]))


def _column(hits: Sequence[RankedHit]) -> list[str]:
    names = shortened((hit.doc_id for hit in hits[:HITS]), _ID)
    return [f"{names[hit.doc_id]}{'*' if hit.relevant else ''}" for hit in hits[:HITS]]
