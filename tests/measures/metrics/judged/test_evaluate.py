"""Laws of all judged metrics."""

import itertools
from html import unescape

import pytest

from tests.answer_cases import Asked, table_of
from tests.judged_cases import FAILED, Judged, judged_case
from workbench.core.errors import InputError
from workbench.core.records import Variant
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS

JUDGED = [name for name, metric in METRICS.items() if metric.judged]
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
    return Metric(name, k=3 if METRICS[name].cut == "k" else None)


@pytest.mark.parametrize("name", JUDGED)
def test_each_question_has_a_value_or_a_reason(name: str) -> None:
    for variant, only_score in itertools.product(VARIANTS, ("", "it is a score")):
        table = table_of(judged_case(*EVERY, variant=variant, only_score=only_score), name, metric(name).cut)
        assert table["query"].tolist() == list(range(len(EVERY))), (variant, only_score)
        assert table["value"].notna().equals(table["state"] == "scored"), (variant, only_score)
        assert (table["reason"] == "").equals(table["state"] == "scored"), (variant, only_score)
        assert table["value"].dropna().between(0, 1).all(), (variant, only_score)


@pytest.mark.parametrize("name", JUDGED)
def test_questions_do_not_affect_each_other(name: str) -> None:
    cut = metric(name).cut
    for variant in VARIANTS:
        whole = table_of(judged_case(*EVERY, variant=variant), name, cut)
        alone = [table_of(judged_case(judged, variant=variant), name, cut).iloc[0] for judged in EVERY]
        assert [(row["state"], row["reason"]) for row in alone] == list(zip(whole["state"], whole["reason"], strict=True)), variant
        assert [row["value"] for row in alone] == pytest.approx(whole["value"].tolist(), nan_ok=True), variant


def test_a_name_is_a_metric_of_answers() -> None:
    for name in JUDGED:
        named, definition = metric(name), METRICS[name]
        assert Metric.parse(str(named)) == named
        assert (named.family, named.of_answers, named.judged, named.bounded_by_k) == ("answers", True, True, False), name
        assert named.definition is definition
        assert definition.definition in unescape(named._repr_html_())
        assert "–" not in (definition.formula, definition.source), name


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


def test_a_metric_of_judgements_is_none_of_rankings() -> None:
    with pytest.raises(InputError, match="reads answers, not rankings"):
        Metric("faithfulness").require_ranking()


def test_a_metric_reads_no_part_that_its_definition_does_not_name() -> None:
    case = judged_case(Judged())
    assert case.judgements.of_answers
    with pytest.raises(InputError, match=r"reads ranking, and its definition does not name that; write reads=\(\"ranking\",\)"):
        _ = case.retrieved
