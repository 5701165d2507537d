"""The test of stale data: nothing in the documents or in the system states a value that was replaced."""

from collections.abc import Iterator

from workbench.api.freshness import check_freshness
from workbench.core.formatting import plural
from workbench.gate.report import RuleResult
from workbench.records import Dataset
from workbench.statistics.gates.paired import Decision
from workbench.suite.rag_suite import RagSuite
from workbench.suite.systems import ingesting_target
from workbench.targets.freshness.cases import CASES, FreshnessData, read_freshness
from workbench.targets.freshness.observations import contained, contains
from workbench.targets.freshness.report import FreshnessReport

_OUTCOMES = {"passed": Decision.PASS, "failed": Decision.FAIL, "unscored": Decision.UNDECIDED}


def stale_result(suite: RagSuite) -> RuleResult:
    """Check the documents of the experiment, then the system. Raises InputError if the folder is none of stale cases."""
    folder = suite.settings.stale
    assert folder is not None, "the test is collected only with stale cases"
    data = read_freshness(folder.parent if folder.name == CASES else folder)
    if found := list(outdated_documents(suite.dataset, data)):
        return _result(suite, Decision.FAIL, f"{plural(len(found), 'old value')} in the documents: {'; '.join(found[:5])}", len(data.cases))
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
    failed = [each for each in report.outcomes if each.state == "failed"]
    if failed:
        return f"{plural(len(failed), 'failure')}: {'; '.join(f'{each.case_id} ({each.check}): {each.seen}' for each in failed[:5])}"
    passed, unscored = report.count("passed"), report.count("unscored")
    if report.verdict == "unscored":
        first = next((each.seen for each in report.outcomes if each.check == "update"), "")
        return f"no update was seen: {first}"
    return f"{plural(passed, 'check')} passed" + (f", {unscored} could not be seen" if unscored else "")


def _result(suite: RagSuite, outcome: Decision, reason: str, n: int) -> RuleResult:
    return RuleResult(
        rule=f"no stale data ({suite.settings.stale})",
        kind="retrieval test",
        metric="",
        slice="all",
        condition="retrieved",
        outcome=outcome,
        reason=reason,
        n=n,
    )
