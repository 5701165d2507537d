import pytest

from tests.answer_cases import Asked
from tests.judged_cases import FAILED, Judged, outcomes
from workbench.core.records import Variant

OF_CLAIMS = ("faithfulness", "contradiction_rate", "support_overlap")
SCORE = "`overlap` is a score, not a judge"


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    four = Judged(verdicts=("supported", "supported", "absent", "contradicted"))
    assert outcomes("faithfulness", four, Judged(verdicts=("supported",)), Judged(verdicts=("absent",))) == [0.5, 1, 0]


def test_contradiction_rate_is_the_share_of_contradicted_claims() -> None:
    four = Judged(verdicts=("supported", "supported", "absent", "contradicted"))
    assert outcomes("contradiction_rate", four, Judged(verdicts=("absent", "absent"))) == [0.25, 0]


def test_support_overlap_is_the_mean_score_of_the_claims() -> None:
    assert outcomes("support_overlap", Judged(overlap=(0.2, 0.6))) == [pytest.approx(0.4)]


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_one_failed_judgement_leaves_an_answer_unscored(name: str) -> None:
    half = Judged(verdicts=("supported", None), overlap=(0.5, None))
    assert outcomes(name, half) == [f"unscored: {FAILED}"]


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_an_answer_that_could_not_be_split_is_unscored_and_one_without_claims_is_not_applicable(name: str) -> None:
    assert outcomes(name, Judged(unsplit="the server is down"), Judged()) == [
        "unscored: the server is down",
        "not_applicable: the answer has no claims",
    ]


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_a_refusal_a_copied_answer_and_a_closed_book_have_no_claims_to_support(name: str) -> None:
    judged = Judged(verdicts=("absent",), overlap=(0.1,))
    assert outcomes(name, Judged(Asked("I do not know", refused=True))) == ["not_applicable: refused"]
    assert outcomes(name, judged, verbatim=True) == ["not_applicable: verbatim by construction"]
    assert outcomes(name, judged, variant=Variant("none")) == ["not_applicable: closed book"]


def test_a_failed_answer_is_unscored_with_its_own_reason() -> None:
    assert outcomes("faithfulness", Judged(Asked(error="the server timed out"))) == ["unscored: the server timed out"]


def test_a_judge_that_only_scores_gives_no_faithfulness_but_an_overlap() -> None:
    judged = Judged(Asked("x"), verdicts=("supported",), overlap=(0.7,))
    failed, excluded = Judged(Asked(error="the server timed out")), Judged(Asked(reason="nothing to alter"))
    for name in ("faithfulness", "contradiction_rate"):
        assert outcomes(name, judged, failed, excluded, only_score=SCORE) == [
            f"not_applicable: {SCORE}",
            f"not_applicable: {SCORE}",
            "not_applicable: nothing to alter",
        ]
    assert outcomes("support_overlap", judged, only_score=SCORE) == [0.7]


def test_a_judge_that_says_yes_or_no_gives_faithfulness_and_no_contradictions() -> None:
    judged = Judged(verdicts=("supported", "absent"), overlap=(0.7, 0.1))
    blind = "`local` does not tell contradicted claims from absent ones"
    assert outcomes("faithfulness", judged, no_contradictions=blind) == [0.5]
    assert outcomes("contradiction_rate", judged, no_contradictions=blind) == [f"not_applicable: {blind}"]


def test_a_judge_whose_test_has_failed_calls_scores_nothing_yet() -> None:
    judged, refused = Judged(verdicts=("supported",), overlap=(0.7,)), Judged(Asked("I do not know", refused=True))
    down = "the judge is down"
    for name in ("faithfulness", "contradiction_rate"):
        assert outcomes(name, judged, refused, untested=down) == [f"unscored: {down}", "not_applicable: refused"]
    assert outcomes("support_overlap", judged, untested=down) == [0.7]
