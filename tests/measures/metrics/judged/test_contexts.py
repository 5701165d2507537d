import pytest

from tests.answer_cases import Asked
from tests.judged_cases import FAILED, Judged, outcomes
from workbench.core.records import Variant

JUDGED = ("context_precision_judged", "context_relevance")
EVIDENCE = ((("d", 0, 10),),)


def asked(*passages: tuple[str, int, int], **more: object) -> Asked:
    return Asked("x", passages=passages, **more)  # type: ignore[arg-type]


def test_gold_precision_counts_passages_that_overlap_evidence_by_half() -> None:
    four = Judged(asked(("d", 0, 10), ("d", 50, 90), ("e", 0, 10), ("d", 4, 30), needs=EVIDENCE))
    assert outcomes("context_precision_gold", four, k=4) == [0.5]
    assert outcomes("context_precision_gold", four, k=1) == [1.0]
    # A context with fewer passages than k has no missing ones.
    assert outcomes("context_precision_gold", four, k=9) == [0.5]


def test_gold_precision_without_evidence_counts_passages_of_relevant_documents() -> None:
    judged = Judged(asked(("d", 0, 10), ("e", 0, 10), ("d", 50, 60)), relevant=("d",))
    assert outcomes("context_precision_gold", judged, k=3) == [pytest.approx(2 / 3)]


def test_gold_precision_does_not_count_an_altered_copy_of_the_evidence() -> None:
    judged = Judged(asked(("d", 0, 10), ("d", 0, 10), needs=EVIDENCE, planted={0: "counterfactual"}))
    assert outcomes("context_precision_gold", judged, k=2, variant=Variant("counterfactual", "before")) == [0.5]


def test_gold_precision_does_not_move_with_a_judge() -> None:
    judged = Judged(asked(("d", 0, 10), needs=EVIDENCE), passages=(None,))
    assert outcomes("context_precision_gold", judged, k=1) == [1.0]


def test_judged_precision_counts_passages_that_reach_the_threshold_of_relevance() -> None:
    judged = Judged(asked(("d", 0, 1), ("d", 1, 2), ("d", 2, 3)), passages=(0.5, 0.49, 1.0))
    assert outcomes("context_precision_judged", judged, k=3) == [pytest.approx(2 / 3)]
    assert outcomes("context_precision_judged", judged, k=2) == [0.5]


def test_context_relevance_is_the_mean_over_the_passages() -> None:
    assert outcomes("context_relevance", Judged(asked(("d", 0, 1), ("d", 1, 2)), passages=(0.2, 0.8))) == [0.5]


def test_a_failed_judgement_counts_only_among_the_first_k_passages() -> None:
    judged = Judged(asked(("d", 0, 1), ("d", 1, 2)), passages=(1.0, None))
    assert outcomes("context_precision_judged", judged, k=1) == [1.0]
    assert outcomes("context_precision_judged", judged, k=2) == [f"unscored: {FAILED}"]
    assert outcomes("context_relevance", judged) == [f"unscored: {FAILED}"]


@pytest.mark.parametrize("name", [*JUDGED, "context_precision_gold"])
def test_an_empty_context_an_unanswerable_question_and_a_closed_book_have_no_precision(name: str) -> None:
    k = None if name == "context_relevance" else 2
    judged = Judged(asked(("d", 0, 1)), passages=(1.0,))
    assert outcomes(name, Judged(asked()), k=k) == ["not_applicable: no passage in the context"]
    assert outcomes(name, Judged(asked(("d", 0, 1), answerable=False)), k=k) == ["not_applicable: unanswerable"]
    assert outcomes(name, judged, k=k, variant=Variant("none")) == ["not_applicable: closed book"]


@pytest.mark.parametrize("name", [*JUDGED, "context_precision_gold"])
def test_a_failed_answer_does_not_make_its_context_unscored(name: str) -> None:
    judged = Judged(asked(("d", 0, 10), needs=EVIDENCE, error="the server timed out"), passages=(1.0,))
    assert outcomes(name, judged, k=None if name == "context_relevance" else 1) == [1.0]


def test_a_question_without_labels_has_no_gold_precision() -> None:
    assert outcomes("context_precision_gold", Judged(asked(("d", 0, 1)), relevant=()), k=1) == [
        "not_applicable: no evidence spans and no relevant document"
    ]
