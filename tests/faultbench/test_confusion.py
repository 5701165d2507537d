"""Planted against attributed causes."""

from collections import Counter

import pytest

from workbench.attribution.causes import CAUSE_NAMES as CAUSES
from workbench.errors import RunError
from workbench.faultbench.cases import NONE
from workbench.faultbench.confusion import confusion


def test_rows_sum_to_the_cases_of_each_cause(cases):
    table = confusion(cases, lambda seen: CAUSES[len(seen.answer) % len(CAUSES)])
    assert table.sum(axis="columns").to_dict() == {**dict.fromkeys((*CAUSES, NONE), 0), **Counter(case.cause for case in cases)}


def test_a_right_attribution_fills_the_diagonal(cases, attribution):
    table = confusion(cases, attribution)
    assert all(table.loc[cause, cause] == table.loc[cause].sum() for cause in table.index)


def test_all_causes_are_there_in_order_even_without_cases():
    table = confusion((), lambda _: "rank")
    assert list(table.index) == [*CAUSES, NONE]
    assert list(table.columns) == [*CAUSES, NONE, "failed"]
    assert table.to_numpy().sum() == 0


def test_errors_and_unknown_names_are_counted_not_dropped(cases):
    def attribute(seen):
        if seen.refused:
            raise RunError("no idea")
        return "gremlins"

    table = confusion(cases, attribute)
    assert table["failed"].sum() == len(cases) == table.to_numpy().sum()


def test_a_bug_of_an_attribution_comes_through(cases):
    with pytest.raises(ZeroDivisionError):
        confusion(cases, lambda _: 1 // 0)
