from workbench.components.judging.base import Judgement
from workbench.measures.metrics.judged import NOT_JUDGED, error_of


def test_a_judgement_without_a_score_failed() -> None:
    assert error_of([Judgement(0.0), Judgement(1.0)], 2) == ""
    assert error_of([Judgement(1.0), Judgement()], 2) == "the judge gave no score"
    assert error_of([Judgement(error="the judge is down"), Judgement()], 2) == "the judge is down"
    assert error_of([Judgement(1.0)], 2) == NOT_JUDGED
