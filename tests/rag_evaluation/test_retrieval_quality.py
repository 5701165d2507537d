"""The search of a notes server with all of NFCorpus, on five questions: recall at 10, beside the most that is attainable."""

import os

import pytest

from tests.rag_evaluation.conftest import NfcorpusTestData
from tests.rag_evaluation.ground_truth import ground_truth, recall_threshold, rows
from workbench.core.errors import InputError

IDS = ["PLAIN-2630", "PLAIN-2660", "PLAIN-2510", "PLAIN-2430", "PLAIN-2690"]
K = 10


def test_the_ground_truth_has_five_questions_with_synthetic_answers() -> None:
    assert [row["query_id"] for row in rows()] == IDS
    assert [row["highly_relevant_count"] for row in rows()] == [21, 20, 16, 15, 14]
    for row in rows():
        assert row["synthetic"] is True
        assert row["accepted_by"] == ""
        assert row["ground_truth_answer"]
        assert len(row["expected_document_ids"]) == row["highly_relevant_count"]
        # Written from the most relevant documents, by a model and a prompt that can be named.
        assert row["provenance"]["documents"] == row["expected_document_ids"][:5]
        assert row["provenance"]["max_tokens"] == 500
        assert row["provenance"]["model"]
        assert row["provenance"]["prompts"]


def test_a_threshold_above_the_attainable_recall_is_refused() -> None:
    cases = ground_truth()
    assert [round(case.attainable(K), 3) for case in cases] == [0.476, 0.5, 0.625, 0.667, 0.714]
    with pytest.raises(InputError, match=r"recall@10 >= 0.8 is out of reach: at most 0.596 is attainable"):
        recall_threshold(0.8, cases, K)
    assert recall_threshold(0.5, cases, K) == 0.5


@pytest.mark.soak
def test_the_search_finds_enough_of_the_expected_documents(nfcorpus_test_data: NfcorpusTestData) -> None:
    least = recall_threshold(float(os.environ.get("RAG_EVAL_RECALL_AT_10", "0.15")), nfcorpus_test_data.cases, K)
    recalls = []
    for case in nfcorpus_test_data.cases:
        hits = nfcorpus_test_data.client.search(case.query)
        assert len(hits) == K
        recalls.append(case.recall([str(hit.doc_id) for hit in hits], K))
        print(f"{case.query.query_id}: recall@{K} {recalls[-1]:.3f} of at most {case.attainable(K):.3f}  {case.query.text}")
    mean = sum(recalls) / len(recalls)
    print(f"mean: recall@{K} {mean:.3f}")
    assert mean >= least
