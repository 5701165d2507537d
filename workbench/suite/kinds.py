"""The five tests of a RAG test suite, and which of them a rule is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import pytest

from workbench.core.formatting import aligned
from workbench.gate.rules import BaselineComparison, Floor, RetrievalTest, Rule

SuiteTest = Literal["faithfulness", "context precision", "negative", "retrieval unit", "stale data", "other rules"]


@dataclass(frozen=True)
class TestKind:
    """A property of a system that a test shows, the metrics of its rules, and the line of the key `gate` that adds one."""

    # Pytest takes classes of this name for tests.
    __test__ = False

    shows: str
    metrics: frozenset[str]
    line: str


KINDS: Mapping[SuiteTest, TestKind] = {
    "faithfulness": TestKind(
        "answers say what the passages say",
        frozenset({"faithfulness", "support_overlap", "contradiction_rate"}),
        'rules: ["faithfulness >= 0.85"]',
    ),
    "context precision": TestKind(
        "the context contains little else",
        frozenset(
            {"context_precision_gold", "context_precision_judged", "context_relevance", "chunk_precision", "hit_precision", "precision"}
        ),
        'rules: ["context_precision_judged@5 >= 0.7"]',
    ),
    "negative": TestKind(
        "what is not in the documents is refused, and what is irrelevant is not found",
        frozenset({"refusal_rate", "irrelevant"}),
        'rules: ["refusal_rate >= 0.9"]',
    ),
    "retrieval unit": TestKind("a question finds its document", frozenset(), "retrieval_tests: [{k: 5}]"),
    "stale data": TestKind("old values are gone after an update", frozenset(), "stale: FOLDER"),
}


def kind_of(rule: Rule) -> SuiteTest:
    """Return the test that a rule is. A retrieval unit test for an absent document is negative."""
    if isinstance(rule, RetrievalTest):
        return "negative" if rule.absent else "retrieval unit"
    subject = rule.subject if isinstance(rule, Floor | BaselineComparison) else None
    name = subject.metric.partition("@")[0] if subject else ""
    return next((kind for kind, about in KINDS.items() if name in about.metrics), "other rules")


# The properties of a test's report, which processes of pytest-xdist send to the one that prints.
TEST, OUTCOME = "rag_test", "rag_outcome"
_COUNTS = ("passed", "failed", "undecided", "error")


def suite_table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a row for each of the five tests, with its counts, or the line that adds it. Also without any test of a rule, so that none is missed."""
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        properties = dict(report.user_properties)
        # A test that passes has a report of its setup too.
        if TEST in properties and (report.when == "call" or report.failed):
            counts.setdefault(str(properties[TEST]), Counter())[str(properties[OUTCOME])] += 1
    rows: list[tuple[str, ...]] = [("test", *_COUNTS, "")]
    for test, about in KINDS.items():
        found = counts.get(test)
        rows.append((test, *_cells(found), about.shows if found else f"not in the gate; add {about.line}"))
    if other := counts.get("other rules"):
        rows.append(("other rules", *_cells(other), ""))
    return aligned(rows)


def _cells(found: Counter[str] | None) -> list[str]:
    return [str(found[name]) if found and found[name] else "–" for name in _COUNTS]
