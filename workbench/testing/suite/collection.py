"""Collect a test for each rule of an experiment's gate. Collection reads the experiment; the sweep runs with the first test."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.api.evaluation import check_freshness
from workbench.core.errors import WorkbenchError
from workbench.core.records import Dataset
from workbench.core.text.formatting import aligned, plural
from workbench.core.text.printable import printable_line
from workbench.gate.gated import GatedConfiguration
from workbench.gate.render import gate_lines
from workbench.gate.rules import BaselineComparison, Floor, RetrievalTest, Rule, RuleResult, Subject, outcome_of
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.decisions import Decision
from workbench.systems.freshness import CASES, FreshnessData, FreshnessReport, contained, contains, read_freshness
from workbench.testing.assertions import worst_questions
from workbench.testing.suite.fixtures import plain_errors
from workbench.testing.suite.rag_suite import RagSuite, ingesting_target, suite_of

# The tests of a RAG suite, each with what it shows of a system and the line of the key `gate` that adds one.
TESTS: Mapping[str, tuple[str, str]] = {
    "faithfulness": ("answers say what the passages say", 'rules: ["faithfulness >= 0.85"]'),
    "context precision": ("the context contains little else", 'rules: ["context_precision_judged@5 >= 0.7"]'),
    "negative": ("what is not in the documents is refused, and what is irrelevant is not found", 'rules: ["refusal_rate >= 0.9"]'),
    "retrieval unit": ("a question finds its document", "retrieval_tests: [{k: 5}]"),
    "stale data": ("old values are gone after an update", "stale: FOLDER"),
}
_OTHER = "other rules"
# The properties of a test's report, which processes of pytest-xdist send to the one that prints.
TEST, OUTCOME = "rag_test", "rag_outcome"
_COUNTS = ("passed", "failed", "undecided", "error")


def suite_test(rule: Rule) -> str:
    """Return the test that a rule is. A retrieval unit test for an absent document is negative."""
    if isinstance(rule, RetrievalTest):
        return "negative" if rule.absent else "retrieval unit"
    subject = rule.subject if isinstance(rule, Floor | BaselineComparison) else None
    return (Metric.parse(subject.metric).definition.suite_test if subject else "") or _OTHER


class UndecidedWarning(pytest.PytestWarning):
    """A rule that the questions are too few to decide."""


class ExperimentFile(pytest.File):
    """The experiment of `--rag-experiment`."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each rule. Raises ExperimentError with every fault of the file."""
        settings = suite_of(self.config).settings
        # One of several equal rules is enough.
        tests = {rule.id: suite_test(rule) for rule in settings.rules}
        if settings.stale:
            tests[stale_rule(settings.stale)] = "stale data"
        for name, test in tests.items():
            yield RuleItem.from_parent(self, name=name, test=test)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Report an error of Workbench by its lines."""
        if isinstance(excinfo.value, WorkbenchError):
            return "\n".join(excinfo.value.lines)
        return super().repr_failure(excinfo)


class RuleItem(pytest.Item):
    """The test of a rule, whose name is its id. It is an error if the rule cannot be checked, and fails if the rule fails or is undecided."""

    def __init__(self, *, test: str, **names: Any) -> None:
        super().__init__(**names)
        self.add_marker("rag")
        self.user_properties += [(TEST, test), (OUTCOME, "error")]
        self._test = test
        self._results: Sequence[RuleResult] = ()

    def setup(self) -> None:
        """Check the rule. The first test sweeps."""
        suite = suite_of(self.config)
        with plain_errors():
            self._results = [stale_result(suite)] if self._test == "stale data" else suite.results(self.name)

    def runtest(self) -> None:
        """Fail unless every result passes."""
        outcome = outcome_of(self._results)
        words = {Decision.PASS: "passed", Decision.FAIL: "failed", Decision.UNDECIDED: "undecided"}
        self.user_properties[-1] = (OUTCOME, words[outcome])
        if outcome is Decision.PASS:
            return
        suite = suite_of(self.config)
        with plain_errors():
            text = "\n".join(failure_lines(suite, self._results))
        if outcome is Decision.UNDECIDED and suite.options.warn_undecided:
            self.warn(UndecidedWarning(text))
        else:
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file and the rule. Pytest writes `::` for points in a name that equals the one of the item."""
        return self.path, 0, f"{self.name} "


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
    if wrong[0].metric:
        own, subject = (
            GatedConfiguration(suite.tables, suite.gate.configuration),
            Subject(wrong[0].metric, wrong[0].slice, wrong[0].condition),
        )
        lines += worst_questions(own, subject, wrong[0].limit)
    return [printable_line(line) for line in lines]


_OUTCOMES = {"passed": Decision.PASS, "failed": Decision.FAIL, "unscored": Decision.UNDECIDED}


def stale_result(suite: RagSuite) -> RuleResult:
    """Check the documents of the experiment, then the system. Raises InputError if the folder has no stale cases."""
    folder = suite.settings.stale
    assert folder is not None, "the test is collected only with stale cases"
    data = read_freshness(folder.parent if folder.name == CASES else folder)
    if outdated := list(outdated_documents(suite.dataset, data)):
        return _result(
            suite, Decision.FAIL, f"{plural(len(outdated), 'old value')} in the documents: {'; '.join(outdated[:5])}", len(data.cases)
        )
    report = check_freshness(ingesting_target(suite), data)
    return _result(suite, _OUTCOMES[report.verdict], _reason(report), len(data.cases))


def outdated_documents(dataset: Dataset, data: FreshnessData) -> Iterator[str]:
    """Yield the old values that documents of a dataset state and none of the current documents does, with the document."""
    current = [document.text for document in data.current]
    for case in data.cases:
        if contained(case.before.passage, current):
            continue
        for document in dataset.documents:
            if contains(document.text, case.before.passage):
                yield f"{document.doc_id} says {case.before.value} ({case.case_id}; now {case.after.value})"


def _reason(report: FreshnessReport) -> str:
    failed = [outcome for outcome in report.outcomes if outcome.state == "failed"]
    if failed:
        return f"{plural(len(failed), 'failure')}: {'; '.join(f'{outcome.case_id} ({outcome.check}): {outcome.seen}' for outcome in failed[:5])}"
    passed, unscored = report.count("passed"), report.count("unscored")
    if report.verdict == "unscored":
        first = next((outcome.seen for outcome in report.outcomes if outcome.check == "update"), "")
        return f"no update was seen: {first}"
    return f"{plural(passed, 'check')} passed" + (f", {unscored} could not be seen" if unscored else "")


def stale_rule(folder: Path) -> str:
    """Name the test of stale data."""
    return f"no stale data ({folder})"


def _result(suite: RagSuite, outcome: Decision, reason: str, n: int) -> RuleResult:
    return RuleResult(
        rule=stale_rule(suite.settings.stale or Path()),
        kind="retrieval test",
        metric="",
        slice="all",
        condition="retrieved",
        outcome=outcome,
        reason=reason,
        n=n,
    )


def suite_table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a row for each of the five tests, with its counts, or the line that adds it. Also without any test of a rule, so that none is missed."""
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        properties = dict(report.user_properties)
        # A test that passes has a report of its setup too.
        if TEST in properties and (report.when == "call" or report.failed):
            counts.setdefault(str(properties[TEST]), Counter())[str(properties[OUTCOME])] += 1
    rows: list[tuple[str, ...]] = [("test", *_COUNTS, "")]
    for test, (shows, line) in TESTS.items():
        own = counts.get(test)
        rows.append((test, *_cells(own), shows if own else f"not in the gate; add {line}"))
    if others_counted := counts.get(_OTHER):
        rows.append((_OTHER, *_cells(others_counted), ""))
    return aligned(rows)


def _cells(counted: Counter[str] | None) -> list[str]:
    return [str(counted[name]) if counted and counted[name] else "–" for name in _COUNTS]
