"""Rules as they are written: what is read, and what is refused with which fix."""

import pytest

from workbench.gate.rules import Floor, RetrievalTest, Subject, Tolerance, number_in, slice_parts


def test_a_rule_has_a_metric_a_slice_a_condition_a_bound_and_a_limit():
    cases = [
        ("recall@5>=.7", "recall@5", "all", "retrieved", ">=", 0.7),
        ("  recall@5[type=multi-hop] >=  60 %", "recall@5", "type=multi-hop", "retrieved", ">=", 0.6),
        ("recall@5 [ a=1 & dept=R&D ] >= 0.6", "recall@5", "a=1&dept=R&D", "retrieved", ">=", 0.6),
        ("recall@5[x=a>=b] >= 0.6", "recall@5", "x=a>=b", "retrieved", ">=", 0.6),
        ("recall@5[tags=[1]] >= 1e-1", "recall@5", "tags=[1]", "retrieved", ">=", 0.1),
        ("irrelevant@3 <= 5%", "irrelevant@3", "all", "retrieved", "<=", 0.05),
        ("faithfulness[domain=hr&condition=gold] >= 0.85", "faithfulness", "domain=hr", "gold", ">=", 0.85),
        ("margin >= -0.2", "margin", "all", "retrieved", ">=", -0.2),
    ]
    rules = [Floor.parse(text) for text, *_ in cases]
    assert rules == [Floor(Subject(metric, slice_, condition), bound, limit) for _, metric, slice_, condition, bound, limit in cases]
    assert [Floor.parse(str(rule)) for rule in rules] == rules


def test_another_form_is_refused_with_the_fix(wording):
    wording(
        Floor.parse,
        [
            "recall@5",
            "",
            ">= 0.5",
            "recall@5 >= 0.7 >= 0.5",
            "recall@5 > 0.7",
            "recall@5 = 0.7",
            "recall@5 ≥ 0.7",
            "recall@5 >=",
            "recall@5 >= nan",
            "recall@5 >= 1e999",
            "recall@5 <= 0.7",
            "irrelevant@3 >= 0.1",
            "recal@5 >= 0.7",
            "recall >= 0.7",
            "recall@5[type] >= 0.1",
            "recall@5[] >= 0.1",
            "recall@5[condition=gold&condition=none] >= 0.1",
        ],
    )


def test_a_slice_is_split_where_a_field_begins():
    assert slice_parts("type=table&dept=R&D&x=a=b") == ["type=table", "dept=R&D", "x=a=b"]


def test_a_tolerance_is_a_share_of_the_mean_or_points():
    share, points = Tolerance.parse("5%"), Tolerance.parse("0.05")
    assert share.margin(0.8) == pytest.approx(0.04)
    assert share.margin(-0.8) == pytest.approx(0.04)
    assert points.margin(0.8) == 0.05
    assert (str(share), str(points)) == ("5%", "0.05")
    assert Tolerance() == share


def test_a_tolerance_beyond_its_range_is_refused(wording):
    wording(Tolerance.parse, ["0", "0%", "-5%", "5", "101%", "nan", "much"])


def test_a_number_may_be_a_percentage():
    assert [number_in(text, "here") for text in ("0.7", "70%", "70 %", ".7", "+0.7", "7e-1")] == [0.7] * 6


def test_a_retrieval_test_reads_as_a_sentence():
    assert str(RetrievalTest(5)) == "a relevant document in the first 5"
    assert str(RetrievalTest(3, "q7", "travel")) == "travel in the first 3 of q7"
    assert str(RetrievalTest(5, "q9", "old", absent=True)) == "old not in the first 5 of q9"
    assert str(RetrievalTest(5, slice="type=factoid")) == "a relevant document in the first 5 of every question[type=factoid]"
