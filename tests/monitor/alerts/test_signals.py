from typing import Any

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.monitor.alerts.logs import HITS, at, row, table
from tests.monitor.log_lines import ROWS, arrow_table, by_rows
from workbench.monitor.alerts.signals import DAY, ordered, signals, units, version_changes, version_names

MINUTE = 60 * 10**9


def test_values_are_read_from_log_rows_and_unknown_ones_are_nan() -> None:
    found = table(
        [
            row(
                0,
                0,
                hits=[],
                refused=True,
                seconds=1.5,
                cost=0.01,
                feedback=[{"kind": "thumb", "value": 1}, {"kind": "thumb", "value": -1}],
            ),
            row(1, 1, hits=None, refused=None, seconds=float("inf"), feedback=[{"kind": "own", "value": -1}]),
            row(2, 2, feedback=[{"kind": "edit", "text": "better"}]),
        ]
    )
    expected = {
        "empty": [1, np.nan, 0],
        "similarity": [np.nan, np.nan, 0.8],
        "refused": [1, np.nan, np.nan],
        "seconds": [1.5, np.nan, np.nan],
        "cost": [0.01, np.nan, np.nan],
        "negative": [1, np.nan, 1],
    }
    assert found["documents"].tolist() == [(), (), ("a",)]
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name].to_numpy(dtype=float), values, name)


@given(st.lists(ROWS, max_size=6))
def test_columns_give_the_same_as_rows_one_by_one(rows: list[dict[str, Any]]) -> None:
    rows = [row | {"id": f"q{number}"} for number, row in enumerate(rows)]
    log = arrow_table(rows)
    # Chunks are those of files.
    found = signals(pa.concat_tables([log.slice(0, 2), log.slice(2)]))
    setups = [tuple(value if isinstance(value, str) else None for value in setup) for setup in found.pop("setup")]
    assert setups == [setup_by_hand(one) for one in rows]
    assert by_rows(found) == [by_hand(one) for one in rows]


def setup_by_hand(one: dict[str, Any]) -> tuple[Any, ...]:
    versions = one.get("versions")
    text = None if versions is None else orjson.dumps(versions, option=orjson.OPT_SORT_KEYS).decode()
    return (one.get("configuration"), one.get("model"), text)


def by_hand(one: dict[str, Any]) -> dict[str, Any]:
    """The signals of a row, written once more."""
    hits, negative = one.get("hits"), None
    for item in one.get("feedback") or ():
        if item.get("kind") == "edit" or (item.get("kind") == "thumb" and item.get("value")):
            negative = item["kind"] == "edit" or item["value"] < 0
    ids = [hit.get("doc_id") for hit in hits or ()]
    return {
        **{name: one.get(name) for name in ("id", "user", "session", "seconds", "cost", "refused")},
        "turn": None if one.get("turn") is None else float(one["turn"]),
        "time": pd.Timestamp(one["time"]).as_unit("ns").value,
        "query": one["query"][:4_000],
        "empty": None if hits is None else not hits,
        "similarity": hits[0].get("score") if hits else None,
        "documents": tuple(ids) if all(ids) else None,
        "negative": negative,
        "logged": one.get("probability") or 1.0,
    }


def test_rows_out_of_order_repeated_ids_and_bad_times_are_sorted_and_counted() -> None:
    rows = [row(1, 10), row(0, 5), row(1, 20), row(2, 0, time="yesterday"), row(3, 1e7)]
    found, left_out = ordered(table(rows), int(pd.Timestamp(at(60)).value))
    assert found["id"].tolist() == ["q0", "q1"]
    assert left_out == {"no time that can be believed": 1, "a repeated id": 1, "after the present": 1}


def test_a_conversation_counts_once_when_it_is_complete() -> None:
    times = np.array([0, 1, 2, 3, 50, 90]) * MINUTE
    sessions = pd.Series(["a", None, "a", "b", None, "a"])
    values = np.array([1.0, 0.0, 0.0, 1.0, np.nan, 1.0])
    found = units(times, sessions, values, 30 * MINUTE, 100 * MINUTE)
    # The last question of `a` comes after the pause and is not complete yet.
    assert found.times.tolist() == [1 * MINUTE, 32 * MINUTE, 33 * MINUTE]
    assert found.values.tolist() == [0.0, 0.5, 1.0]
    later = units(times, sessions, values, 30 * MINUTE, 120 * MINUTE)
    assert later.times.tolist() == [*found.times.tolist(), 120 * MINUTE]
    assert later.values.tolist() == [*found.values.tolist(), 1.0]


def test_a_log_that_grows_keeps_its_observations() -> None:
    random = np.random.default_rng(0)
    times = np.sort(random.integers(0, 3 * DAY, 500))
    sessions = pd.Series([f"s{number}" if number else None for number in random.integers(0, 60, 500)])
    values = random.random(500)
    whole = units(times, sessions, values, 30 * MINUTE, 3 * DAY)
    for until in (DAY // 2, DAY, 2 * DAY):
        seen = times <= until
        part = units(times[seen], sessions[seen], values[seen], 30 * MINUTE, until)
        assert part.times.tolist() == whole.times[: len(part.times)].tolist()
        assert part.values.tolist() == whole.values[: len(part.times)].tolist()
        assert (whole.times[len(part.times) :] > until).all()


def test_a_version_that_appears_is_a_change_and_two_that_answer_in_turns_are_none() -> None:
    versions = [{"index": "1", "prompt": "ab"[number % 2]} for number in range(20)] + [{"index": "2", "prompt": "a"}] * 5
    found = version_changes(table([row(number, number, versions=one, hits=HITS) for number, one in enumerate(versions)])["setup"])
    assert [tuple(change) for change in found] == [(20, "index", "1", "2")]


def test_a_log_that_begins_with_several_versions_at_once_has_no_change() -> None:
    random = np.random.default_rng(0)
    rows = [row(number, number, versions={"embedder": "abc"[random.integers(3)]}, hits=HITS) for number in range(500)]
    assert version_changes(table(rows)["setup"]) == []


def test_a_version_that_returns_after_a_long_time_is_a_change() -> None:
    models = ["new" if 50 <= number < 1200 else "old" for number in range(1300)]
    found = version_changes(table([row(number, number, model=one) for number, one in enumerate(models)])["setup"])
    assert [(change.row, change.after) for change in found] == [(50, "new"), (1200, "old")]


def test_of_very_many_names_of_versions_the_most_frequent_are_compared() -> None:
    versions = [{f"n{number}": "a", "index": "ab"[number > 1_500]} for number in range(3_000)]
    setups = table([row(number, number, versions=one, model="m") for number, one in enumerate(versions)])["setup"]
    names, others = version_names(setups)
    assert (len(names), others) == (50, 3_002 - 50)
    assert {"index", "model"} <= {*names}
    assert (1_501, "index", "a", "b") in [tuple(change) for change in version_changes(setups)]


def test_an_empty_log_has_no_signals() -> None:
    found, left_out = ordered(table([]), None)
    assert len(found) == 0
    assert sum(left_out.values()) == 0
