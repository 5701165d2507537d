import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.measures.statistics.comparison import paired_difference
from workbench.measures.statistics.screening import Screening, screened

QUERIES = 120
CLUSTERS = np.arange(QUERIES) // 4


@pytest.fixture
def values():
    """`good` 0.8, `same` a little noise away from it, `near` 0.015 behind, `bad` 0.3 behind."""
    rng = np.random.default_rng(1)
    good, noise = np.clip(0.8 + rng.normal(0, 0.1, QUERIES), 0, 1), rng.normal(0, 0.05, QUERIES)
    return {
        "bad": good - 0.3 + rng.normal(0, 0.02, QUERIES),
        "near": good - 0.015 + rng.normal(0, 0.02, QUERIES),
        "same": good - 0.001 + noise - noise.mean(),
        "good": good,
    }


def fates(rows):
    return {row.configuration: row.kept for row in rows}


def test_only_configurations_certainly_more_than_the_margin_behind_are_dropped(values):
    proxies = dict.fromkeys(values, "a proxy")
    assert fates(screened(values, CLUSTERS, proxies=proxies)) == {"bad": False, "near": True, "same": True, "good": True}
    assert fates(screened(values, CLUSTERS, proxies=proxies, margin=0.0)) == {"bad": False, "near": False, "same": True, "good": True}
    assert all(fates(screened(values, CLUSTERS, proxies=proxies, margin=0.4)).values())


def test_the_difference_is_to_the_first_with_the_interval_of_the_verdict(values):
    rows = {row.configuration: row for row in screened(values, CLUSTERS, proxies={})}
    bad = rows["bad"]
    assert {row.first for row in rows.values()} == {"good"}
    assert bad.difference == pytest.approx((values["bad"] - values["good"]).mean())
    assert bad.low < bad.difference < bad.high < -0.25
    assert np.isnan(rows["good"].difference)
    told = paired_difference(values["bad"], values["good"], CLUSTERS)
    assert (bad.low, bad.high) == (told.low, told.high)


def test_spared_configurations_stay_and_one_that_cannot_be_first_drops_none(values):
    assert fates(screened(values, CLUSTERS, proxies={}, spared={"bad"}))["bad"]
    rows = screened(values | {"cut": values["good"] + 0.2}, CLUSTERS, proxies={}, never_first={"cut"})
    assert {row.first for row in rows} == {"good"}
    assert all(fates(screened(values, CLUSTERS, proxies={}, never_first=set(values))).values())


def test_where_less_is_better_the_highest_is_left_out(values):
    rows = screened({name: 1 - row for name, row in values.items()}, CLUSTERS, proxies={}, higher_is_better=False)
    assert fates(rows) == {"bad": False, "near": True, "same": True, "good": True}
    assert rows[0].low > 0.25


def test_configurations_without_values_or_variance_are_kept(values):
    rows = screened({"none": np.full(QUERIES, np.nan), "constant": values["good"] - 0.5, **values}, CLUSTERS, proxies={})
    assert fates(rows)["none"]
    assert fates(rows)["constant"]
    with pytest.raises(InputError, match="no configuration has a value"):
        screened({"none": np.full(QUERIES, np.nan)}, CLUSTERS, proxies={})


def test_a_screening_comes_back_from_json_as_it_was(values):
    made = Screening("m", 120, 300, 0.05, 6, tuple(screened(values, CLUSTERS, proxies={})), (("a", "b"),))
    again = Screening.of_json(made.as_json())
    assert again.as_json() == made.as_json()
    assert again.dropped == made.dropped
    assert np.isnan(again.rows[-1].difference)


def test_a_row_names_its_proxy_and_its_mean(values):
    rows = screened({**values, "none": np.full(QUERIES, np.nan)}, CLUSTERS, proxies={"bad": "dense", "good": "bm25"})
    assert [(row.configuration, row.proxy) for row in rows] == [
        ("bad", "dense"),
        ("near", ""),
        ("same", ""),
        ("good", "bm25"),
        ("none", ""),
    ]
    assert [row.value for row in rows] == pytest.approx([*(row.mean() for row in values.values()), np.nan], nan_ok=True)


def test_a_copy_of_the_first_is_kept_without_a_margin(values):
    rows = screened({"good": values["good"], "copy": values["good"]}, CLUSTERS, proxies={}, margin=0.0)
    assert [(row.difference, row.kept) for row in rows[1:]] == [(0, True)]


def test_missing_values_may_be_none_and_are_null_in_json(values):
    rows = screened({"good": [None, *values["good"][1:]], "bad": values["bad"]}, CLUSTERS, proxies={})
    assert rows[0].value == pytest.approx(values["good"][1:].mean())
    written = Screening("m", 120, 300, 0.05, 6, tuple(rows)).as_json()["rows"]
    assert [written[0][name] for name in ("difference", "low", "high")] == [None] * 3
    assert written[1]["difference"] == rows[1].difference
