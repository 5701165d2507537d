"""The metrics whose rules are tests of a RAG test suite."""

from workbench.measures.metrics.registry import METRICS


def test_rules_on_these_metrics_are_tests_of_a_suite() -> None:
    named = {name: definition.suite_test for name, definition in METRICS.builtin.items() if definition.suite_test}
    precise = ("context_precision_gold", "context_precision_judged", "context_relevance", "chunk_precision", "hit_precision", "precision")
    faithful = ("faithfulness", "support_overlap", "contradiction_rate")
    expected = dict.fromkeys(faithful, "faithfulness") | dict.fromkeys(precise, "context precision")
    assert named == expected | dict.fromkeys(("refusal_rate", "irrelevant"), "negative")
