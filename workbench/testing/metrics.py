"""The laws of metrics."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.records import Variant
from workbench.core.text.formatting import meant
from workbench.measures.metrics.case import Case, Cut, MetricValues, SpanDefinition
from workbench.measures.metrics.definition import MetricDefinition, Requirement, Source
from workbench.measures.metrics.evaluate import values_of
from workbench.measures.metrics.registry import METRICS
from workbench.testing.law import Laws, given
from workbench.testing.small_results import NEGATIVE, VARIANTS, SmallWorld, answered, small_world

_K, _TOKENS = 3, 20
# Hits that fill every cut above: 20 tokens are fewer than six chunks.
_ENOUGH = 6
_TOLERANCE = 1e-12


METRIC_LAWS = Laws(MetricDefinition)


@METRIC_LAWS
def the_definition_is_complete(metric: MetricDefinition) -> Iterator[str]:
    """`family`, `cut` and `reads` have their values, `requires` are Requirements, `version` is an int from 1, `definition` a text."""
    hints = get_type_hints(MetricDefinition)
    for name in ("family", "cut"):
        if getattr(metric, name) not in get_args(hints[name]):
            yield f"{name} is {getattr(metric, name)!r}, not one of {', '.join(map(repr, get_args(hints[name])))}"
    if not isinstance(metric.requires, tuple) or not all(isinstance(requirement, Requirement) for requirement in metric.requires):
        yield f"requires is {metric.requires!r}, not a tuple such as (ANSWERABLE, RELEVANT)"
    if not metric.reads or not set(metric.reads) <= set(get_args(Source)):
        yield f"reads is {metric.reads!r}, not some of {', '.join(get_args(Source))}"
    if (metric.family == "answers") != metric.of_answers:
        yield f"family is {metric.family!r}, and reads is {metric.reads!r}: metrics that read more than the ranking are of answers"
    if isinstance(metric.version, bool) or not isinstance(metric.version, int) or metric.version < 1:
        yield f"version is {metric.version!r}"
    if not metric.definition.strip():
        yield "definition is empty"


@METRIC_LAWS
def there_is_one_value_for_each_query(metric: MetricDefinition) -> Iterator[str]:
    """`compute` returns MetricValues of arrays (queries); each reason is a text with bools (queries)."""
    world = small_world()
    for way in _ways(metric):
        values, n = _compute(metric, _case(metric, world, way), way), len(world.queries)
        if not isinstance(values, MetricValues):
            yield f"{way}, it returned a {type(values).__name__}"
            return
        for name, array in (("value", values.value), ("attainable", values.attainable)):
            if array is not None and np.shape(array) != (n,):
                yield f"{way}, {name} has the shape {np.shape(array)} for {n} queries"
        for reason, queries in (*values.unscored, *values.not_applicable):
            if not str(reason).strip() or np.shape(queries) != (n,) or np.asarray(queries).dtype != np.bool_:
                yield f"{way}, unscored or not_applicable has ({reason!r}, {np.asarray(queries).dtype} {np.shape(queries)}) for {n} queries"
        for requirement in metric.requires:
            if np.shape(met := requirement.met(_case(metric, world, way))) != (n,) or np.asarray(met).dtype != np.bool_:
                yield f"{way}, {requirement.reason} has {np.asarray(met).dtype} {np.shape(met)} for {n} queries"


@METRIC_LAWS
def a_scored_value_is_a_number(metric: MetricDefinition) -> Iterator[str]:
    """A value is finite, unless `requires` or `unscored` say why the query has none."""
    for where, table, world in _every_table(metric):
        scored = table[table["state"] == "scored"]
        if len(wrong := scored[~np.isfinite(scored["value"])]):
            query = int(wrong["query"].iloc[0])
            yield f"{where}, the query {world.queries[query]} with the hits {list(world.hits[query])} has the value {wrong['value'].iloc[0]}"


@METRIC_LAWS
def a_query_without_a_value_has_a_reason(metric: MetricDefinition) -> Iterator[str]:
    """A query that is not scored has a reason."""
    for where, table, world in _every_table(metric):
        if len(wrong := table[(table["state"] != "scored") & (table["reason"].astype(str).str.strip() == "")]):
            yield f"{where}, the query {world.queries[int(wrong['query'].iloc[0])]} is {wrong['state'].iloc[0]} without a reason"


@METRIC_LAWS
def a_proportion_lies_between_0_and_1(metric: MetricDefinition) -> Iterator[str]:
    """A value is between 0 and 1, unless the metric has `proportion=False`."""
    for where, table, world in _every_table(metric) if metric.proportion else ():
        if len(wrong := table[(table["value"] < 0) | (table["value"] > 1)]):
            yield f"{where}, the query {world.queries[int(wrong['query'].iloc[0])]} has the value {wrong['value'].iloc[0]:.6g}"


@METRIC_LAWS
def no_value_exceeds_what_is_attainable(metric: MetricDefinition) -> Iterator[str]:
    """No value is above the query's `attainable`, if there is one."""
    for where, table, world in _every_table(metric):
        if len(wrong := table[table["value"] > table["attainable"] + _TOLERANCE]):
            row, query = wrong.iloc[0], world.queries[int(wrong["query"].iloc[0])]
            yield f"{where}, the query {query} has the value {row['value']:.6g}, and attainable is {row['attainable']:.6g}"


@METRIC_LAWS
def queries_do_not_affect_each_other(metric: MetricDefinition) -> Iterator[str]:
    """A query has the same value in another order of the queries and beside fewer."""
    world = small_world()
    n = len(world.queries)
    orders = [list(range(n))[::-1], *(sorted({*range(first, n, 3), NEGATIVE}) for first in range(3))]
    worlds = [(order, world.only(order)) for order in orders]
    for way in _ways(metric):
        together = _table(metric, world, way)
        for order, part in worlds:
            expected, again = (table.drop(columns="query") for table in (together.iloc[order], _table(metric, part, way)))
            if (place := _difference(expected.reset_index(drop=True), again)) is not None:
                query, values = world.queries[order[place]], (expected["value"].iloc[place], again["value"][place])
                how = "in the opposite order of queries" if len(order) == n else f"beside {len(order) - 1} queries"
                yield f"{way}, the query {query} has the value {values[0]}, and {how} {values[1]}"


@METRIC_LAWS
def results_beyond_the_cut_do_not_count(metric: MetricDefinition) -> Iterator[str]:
    """Results beyond the cut change no value: documents beyond k of `ranking`, or chunks beyond k or the tokens."""
    world = small_world()
    for way in _ways(metric) if metric.cut != "none" and metric.family not in ("other", "answers") else ():
        case = _case(metric, world, way)
        hits, ranking = case.retrieved.hits, case.retrieved.ranking
        if metric.family == "documents":
            first = replace(case.retrieved, ranking=ranking[ranking["rank"] <= way.cut.depth])
        else:
            first = replace(case.retrieved, hits=hits[hits["rank"] <= _ENOUGH])
        shorter = values_of(Case(case.labels, first, way.spans, case.depths), metric, way.cut)
        whole = values_of(case, metric, way.cut)
        if (differing := _difference(whole, shorter)) is not None:
            query = f"the query {world.queries[differing]}"
            yield f"{way}, {query} has the value {whole['value'][differing]}, and {shorter['value'][differing]} without what is beyond"


@METRIC_LAWS
def a_slice_found_twice_counts_once(metric: MetricDefinition) -> Iterator[str]:
    """A second hit that delivers the same slice changes no value, because it is delivered once; family `other` may differ."""
    world = small_world()
    found_twice = world.found_twice()
    for way in _ways(metric) if metric.family not in ("other", "answers") else ():
        once, twice = (_table(metric, part, way) for part in (world, found_twice))
        if (differing := _difference(once, twice)) is not None:
            values = f"{once['value'][differing]}, and {twice['value'][differing]} when every slice is found twice"
            yield f"{way}, the query {world.queries[differing]} has the value {values}"


@METRIC_LAWS
def nothing_retrieved_earns_no_credit(metric: MetricDefinition) -> Iterator[str]:
    """A query without results scores 0 or is unscored, if higher is better and the metric reads the results."""
    world = small_world()
    empty = world.cut(0)
    for way in _ways(metric) if metric.higher_is_better and not metric.of_answers else ():
        full, nothing = (_table(metric, part, way)["value"] for part in (world, empty))
        credit = nothing[nothing.notna() & (nothing != 0)]
        if len(credit) and not full.equals(nothing):
            yield f"{way}, the query {world.queries[int(credit.index[0])]} scores {credit.iloc[0]:.6g} without results"


@METRIC_LAWS
def the_inputs_stay_as_they_are(metric: MetricDefinition) -> Iterator[str]:
    """`compute` changes neither labels nor results, which other metrics read too."""
    for way in _ways(metric):
        case, untouched = (_case(metric, small_world(), way) for _ in range(2))
        _compute(metric, case, way)
        for name in ("chunks", "hits", "ranking") if "ranking" in metric.reads else ():
            if not getattr(case.retrieved, name).equals(getattr(untouched.retrieved, name)):
                yield f"{way}, it changed the table {name} of case.retrieved"
        for name in ("answerable", "qrel_query", "qrel_doc", "qrel_relevance", "alternative_start", "alternative_end"):
            if not np.array_equal(getattr(case.labels, name), getattr(untouched.labels, name)):
                yield f"{way}, it changed {name} of case.labels"


def check_metric(metric: MetricDefinition | str) -> None:
    """Check that a metric keeps all of METRIC_LAWS: a `MetricDefinition`, or its registered name such as `recall`.

    Raises LawError for the first law that it breaks.
    """
    if isinstance(metric, str) and metric not in METRICS:
        raise InputError(f"there is no metric {metric!r}{meant(metric, METRICS)}", "pass a MetricDefinition or its name without a cut")
    METRIC_LAWS.check(METRICS[metric] if isinstance(metric, str) else metric)


@dataclass(frozen=True)
class _Way:
    """A way to compute a metric: at a cut, with a definition of span metrics, or for a variant of answers."""

    cut: Cut
    spans: SpanDefinition = "exact"
    variant: Variant | None = None
    verbatim: bool = False
    only_score: str = ""

    def __str__(self) -> str:
        return f"at k={self.cut.k}, tokens={self.cut.tokens}, {f'variant={self.variant}' if self.variant else f'spans={self.spans}'}"


def _ways(metric: MetricDefinition) -> list[_Way]:
    """List the cuts that the metric allows, each with both definitions of span metrics or with every variant."""
    cuts = {"none": [Cut()], "k": [Cut(1), Cut(_K)], "k or tokens": [Cut(1), Cut(_K), Cut(tokens=_TOKENS)]}[metric.cut]
    if not metric.of_answers:
        return [_Way(cut, spans) for cut in cuts for spans in get_args(SpanDefinition)]
    ways = [_Way(cut, variant=variant) for cut in cuts for variant in VARIANTS]
    return [*ways, _Way(cuts[0], variant=VARIANTS[0], verbatim=True, only_score="the judge is a score")]


def _case(metric: MetricDefinition, world: SmallWorld, way: _Way) -> Case:
    depths = frozenset({way.cut.k} if metric.family == "documents" and way.cut.k else ())
    ranking = world.retrieved if "ranking" in metric.reads else None
    if way.variant is None:
        return Case(world.labels, ranking, way.spans, depths)
    whole = answered(world, way.variant, verbatim=way.verbatim, only_score=way.only_score)
    answers = whole.answers if "answer" in metric.reads else None
    judgements = whole.judgements if "judgement" in metric.reads else None
    return Case(world.labels, ranking, way.spans, depths, replace(whole, answers=answers, judgements=judgements))


def _compute(metric: MetricDefinition, case: Case, way: _Way) -> MetricValues:
    with given(str(way)):
        return metric.compute(case, way.cut)


def _table(metric: MetricDefinition, world: SmallWorld, way: _Way) -> pd.DataFrame:
    with given(str(way)):
        return values_of(_case(metric, world, way), metric, way.cut)


def _every_table(metric: MetricDefinition) -> Iterator[tuple[str, pd.DataFrame, SmallWorld]]:
    """Yield the values of the small world, of one without results and of one without chunks."""
    world = small_world()
    parts = ((world, ""), (world.cut(0), " without results"), (replace(world.cut(0), chunks=()), " without chunks"))
    for way in _ways(metric):
        for part, what in parts:
            yield f"{way}{what}", _table(metric, part, way), part


def _difference(table: pd.DataFrame, other: pd.DataFrame) -> int | None:
    """Return the first query whose row differs, or None."""
    same = (table == other) | (table.isna() & other.isna())
    different = np.flatnonzero(~same.all(axis=1))
    return int(different[0]) if len(different) else None
