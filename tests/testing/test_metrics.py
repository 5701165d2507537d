"""Each law of metrics is broken by a metric made for it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.core.errors import InputError, LawError
from workbench.measures.metrics.case import MetricValues, delivered
from workbench.measures.metrics.definition import ANSWERABLE, RELEVANT, MetricDefinition, Requirement
from workbench.measures.metrics.registry import METRICS
from workbench.testing import METRIC_LAWS, check_metric


def first_hit(case, _):
    """A good metric: 1 if the first document is relevant."""
    ranking, labels = case.retrieved.ranking, case.labels
    first = ranking[ranking["rank"] == 1]
    value = np.zeros(labels.queries)
    value[first["query"].to_numpy()] = np.isin(first["query"] * labels.documents + first["doc"], labels.relevant_pairs)
    return MetricValues(value, np.ones(labels.queries))


GOOD = MetricDefinition("first_hit", first_hit, "documents", "none", (ANSWERABLE, RELEVANT))


def kind(change, **fields: object) -> MetricDefinition:
    """The good metric with a function of its value."""

    def changed(case, cut):
        return MetricValues(change(first_hit(case, cut).value))

    return replace(GOOD, compute=changed, **fields)


def listed(case, cut):
    return list(first_hit(case, cut).value)


def one_too_few(case, cut):
    return MetricValues(first_hit(case, cut).value[:-1])


def numbers_for_reasons(case, cut):
    return MetricValues(first_hit(case, cut).value, None, (("no reason", np.array([1, 2])),))


def mute(case, cut):
    return MetricValues(first_hit(case, cut).value, None, (("", case.labels.relevant_counts > 0),))


def half_attainable(case, cut):
    return MetricValues(first_hit(case, cut).value, np.full(case.labels.queries, 0.5))


def undivided(case, cut):
    """Relevant documents per retrieved one, which is 0 / 0 without results."""
    retrieved = np.bincount(case.retrieved.ranking["query"], minlength=case.labels.queries)
    with np.errstate(invalid="ignore", divide="ignore"):
        return MetricValues(first_hit(case, cut).value / retrieved)


def deepest(case, _):
    """The share of the results that are relevant, however deep."""
    ranking, labels = case.retrieved.ranking, case.labels
    relevant = np.isin(ranking["query"] * labels.documents + ranking["doc"], labels.relevant_pairs)
    return MetricValues(np.bincount(ranking["query"], relevant, labels.queries) / 100)


def every_hit(case, _):
    """Hits, where the delivered slices are meant."""
    return MetricValues(np.bincount(case.retrieved.hits["query"], minlength=case.labels.queries) / 100)


def all_hits(case, cut):
    return MetricValues(np.bincount(delivered(case, cut._replace(k=1_000)).query, minlength=case.labels.queries) / 100)


def sorting(case, cut):
    case.retrieved.ranking["score"] = 0.0
    return first_hit(case, cut)


def relabelling(case, cut):
    case.labels.qrel_relevance[:] = 1
    return first_hit(case, cut)


BREAKERS = {
    "the_definition_is_complete": (
        replace(GOOD, version="2"),
        replace(GOOD, version=0),
        replace(GOOD, family="pages"),
        replace(GOOD, requires="relevant"),
        replace(GOOD, definition=" "),
        replace(GOOD, reads=("pages",)),
        replace(GOOD, reads=("answer",)),
    ),
    "there_is_one_value_for_each_query": (
        replace(GOOD, compute=listed),
        replace(GOOD, compute=one_too_few),
        replace(GOOD, compute=numbers_for_reasons),
        replace(GOOD, requires=(Requirement(lambda _: True, "never"),)),
    ),
    "a_scored_value_is_a_number": (replace(GOOD, compute=undivided),),
    "a_query_without_a_value_has_a_reason": (
        replace(GOOD, requires=(Requirement(RELEVANT.met, ""),)),
        replace(GOOD, compute=mute),
    ),
    "a_proportion_lies_between_0_and_1": (kind(lambda value: 2 * value), kind(lambda value: -value)),
    "no_value_exceeds_what_is_attainable": (replace(GOOD, compute=half_attainable),),
    "queries_do_not_affect_each_other": (
        kind(lambda value: value / len(value)),
        kind(lambda value: value * (np.arange(len(value)) > 2)),
    ),
    "results_beyond_the_cut_do_not_count": (
        MetricDefinition("deepest", deepest, "documents", "k", (ANSWERABLE, RELEVANT)),
        MetricDefinition("all_hits", all_hits, "chunks", "k or tokens", (ANSWERABLE, RELEVANT)),
    ),
    "a_slice_found_twice_counts_once": (MetricDefinition("every_hit", every_hit, "hits", "none", (ANSWERABLE, RELEVANT)),),
    "nothing_retrieved_earns_no_credit": (kind(lambda value: 1 - value),),
    "the_inputs_stay_as_they_are": (replace(GOOD, compute=sorting), replace(GOOD, compute=relabelling)),
}


def test_every_law_has_a_metric_that_breaks_it() -> None:
    assert_all_are_broken(METRIC_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "metric"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, metric: MetricDefinition) -> None:
    assert_broken(METRIC_LAWS, name, metric, check_metric)


@pytest.mark.parametrize("metric", [GOOD, "span_recall", METRICS["margin"]])
def test_a_good_metric_passes(metric: MetricDefinition | str) -> None:
    assert check_metric(metric) is None


def test_fewer_faults_may_be_better_and_a_count_no_proportion() -> None:
    check_metric(kind(lambda value: 1 - value, higher_is_better=False))
    check_metric(kind(lambda value: 3 * value, proportion=False))


def test_the_message_says_the_metric_the_query_and_its_value() -> None:
    def nothing(case, _):
        return MetricValues(np.full(case.labels.queries, np.nan))

    with pytest.raises(LawError, match=r"^nothing breaks .*the query \{'qrels'.* with the hits \[.*\] has the value nan"):
        check_metric(replace(GOOD, compute=nothing))


def test_an_unknown_name_and_a_function_are_refused() -> None:
    with pytest.raises(InputError, match=r"there is no metric 'recal' .did you mean 'recall'"):
        check_metric("recal")
    with pytest.raises(InputError, match=r"expected an instance of workbench.measures.metrics.definition.MetricDefinition, not a function"):
        check_metric(first_hit)
