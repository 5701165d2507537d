"""Which parts of a run are random, by its recorded settings."""

from typing import Any

import pytest

from workbench.measures.metrics.names import Metric
from workbench.report.results.randomness import random_parts
from workbench.report.results.run_tables import RunTables

CHAT = {"kind": "chat", "model": "m"}
LOCAL = {"kind": "sentence-transformers"}


def run(judging: dict[str, Any] | None = None, **settings: Any) -> RunTables:
    families = {"recall@5": "documents", "answer_recall": "answers", "faithfulness": "answers"}
    fixed = {"k": None, "tokens": None, "higher_is_better": True, "proportion": True, "bounded_by_k": False, "definition": "", "source": ""}
    metrics = {label: {"name": label.partition("@")[0], "family": family, **fixed} for label, family in families.items()}
    assert Metric.of_record(metrics["recall@5"]).name == "recall"
    return RunTables({"configurations": {"c": settings}, "metrics": metrics, "judging": judging}, {})


@pytest.mark.parametrize(
    ("settings", "metric", "parts"),
    [
        ({"embedding": LOCAL}, "recall@5", ()),
        ({"embedding": None, "retrieval": {"kind": "bm25"}}, "recall@5", ()),
        ({"embedding": {"kind": "openai"}}, "recall@5", ("embedding: openai",)),
        ({"chunking": {"kind": "semantic", "embedding": {"kind": "ollama"}}}, "recall@5", ("chunking: ollama",)),
        ({"rerank": {"kind": "endpoint"}}, "recall@5", ("rerank: endpoint",)),
        ({"target": {"kind": "http"}}, "recall@5", ("target: http",)),
        ({"target": {"kind": "recorded"}, "answering": {"kind": "target"}}, "answer_recall", ()),
        ({"answering": CHAT}, "recall@5", ()),
        ({"answering": CHAT}, "answer_recall", ("answering: chat",)),
        ({"answering": {"kind": "extractive"}}, "answer_recall", ()),
    ],
)
def test_parts_are_random_if_a_server_computes_them_and_the_metric_depends_on_them(
    settings: dict[str, Any], metric: str, parts: tuple[str, ...]
):
    assert random_parts(run(**settings), "c", metric) == parts


def test_judges_make_only_judged_metrics_random():
    judged = run({"support": {"kind": "cascade", "cheap": {"kind": "overlap"}, "expensive": CHAT}, "conditions": ["retrieved"]})
    assert random_parts(judged, "c", "faithfulness") == ("judging.support: chat",)
    assert random_parts(judged, "c", "answer_recall") == ()
    assert random_parts(judged, "c", "recall@5") == ()


def test_the_embedder_of_a_judge_is_no_judge():
    assert random_parts(run({"support": {"kind": "overlap", "embedding": LOCAL}}), "c", "faithfulness") == ()
