import math

import pytest

from workbench.report.cells import Scale, digits_for, queries_cell, value_cell
from workbench.report.model import Cell


def test_a_small_difference_does_not_fill_the_scale():
    scale = Scale.over([0.80, 0.81])
    assert scale.high - scale.low == pytest.approx(0.2)
    found = scale.bar(0.805, 0.80, 0.81)
    assert found.high - found.low < 6


def test_a_bar_without_bounds_is_a_point_and_without_a_value_nothing():
    scale = Scale.over([0.0, 1.0], zero=True)
    found = scale.bar(0.5, math.nan, math.nan, zero=True)
    assert found.low == found.value == found.high
    assert found.zero == 4.0
    assert scale.bar(math.nan, 0, 1) is None


def test_cells_are_sorted_by_number_with_missing_ones_last():
    assert value_cell(1234.5, 0).key == "1234.5"
    assert value_cell(math.nan).key == ""
    assert Cell("a").key == "a"


def test_shades_go_from_the_faintest_to_the_strongest_over_a_fifth_at_least():
    scale = Scale.over([0.5, 0.52, math.nan])
    assert scale.high - scale.low == pytest.approx(0.2)
    assert [cell.shade for cell in Scale(0.0, 1.0).shades([0.0, 0.5, 1.0, math.nan], 2)] == [0, 4, 8, None]


def test_two_digits_become_three_where_values_or_zero_would_look_equal():
    assert digits_for([0.21, 0.25, math.nan]) == 2
    assert digits_for([0.251, 0.254]) == 3
    assert digits_for([0.25, 0.25]) == 2
    assert digits_for([-0.2, 0.004]) == 3


def test_a_list_of_questions_names_the_first_and_counts_the_rest():
    cell = queries_cell("rank", [f"q{number}" for number in range(20)])
    assert (len(cell.queries), cell.note) == (12, "and 8 more")
    assert queries_cell("rank", ["q1"]).note == ""
