"""Laws of all judged metrics."""

import itertools
from html import unescape

import pytest

from tests.answer_cases import Asked
from tests.judged_cases import FAILED, Judged, judged_case
from workbench.errors import InputError
from workbench.metrics.answers.registry import ANSWER_KINDS
from workbench.metrics.judged.evaluate import judged_values
from workbench.metrics.judged.registry import JUDGED_KINDS
from workbench.metrics.names import Metric
from workbench.metrics.registry import KINDS
from workbench.records import Variant

PASSAGE = (("d", 0, 9),)
EVERY = [
    Judged(verdicts=("supported", "absent"), overlap=(0.4, 0.8), passages=(0.9,), relevance=0.6, correctness=0.2, rubric=1.0),
    Judged(verdicts=(None,), overlap=(None,), passages=(None,), relevance=float("nan"), correctness=float("nan"), rubric=float("nan")),
    Judged(Asked("", error="the server is down", passages=PASSAGE), passages=(0.1,)),
    Judged(Asked("", reason="no altered copy is possible")),
    Judged(Asked("I do not know", ("",), answerable=False, refused=True, passages=PASSAGE)),
    Judged(Asked("x", passages=()), unsplit=FAILED),
]
VARIANTS = [Variant(), Variant("none"), Variant("gold"), Variant("injection", "override")]


def metric(name: str) -> Metric:
    return Metric(name, k=3 if JUDGED_KINDS[name].cut == "k" else None)


@pytest.mark.parametrize("name", JUDGED_KINDS)
def test_each_question_has_a_value_or_a_reason(name: str) -> None:
    for variant, only_score in itertools.product(VARIANTS, ("", "it is a score")):
        table = judged_values(judged_case(*EVERY, variant=variant, only_score=only_score), JUDGED_KINDS[name], metric(name).cut)
        assert table["query"].tolist() == list(range(len(EVERY))), (variant, only_score)
        assert table["value"].notna().equals(table["state"] == "scored"), (variant, only_score)
        assert (table["reason"] == "").equals(table["state"] == "scored"), (variant, only_score)
        assert table["value"].dropna().between(0, 1).all(), (variant, only_score)


@pytest.mark.parametrize("name", JUDGED_KINDS)
def test_questions_do_not_affect_each_other(name: str) -> None:
    kind, cut = JUDGED_KINDS[name], metric(name).cut
    for variant in VARIANTS:
        whole = judged_values(judged_case(*EVERY, variant=variant), kind, cut)
        alone = [judged_values(judged_case(judged, variant=variant), kind, cut).iloc[0] for judged in EVERY]
        assert [(row["state"], row["reason"]) for row in alone] == list(zip(whole["state"], whole["reason"], strict=True)), variant
        assert [row["value"] for row in alone] == pytest.approx(whole["value"].tolist(), nan_ok=True), variant


def test_a_name_is_a_metric_of_answers() -> None:
    for name, kind in JUDGED_KINDS.items():
        named = metric(name)
        assert Metric.parse(str(named)) == named
        assert (named.family, named.of_answers, named.judged, named.bounded_by_k) == ("answers", True, True, False), name
        assert named.judged_kind is kind
        assert kind.definition in unescape(named._repr_html_())
        assert "–" not in (kind.formula, kind.source), name


def test_no_name_has_two_meanings() -> None:
    assert not set(JUDGED_KINDS) & {*KINDS, *ANSWER_KINDS}


def test_a_wrong_name_or_cut_gets_a_suggestion(wording) -> None:
    wording(
        Metric.parse,
        [
            "context_precision_judged",
            "faithfulness@5",
            "context_precision_gold@200t",
            "faithfulnes",
            "answer_relevancy",
            "context_precision@3",
        ],
    )


def test_a_metric_of_judgements_is_none_of_answers_alone() -> None:
    with pytest.raises(InputError, match="reads judgements, not answers"):
        _ = Metric("faithfulness").answer_kind
    with pytest.raises(InputError, match="reads answers, not rankings"):
        _ = Metric("faithfulness").ranking_kind
    with pytest.raises(InputError, match="reads no judgements"):
        _ = Metric("token_f1").judged_kind


def test_only_contradictions_are_better_if_lower() -> None:
    assert [name for name, kind in JUDGED_KINDS.items() if not kind.higher_is_better] == ["contradiction_rate"]
