"""The five tests of a RAG test suite, and which of them a rule is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.gate.rules import RetrievalTest

SuiteTest = Literal["faithfulness", "context precision", "negative", "retrieval unit", "stale data", "other rules"]


@dataclass(frozen=True)
class TestKind:
    """What a test shows, the metrics of its rules, and the line of the key `gate` that adds one."""

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


def kind_of_metric(metric: str) -> SuiteTest:
    """Return the test that a rule about a metric is."""
    name = metric.partition("@")[0]
    return next((kind for kind, about in KINDS.items() if name in about.metrics), "other rules")


def kind_of_retrieval(test: RetrievalTest) -> SuiteTest:
    """Return the test that a retrieval unit test is. One for an absent document is negative."""
    return "negative" if test.absent else "retrieval unit"
