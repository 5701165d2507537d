"""The laws of metrics."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd

from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.metrics.case import Case, Cut, MetricValues, SpanDefinition
from workbench.metrics.evaluate import values_of
from workbench.metrics.registry import KINDS, Kind, Requirement
from workbench.testing.law import check_all, given, law
from workbench.testing.small_results import NEGATIVE, SmallWorld, small_world

_K, _TOKENS = 3, 20
# Hits that fill every cut above: 20 tokens are fewer than six chunks.
_ENOUGH = 6
_TOLERANCE = 1e-12


@law
def the_kind_is_well_defined(kind: Kind) -> Iterator[str]:
    """`family` and `cut` have one of their values, `requires` is a Requirement, `version` an int from 1, `definition` a text."""
    hints = get_type_hints(Kind)
    for name in ("family", "cut"):
        if getattr(kind, name) not in get_args(hints[name]):
            yield f"{name} is {getattr(kind, name)!r}, not one of {', '.join(map(repr, get_args(hints[name])))}"
    if not isinstance(kind.requires, Requirement):
        yield f"requires is {kind.requires!r}, not RELEVANT, EVIDENCE or another Requirement"
    if isinstance(kind.version, bool) or not isinstance(kind.version, int) or kind.version < 1:
        yield f"version is {kind.version!r}"
    if not kind.definition.strip():
        yield "definition is empty"


@law
def there_is_one_value_for_each_query(kind: Kind) -> Iterator[str]:
    """`compute` returns MetricValues of arrays (queries); each reason in `unscored` is a text with bools (queries)."""
    world = small_world()
    for cut, spans in _ways(kind):
        values, n = _compute(kind, _case(kind, world, cut, spans), cut), len(world.queries)
        if not isinstance(values, MetricValues):
            yield f"{_at(cut, spans)}, it returned a {type(values).__name__}"
            return
        for name, array in (("value", values.value), ("attainable", values.attainable)):
            if array is not None and np.shape(array) != (n,):
                yield f"{_at(cut, spans)}, {name} has the shape {np.shape(array)} for {n} queries"
        for reason, queries in values.unscored:
            if not str(reason).strip() or np.shape(queries) != (n,) or np.asarray(queries).dtype != np.bool_:
                yield f"{_at(cut, spans)}, unscored has ({reason!r}, {np.asarray(queries).dtype} {np.shape(queries)}) for {n} queries"
    if np.shape(met := kind.requires.met(world.labels)) != (len(world.queries),) or np.asarray(met).dtype != np.bool_:
        yield f"requires.met returns {np.asarray(met).dtype} {np.shape(met)} for {len(world.queries)} queries"


@law
def a_scored_value_is_a_number(kind: Kind) -> Iterator[str]:
    """A value is finite, unless `requires` or `unscored` say why the query has none."""
    for where, table, world in _every_table(kind):
        scored = table[table["state"] == "scored"]
        if len(wrong := scored[~np.isfinite(scored["value"])]):
            query = int(wrong["query"].iloc[0])
            yield f"{where}, the query {world.queries[query]} with the hits {list(world.hits[query])} has the value {wrong['value'].iloc[0]}"


@law
def a_query_without_a_value_has_a_reason(kind: Kind) -> Iterator[str]:
    """A query that is not scored has a reason."""
    for where, table, world in _every_table(kind):
        if len(wrong := table[(table["state"] != "scored") & (table["reason"].astype(str).str.strip() == "")]):
            yield f"{where}, the query {world.queries[int(wrong['query'].iloc[0])]} is {wrong['state'].iloc[0]} without a reason"


@law
def a_proportion_lies_between_0_and_1(kind: Kind) -> Iterator[str]:
    """A value is between 0 and 1, unless the kind has `proportion=False`."""
    for where, table, world in _every_table(kind) if kind.proportion else ():
        if len(wrong := table[(table["value"] < 0) | (table["value"] > 1)]):
            yield f"{where}, the query {world.queries[int(wrong['query'].iloc[0])]} has the value {wrong['value'].iloc[0]:.6g}"


@law
def no_value_exceeds_what_is_attainable(kind: Kind) -> Iterator[str]:
    """No value is above the query's `attainable`, if there is one."""
    for where, table, world in _every_table(kind):
        if len(wrong := table[table["value"] > table["attainable"] + _TOLERANCE]):
            row, query = wrong.iloc[0], world.queries[int(wrong["query"].iloc[0])]
            yield f"{where}, the query {query} has the value {row['value']:.6g}, and attainable is {row['attainable']:.6g}"


@law
def queries_do_not_affect_each_other(kind: Kind) -> Iterator[str]:
    """A query has the same value in another order of the queries and beside fewer."""
    world = small_world()
    n = len(world.queries)
    orders = [list(range(n))[::-1], *(sorted({*range(first, n, 3), NEGATIVE}) for first in range(3))]
    others = [(order, world.only(order)) for order in orders]
    for cut, spans in _ways(kind):
        together = _table(kind, world, cut, spans)
        for order, other in others:
            expected, again = (table.drop(columns="query") for table in (together.iloc[order], _table(kind, other, cut, spans)))
            if (place := _difference(expected.reset_index(drop=True), again)) is not None:
                query, values = world.queries[order[place]], (expected["value"].iloc[place], again["value"][place])
                how = "in the opposite order of queries" if len(order) == n else f"beside {len(order) - 1} queries"
                yield f"{_at(cut, spans)}, the query {query} has the value {values[0]}, and {how} {values[1]}"


@law
def results_beyond_the_cut_do_not_count(kind: Kind) -> Iterator[str]:
    """Results beyond the cut change no value: documents beyond k of `ranking`, or chunks beyond k or the tokens."""
    world = small_world()
    for cut, spans in _ways(kind) if kind.cut != "none" and kind.family != "other" else ():
        case = _case(kind, world, cut, spans)
        hits, ranking = case.retrieved.hits, case.retrieved.ranking
        if kind.family == "documents":
            first = replace(case.retrieved, ranking=ranking[ranking["rank"] <= cut.depth])
        else:
            first = replace(case.retrieved, hits=hits[hits["rank"] <= _ENOUGH])
        shorter = values_of(Case(case.labels, first, spans, case.depths), kind, cut)
        whole = values_of(case, kind, cut)
        if (place := _difference(whole, shorter)) is not None:
            query = f"the query {world.queries[place]}"
            yield f"{_at(cut, spans)}, {query} has the value {whole['value'][place]}, and {shorter['value'][place]} without what is beyond"


@law
def a_slice_found_twice_counts_once(kind: Kind) -> Iterator[str]:
    """A second hit that delivers the same slice changes no value, because it is delivered once; family `other` may differ."""
    world = small_world()
    found_twice = world.found_twice()
    for cut, spans in _ways(kind) if kind.family != "other" else ():
        once, twice = (_table(kind, each, cut, spans) for each in (world, found_twice))
        if (place := _difference(once, twice)) is not None:
            values = f"{once['value'][place]}, and {twice['value'][place]} when every slice is found twice"
            yield f"{_at(cut, spans)}, the query {world.queries[place]} has the value {values}"


@law
def nothing_retrieved_earns_no_credit(kind: Kind) -> Iterator[str]:
    """A query without results scores 0 or is unscored, if higher is better and the metric reads the results."""
    world = small_world()
    empty = world.cut(0)
    for cut, spans in _ways(kind) if kind.higher_is_better else ():
        full, nothing = (_table(kind, each, cut, spans)["value"] for each in (world, empty))
        credit = nothing[nothing.notna() & (nothing != 0)]
        if len(credit) and not full.equals(nothing):
            yield f"{_at(cut, spans)}, the query {world.queries[int(credit.index[0])]} scores {credit.iloc[0]:.6g} without results"


@law
def the_inputs_stay_as_they_are(kind: Kind) -> Iterator[str]:
    """`compute` changes neither labels nor results, which other metrics read too."""
    for cut, spans in _ways(kind):
        case, untouched = (_case(kind, small_world(), cut, spans) for _ in range(2))
        _compute(kind, case, cut)
        for name in ("chunks", "hits", "ranking"):
            if not getattr(case.retrieved, name).equals(getattr(untouched.retrieved, name)):
                yield f"{_at(cut, spans)}, it changed the table {name} of case.retrieved"
        for name in ("answerable", "qrel_query", "qrel_doc", "qrel_relevance", "alternative_start", "alternative_end"):
            if not np.array_equal(getattr(case.labels, name), getattr(untouched.labels, name)):
                yield f"{_at(cut, spans)}, it changed {name} of case.labels"


METRIC_LAWS = (
    the_kind_is_well_defined,
    there_is_one_value_for_each_query,
    a_scored_value_is_a_number,
    a_query_without_a_value_has_a_reason,
    a_proportion_lies_between_0_and_1,
    no_value_exceeds_what_is_attainable,
    queries_do_not_affect_each_other,
    results_beyond_the_cut_do_not_count,
    a_slice_found_twice_counts_once,
    nothing_retrieved_earns_no_credit,
    the_inputs_stay_as_they_are,
)


def check_metric(metric: Kind | str) -> None:
    """Check that a metric keeps all of METRIC_LAWS: a `Kind`, or its registered name such as `recall`.

    Raises LawError for the first law that it breaks.
    """
    if isinstance(metric, str) and metric not in KINDS:
        raise InputError(f"there is no metric {metric!r}{meant(metric, KINDS)}", "pass a Kind or its name without a cut")
    check_all(KINDS[metric] if isinstance(metric, str) else metric, Kind, METRIC_LAWS)


def _ways(kind: Kind) -> list[tuple[Cut, SpanDefinition]]:
    """List the cuts that the kind allows, each with both definitions of span metrics."""
    cuts = {"none": [Cut()], "k": [Cut(1), Cut(_K)], "k or tokens": [Cut(1), Cut(_K), Cut(tokens=_TOKENS)]}[kind.cut]
    return [(cut, spans) for cut in cuts for spans in get_args(SpanDefinition)]


def _case(kind: Kind, world: SmallWorld, cut: Cut, spans: SpanDefinition) -> Case:
    depths = frozenset({cut.k} if kind.family == "documents" and cut.k else ())
    return Case(world.labels, world.retrieved, spans, depths)


def _compute(kind: Kind, case: Case, cut: Cut) -> MetricValues:
    with given(_at(cut, case.spans)):
        return kind.compute(case, cut)


def _table(kind: Kind, world: SmallWorld, cut: Cut, spans: SpanDefinition) -> pd.DataFrame:
    with given(_at(cut, spans)):
        return values_of(_case(kind, world, cut, spans), kind, cut)


def _every_table(kind: Kind) -> Iterator[tuple[str, pd.DataFrame, SmallWorld]]:
    """Yield the values of the small world, of one without results and of one without chunks."""
    world = small_world()
    parts = ((world, ""), (world.cut(0), " without results"), (replace(world.cut(0), chunks=()), " without chunks"))
    for cut, spans in _ways(kind):
        for part, what in parts:
            yield f"{_at(cut, spans)}{what}", _table(kind, part, cut, spans), part


def _difference(table: pd.DataFrame, other: pd.DataFrame) -> int | None:
    """Return the first query whose row differs, or None."""
    same = (table == other) | (table.isna() & other.isna())
    different = np.flatnonzero(~same.all(axis=1))
    return int(different[0]) if len(different) else None


def _at(cut: Cut, spans: SpanDefinition) -> str:
    return f"at k={cut.k}, tokens={cut.tokens}, spans={spans}"
