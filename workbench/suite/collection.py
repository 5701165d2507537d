"""Collect a test for each rule of an experiment's gate. Collection reads the experiment; the sweep runs with the first test."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import WorkbenchError
from workbench.gate.comparisons import comparison_start
from workbench.gate.report import RuleResult
from workbench.gate.rules import RetrievalTest, Subject
from workbench.gate.settings import GateSettings
from workbench.statistics.gates.paired import Decision
from workbench.suite.fixtures import plain_errors
from workbench.suite.kinds import SuiteTest, kind_of_metric, kind_of_retrieval
from workbench.suite.rag_suite import RagSuite, suite_of
from workbench.suite.stale import stale_result
from workbench.suite.table import OUTCOME, TEST
from workbench.suite.wording import failure_lines

# Finds the results of a test. The first use sweeps.
Find = Callable[[RagSuite], Sequence[RuleResult]]


class UndecidedWarning(pytest.PytestWarning):
    """A rule that the questions are too few to decide."""


class ExperimentFile(pytest.File):
    """The experiment of `--rag-experiment`."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each rule. Raises ExperimentError with every fault of the file."""
        # One of several equal rules is enough.
        for name, (kind, find) in dict(_tests(suite_of(self.config).settings)).items():
            yield RuleItem.from_parent(self, name=name, kind=kind, find=find)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Report an error of Workbench by its lines."""
        if isinstance(excinfo.value, WorkbenchError):
            return "\n".join(excinfo.value.lines)
        return super().repr_failure(excinfo)


class RuleItem(pytest.Item):
    """The test of a rule. It is an error if the rule cannot be checked, and fails if the rule fails or is undecided."""

    def __init__(self, *, kind: SuiteTest, find: Find, **names: Any) -> None:
        super().__init__(**names)
        self.add_marker("rag")
        self.user_properties += [(TEST, kind), (OUTCOME, "error")]
        self._kind, self._find = kind, find
        self._results: Sequence[RuleResult] = ()

    def setup(self) -> None:
        """Check the rule. The first test sweeps."""
        with plain_errors():
            self._results = self._find(suite_of(self.config))

    def runtest(self) -> None:
        """Fail unless every result passes."""
        outcomes = {result.outcome for result in self._results}
        outcome = next((each for each in (Decision.FAIL, Decision.UNDECIDED) if each in outcomes), Decision.PASS)
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


def _tests(settings: GateSettings) -> Iterator[tuple[str, tuple[SuiteTest, Find]]]:
    """Yield the name of each test, which of the five it is, and how its results are found."""
    for floor in settings.floors:
        yield str(floor), (kind_of_metric(floor.subject.metric), _named(str(floor)))
    for path in filter(None, (settings.baseline, settings.release)):
        for subject in settings.compare:
            yield f"{subject} against {path}", (kind_of_metric(subject.metric), _compared(path, subject))
        if not settings.compare:
            yield f"against {path}", ("other rules", _compared(path))
    for test in settings.retrieval_tests:
        yield str(test), (kind_of_retrieval(test), _retrieval(test))
    if settings.stale:
        yield f"no stale data ({settings.stale})", ("stale data", lambda suite: [stale_result(suite)])


def _named(name: str) -> Find:
    return lambda suite: [result for result in suite.rules(name) if result.rule == name]


def _compared(path: Path, subject: Subject | None = None) -> Find:
    if subject is not None:
        start = comparison_start(subject, path)
        return lambda suite: [result for result in suite.rules(str(path)) if result.rule.startswith(start)]
    return lambda suite: [result for result in suite.rules(str(path)) if f" {path} by more than " in result.rule]


def _retrieval(test: RetrievalTest) -> Find:
    def find(suite: RagSuite) -> list[RuleResult]:
        tests = [result for result in suite.rules(str(test)) if result.kind == "retrieval test" and result.slice == test.slice]
        return [result for result in tests if result.rule == str(replace(test, query_id=result.query_id))]

    return find
