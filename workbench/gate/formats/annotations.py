"""The outcome of a gate as annotations of GitHub Actions."""

from collections.abc import Iterator

from workbench.gate.formats.terminal import in_order
from workbench.gate.lost import LostQuestion
from workbench.gate.report import GateReport
from workbench.printable import printable_line
from workbench.statistics.gates.paired import Decision

# GitHub shows ten of each level for a step.
_MOST = 10


def annotation_lines(report: GateReport, warn_undecided: bool = False) -> Iterator[str]:
    """Yield a workflow command for each rule that did not pass, and one for what broke."""
    levels = {Decision.FAIL: "error", Decision.UNDECIDED: "warning" if warn_undecided else "error"}
    for rule in [rule for rule in in_order(report) if rule.outcome in levels][:_MOST]:
        yield annotation(levels[rule.outcome], f"{rule.outcome}: {rule.rule}", rule.reason)
    if report.lost:
        changes = "\n".join(f"{lost.query_id} {lost.question}: {change_text(lost)}" for lost in report.lost[:_MOST])
        yield annotation("notice", f"What broke: {len(report.lost)} losses since the baseline", changes)


def change_text(lost: LostQuestion) -> str:
    """Return what a question lost, and from where to where it fell."""
    if lost.subject == "answer":
        return f"{lost.missing} {lost.value_before:.3f} → {lost.value_after:.3f}"
    ranks = [f"rank {rank}" if rank else "no rank" for rank in (lost.rank_before, lost.rank_after)]
    return f"{lost.missing} {' → '.join(ranks)}{f' ({lost.cause})' if lost.cause else ''}"


def annotation(level: str, title: str, message: str) -> str:
    """Format a workflow command of GitHub Actions. Its values must not contain line breaks, and a title no colon or comma."""
    return f"::{level} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    lines = [printable_line(line) for line in text.split("\n")]
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
