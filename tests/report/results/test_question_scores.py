from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import StoreError
from workbench.report.analysis.values import per_query
from workbench.report.results import history
from workbench.report.results.history import (
    SCORES_SCHEMA,
    add_scores,
    append,
    history_path,
    primary_scores,
    read_history,
    read_scores,
    scores_path,
)
from workbench.report.results.run_tables import RunTables

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def run(few) -> RunTables:
    return RunTables.read(few.folder)


def sets(*names: str, queries: int = 10) -> dict[str, pd.DataFrame]:
    ids = [f"q{number}" for number in range(queries)]
    return {name: pd.DataFrame({"query_id": ids, "cluster": 0, "documents": "[]", "value": 0.5, "scores": name}) for name in names}


def test_the_history_names_the_primary_scores_of_every_configuration(run, tmp_path):
    append(run, tmp_path, NOON)
    history, kept = read_history(history_path(tmp_path)), read_scores(scores_path(tmp_path))
    named = history.dropna(subset="scores").set_index("configuration")["scores"]
    assert sorted(named.index) == sorted(run.names)
    for configuration, name in named.items():
        scores = kept[name]
        assert scores["query_id"].tolist() == run.questions["query_id"].tolist()
        assert scores["cluster"].tolist() == run.questions["cluster"].tolist()
        np.testing.assert_array_equal(scores["value"], per_query(run, configuration, str(run.primary)))


def test_runs_that_repeat_each_other_share_their_scores(run, tmp_path):
    append(run, tmp_path, NOON)
    before = scores_path(tmp_path).read_bytes()
    append(run, tmp_path, NOON)
    assert scores_path(tmp_path).read_bytes() == before
    assert read_history(history_path(tmp_path)).groupby("configuration")["scores"].nunique().max() == 1


def test_scores_that_differ_have_another_name(run):
    names, scores = primary_scores(run)
    assert set(names) == set(run.names)
    assert set(names.values()) == set(scores)


def test_beyond_the_bound_the_sets_used_longest_ago_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "MOST_SCORES", 30)
    path, used = scores_path(tmp_path), []
    for name in ("a", "b", "a", "c", "d"):
        add_scores(path, sets(name), pd.Series(used, dtype=object))
        used.append(name)
    assert sorted(read_scores(path)) == ["a", "c", "d"]
    add_scores(path, sets("e", queries=50), pd.Series(used, dtype=object))
    assert sorted(read_scores(path)) == ["e"]


def test_without_a_file_there_are_no_scores(tmp_path):
    assert read_scores(scores_path(tmp_path)) == {}


@pytest.mark.parametrize("content", [b"", b"PAR1" + bytes(100) + b"PAR1"])
def test_corrupt_scores_are_one_line_and_leave_both_files_as_they_are(run, tmp_path, content):
    append(run, tmp_path, NOON)
    before = history_path(tmp_path).read_bytes()
    scores_path(tmp_path).write_bytes(content)
    with pytest.raises(StoreError, match=r"history_scores\.parquet are corrupt"):
        append(run, tmp_path, NOON)
    assert (history_path(tmp_path).read_bytes(), scores_path(tmp_path).read_bytes()) == (before, content)


def test_another_table_is_not_lengthened(run, tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(scores_path(tmp_path))
    with pytest.raises(StoreError, match="its columns are a"):
        append(run, tmp_path, NOON)


def test_a_score_takes_little_room(tmp_path):
    random, count = np.random.default_rng(0), 300
    made = {}
    for number in range(40):
        values = random.choice([0, 0.25, 0.5, 1], count)
        made |= {f"{number}": sets(f"{number}", queries=count)[f"{number}"].assign(value=values)}
    add_scores(scores_path(tmp_path), made, pd.Series(dtype=object))
    assert scores_path(tmp_path).stat().st_size / (40 * count) < 3
    assert SCORES_SCHEMA.names == ["scores", "query_id", "cluster", "documents", "value"]
