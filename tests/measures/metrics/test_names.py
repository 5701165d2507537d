import pytest

from workbench.core.errors import InputError
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS


def test_a_name_prints_as_it_was_parsed() -> None:
    names = [
        "recall@5",
        "map@1000",
        "hit_precision@3",
        "span_recall@2000t",
        "complete@1000000t",
        "need_recall@1",
        "span_precision_omega",
        "margin",
    ]
    assert [str(Metric.parse(name)) for name in names] == names
    assert [Metric.parse(name) for name in names] == [Metric.parse(name) for name in names]


def test_the_cut_is_read() -> None:
    assert Metric.parse("recall@5") == Metric("recall", k=5)
    assert Metric.parse("span_iou@500t") == Metric("span_iou", tokens=500)


def test_a_wrong_name_is_refused_with_its_fix(wording) -> None:
    wrong = ["recal@5", "nDCG@10", "hit_rate@3", "hit-rate@3", "Hit Rate@3", "p@5", "margn", "span_recal", "zzz", "recall", "span_recall"]
    wrong += ["margin@5", "span_precision_omega@2000t", "recall@2000t", "hit_recall@20t", "chunk_precision@20t", "recall@0", "recall@1001"]
    wrong += ["span_recall@0t", "span_recall@1000001t", "recall@05", "recall@", "recall@five", "span_recall@2000T", "recall@-1", ""]
    wording(Metric.parse, wrong)


def test_metrics_of_delivered_chunks_are_bounded_by_k() -> None:
    bounded = {name for name, kind in METRICS.items() if kind.cut != "none" and Metric(name, k=5).bounded_by_k}
    assert bounded == {
        *("hit_recall", "hit_precision", "chunk_precision"),
        *("span_recall", "span_precision", "span_iou", "need_recall", "complete"),
    }
    assert not Metric.parse("span_recall@2000t").bounded_by_k


def test_directions_and_ranges() -> None:
    assert [name for name in METRICS if not METRICS[name].higher_is_better] == ["irrelevant", "over_refusal_rate", "contradiction_rate"]
    assert [name for name in METRICS if not METRICS[name].proportion] == ["margin", "margin_spread", "answer_similarity"]
    assert Metric.parse("ndcg@10").family == "documents"


def test_the_cuts_in_the_fix_are_those_that_the_metric_takes() -> None:
    for name, fix in (("recall", "recall@5"), ("span_recall", "span_recall@5 or span_recall@2000t"), ("margin", "margin")):
        with pytest.raises(InputError) as error:
            Metric.parse(f"{name}@five")
        assert str(error.value).endswith(f"; write {fix}")


def test_a_notebook_shows_the_definition_and_the_source() -> None:
    metric = Metric.parse("recall@5")
    assert repr(metric) == "recall@5"
    page = metric._repr_html_()
    assert "recall@5: share of the relevant documents among the first k documents" in page
    assert f"Source: {METRICS['recall'].source}" in page
    uncut = Metric("recall")
    assert repr(uncut) == "recall (needs a cut, such as recall @ 5)"
    assert f"recall: {METRICS['recall'].definition}" in uncut._repr_html_()
    assert "It needs a cut, such as recall @ 5." in uncut._repr_html_()
