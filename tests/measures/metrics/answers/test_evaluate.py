from html import unescape

import numpy as np
import pytest

from tests.answer_cases import Asked, case_of, table_of
from workbench.core.errors import InputError
from workbench.core.records import Variant
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS

OF_ANSWERS = [name for name, metric in METRICS.items() if metric.of_answers and not metric.judged]
EVERY = [
    Asked("Paris", citations=(0,), needs=((("d", 0, 9),),), passages=(("d", 0, 9),), correct=1.0, outcome="kept"),
    Asked("London", ("Paris", "Lutetia"), citations=(0,), correct=0.0, gold=False, relevant=0, packing_recall=np.nan),
    Asked("", error="the server is down"),
    Asked("", reason="no altered copy is possible"),
    Asked("I do not know", ("",), answerable=False, refused=True, gold=False, relevant=0),
]
VARIANTS = [
    Variant(),
    Variant("none"),
    Variant("gold"),
    Variant("missing_gold"),
    Variant("injection", "override"),
    Variant("counterfactual", "after"),
]


@pytest.mark.parametrize("name", OF_ANSWERS)
def test_each_question_has_a_value_or_a_reason(name: str) -> None:
    for variant in VARIANTS:
        table = table_of(case_of(*EVERY, variant=variant), name)
        assert table["query"].tolist() == list(range(len(EVERY))), variant
        assert table["value"].notna().equals(table["state"] == "scored"), variant
        assert (table["reason"] == "").equals(table["state"] == "scored"), variant
        assert set(table["state"]) <= {"scored", "unscored", "not_applicable"}, variant
        if METRICS[name].proportion:
            assert table["value"].dropna().between(0, 1).all(), variant


@pytest.mark.parametrize("name", OF_ANSWERS)
def test_questions_do_not_affect_each_other(name: str) -> None:
    for variant in VARIANTS:
        whole = table_of(case_of(*EVERY, variant=variant), name)
        alone = [table_of(case_of(asked, variant=variant), name).iloc[0] for asked in EVERY]
        assert [row["state"] for row in alone] == whole["state"].tolist(), variant
        assert [row["value"] for row in alone] == pytest.approx(whole["value"].tolist(), nan_ok=True), variant


def test_a_condition_that_does_not_apply_comes_before_every_other_reason() -> None:
    tables = {name: table_of(case_of(Asked("", reason="why", error="failed")), name) for name in OF_ANSWERS}
    first = {name: table[["state", "reason"]].iloc[0].tolist() for name, table in tables.items()}
    assert first == {name: ["not_applicable", "why"] for name in OF_ANSWERS}


def test_a_failed_answer_is_unscored_and_never_0() -> None:
    table = table_of(case_of(Asked("", error="the server is down"), Asked("")), "token_f1")
    assert table["state"].tolist() == ["unscored", "scored"]
    assert table["reason"][0] == "the server is down"
    assert np.isnan(table["value"][0])


def test_a_metric_of_contexts_does_not_mind_a_failed_answer() -> None:
    case = case_of(Asked("", error="the server is down", packing_recall=0.5))
    assert table_of(case, "packing_recall")["value"].tolist() == [0.5]


def test_unanswerable_questions_and_those_without_expected_answer_say_so() -> None:
    case = case_of(Asked("x", answerable=False), Asked("x", ("",)), Asked("x", ("",), answerable=False))
    reasons = table_of(case, "exact_match")["reason"].tolist()
    assert reasons == ["unanswerable", "no expected answer", "unanswerable"]


def test_labels_of_recorded_answers_are_values() -> None:
    case = case_of(Asked("x", correct=1.0), Asked("x", correct=0.0), Asked("x"))
    table = table_of(case, "labelled_correctness")
    assert table["value"].tolist()[:2] == [1, 0]
    assert table["reason"][2] == "no label"


def test_a_name_of_an_answer_metric_is_parsed_without_a_cut() -> None:
    for name in OF_ANSWERS:
        metric = Metric.parse(name)
        assert str(metric) == name
        assert (metric.family, metric.of_answers, metric.bounded_by_k) == ("answers", True, False)
        assert metric.definition is METRICS[name]
        with pytest.raises(InputError, match=f"metric {name} takes no cut"):
            Metric.parse(f"{name}@5")
        with pytest.raises(InputError, match="reads answers, not rankings"):
            metric.require_ranking()
        assert METRICS[name].definition in unescape(metric._repr_html_())


def test_a_misspelt_answer_metric_is_suggested() -> None:
    for text, meant in (("token-f1", "token_f1"), ("f1", "token_f1"), ("exact match", "exact_match"), ("refusal_rat", "refusal_rate")):
        with pytest.raises(InputError, match=f"did you mean {meant}\\?"):
            Metric.parse(text)
