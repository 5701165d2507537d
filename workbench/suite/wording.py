"""What a failing test of a rule prints."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.core.formatting import plural
from workbench.gate.formats.terminal import gate_lines
from workbench.gate.report import RuleResult
from workbench.gate.rules import Subject
from workbench.gate.subjects import GatedConfiguration
from workbench.printable import printable_line
from workbench.statistics.gates.paired import Decision
from workbench.suite.rag_suite import RagSuite
from workbench.testing.assertions.means import worst_questions

_MOST_TESTS = 20
_COMPARED = ("baseline", "release", "plain baseline")


def failure_lines(suite: RagSuite, results: Sequence[RuleResult]) -> list[str]:
    """Return each rule that does not pass with its reason, and the questions behind it."""
    wrong = [result for result in results if result.outcome is not Decision.PASS]
    if wrong[0].kind in _COMPARED:
        # Without the headline, which counts all rules.
        return list(gate_lines(replace(suite.gate, rules=wrong)))[1:]
    lines = [f"{result.outcome}: {result.rule}: {result.reason}" for result in wrong[:_MOST_TESTS]]
    if len(wrong) > _MOST_TESTS:
        lines.append(f"and {len(wrong) - _MOST_TESTS} more")
    if len(results) > 1:
        lines.insert(0, f"{plural(len(wrong), 'question')} of {len(results)}")
    lines += _lowest(suite, wrong[0]) if wrong[0].metric else []
    return [printable_line(line) for line in lines]


def _lowest(suite: RagSuite, result: RuleResult) -> Iterator[str]:
    """Return the questions with the worst values of a rule's metric."""
    own = GatedConfiguration(suite.tables, suite.gate.configuration)
    return worst_questions(own, Subject(result.metric, result.slice, result.condition), result.limit)
