import math

import pytest

from workbench.report.page.bars import Scale
from workbench.report.page.table import Cell, shade_cell, shade_range, value_cell


def test_a_small_difference_does_not_fill_the_scale():
    scale = Scale.over([0.80, 0.81])
    assert scale.high - scale.low == pytest.approx(0.2)
    found = scale.bar(0.805, 0.80, 0.81)
    assert float(found.high[:-1]) - float(found.low[:-1]) < 6


def test_a_bar_without_bounds_is_a_point_and_without_a_value_nothing():
    scale = Scale.over([0.0, 1.0], zero=True)
    found = scale.bar(0.5, math.nan, math.nan, zero=True)
    assert found.low == found.value == found.high
    assert found.zero == "4.0%"
    assert scale.bar(math.nan, 0, 1) is None


def test_cells_are_sorted_by_their_numbers_and_what_has_none_comes_last():
    assert value_cell(1234.5, 0).key == "1234.5"
    assert value_cell(math.nan).key == ""
    assert Cell("a").key == "a"


def test_shades_go_from_the_lightest_to_the_darkest_over_a_fifth_at_least():
    low, high = shade_range([0.5, 0.52, math.nan])
    assert high - low == pytest.approx(0.2)
    assert [shade_cell(value, 0.0, 1.0).shade for value in (0.0, 0.5, 1.0)] == [0, 4, 8]
    assert shade_cell(math.nan, 0, 1).shade is None
