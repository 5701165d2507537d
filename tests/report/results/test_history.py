import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.shared import built_once
from workbench.core.errors import InputError, StoreError
from workbench.report.results.history import COLUMNS, append, changes, history_path, read_history
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.pipeline.graph import Graph

NOON = datetime(2026, 5, 1, 12, 0, 0, 999_999, tzinfo=UTC)
# Appends until it is told that it is enough, and is killed in the middle of the next time.
CHILD = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
import pyarrow.parquet as pq
from workbench.report.results.history import append
from workbench.report.results.run_tables import RunTables
run, outputs, times = RunTables.read(sys.argv[1]), Path(sys.argv[2]), 0
while not (outputs / "enough").exists():
    append(run, outputs, datetime.now(UTC))
    times += 1
print(times, flush=True)
whole = pq.write_table
def half(table, where, **options):
    whole(table, where, **options)
    os.truncate(where, os.path.getsize(where) // 2)
    os.kill(os.getpid(), 9)
pq.write_table = half
append(run, outputs, datetime.now(UTC))
"""


@pytest.fixture(scope="session")
def outcome(outcome_of_sizes, tmp_path_factory) -> Outcome:
    """A dense run of three sizes of chunks, written."""
    outcome = outcome_of_sizes()
    built_once(tmp_path_factory, "written-sizes", lambda _: write_outputs(outcome))
    return outcome


@pytest.fixture(scope="module")
def swept(outcome) -> RunTables:
    return RunTables.read(outcome.folder)


def changed(outcome: Outcome, **stages) -> RunTables:
    """The run with other settings of the first configuration, its results left as they are."""
    configuration, *others = outcome.experiment.configurations
    for stage, values in stages.items():
        configuration = replace(configuration, **{stage: getattr(configuration, stage).model_copy(update=values)})
    experiment = replace(outcome.experiment, configurations=(configuration, *others))
    return collect(replace(outcome, experiment=experiment))


def relabelled(outcome: Outcome, **context) -> RunTables:
    """The run with other labels, or another definition of spans."""
    settings = outcome.experiment.settings | ({"spans": context["spans"]} if "spans" in context else {})
    dataset = replace(outcome.run.dataset, qrels=outcome.run.dataset.qrels[1:])
    graph = Graph(replace(outcome.run, dataset=dataset, **context))
    return collect(replace(outcome, experiment=replace(outcome.experiment, settings=settings), graph=graph))


def test_a_run_is_its_means_over_all_questions_with_what_made_them(outcome, swept, tmp_path):
    run_id = append(swept, tmp_path, NOON)
    history = read_history(history_path(tmp_path))
    assert tuple(history.columns) == COLUMNS
    assert set(history["run"]) == {run_id}
    assert set(history["time"]) == {pd.Timestamp("2026-05-01T12:00:00Z")}
    metrics = pd.read_parquet(outcome.folder / "metrics.parquet")
    metrics = metrics[metrics["slice"] == "all"].reset_index(drop=True)
    shared = ["configuration", "condition", "metric", "slice", "value", "low", "high"]
    pd.testing.assert_frame_equal(history[shared], metrics[shared])
    assert set(history.loc[history["primary"], "metric"]) == {"span_recall@500t"}
    assert history["prompt"].isna().all()
    assert history["chunking"].nunique() == 3
    assert history["embedding"].nunique() == 1
    assert set(history["corpus"]) == {outcome.run.fingerprints["corpus"]}


def test_the_types_of_the_columns_are_fixed(swept, tmp_path):
    append(swept, tmp_path, NOON)
    kinds = {field.name: str(field.type) for field in pq.read_schema(history_path(tmp_path))}
    assert list(kinds) == list(COLUMNS)
    assert kinds.pop("time") == "timestamp[ms, tz=UTC]"
    assert kinds.pop("primary") == "bool"
    assert {kinds.pop(name) for name in ("value", "low", "high")} == {"double"}
    assert {kinds.pop(name) for name in ("n", "clusters")} == {"int64"}
    assert set(kinds.values()) == {"string"}


def test_another_run_is_added_behind_and_has_another_id_even_in_the_same_second(swept, tmp_path):
    runs = [append(swept, tmp_path, NOON) for _ in range(3)]
    history = read_history(history_path(tmp_path))
    assert len(set(runs)) == 3
    assert history["run"].drop_duplicates().tolist() == runs
    assert len(history) == 3 * len(history[history["run"] == runs[0]])


def test_times_are_in_utc(swept, tmp_path):
    append(swept, tmp_path, NOON.astimezone(timezone(timedelta(hours=5))))
    assert read_history(history_path(tmp_path))["time"].iloc[0] == pd.Timestamp("2026-05-01T12:00:00Z")


def test_a_run_that_finished_nothing_leaves_no_history(outcome, tmp_path):
    assert append(collect(replace(outcome, results=[])), tmp_path, NOON) == ""
    assert not history_path(tmp_path).exists()


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ({}, ""),
        ({"retrieval": {"k": 7}}, "retrieval"),
        ({"chunking": {"size": 100}}, "chunking"),
        ({"embedding": {"max_tokens": 100}}, "embedding"),
        ({"embedding": {"max_tokens": 100}, "chunking": {"size": 100}}, "chunking, embedding"),
    ],
)
def test_a_stage_that_is_another_is_named_and_none_of_those_behind_it(outcome, swept, tmp_path, stages, told):
    append(swept, tmp_path, NOON)
    append(changed(outcome, **stages), tmp_path, NOON)
    history = read_history(history_path(tmp_path))
    assert changes(history, "sizes", outcome.results[0].configuration.name, "recall@3")["changed"].tolist() == ["", told]
    assert changes(history, "sizes", outcome.results[1].configuration.name, "recall@3")["changed"].tolist() == ["", ""]


def test_changed_labels_and_a_changed_definition_of_spans_are_named(outcome, swept, tmp_path):
    append(swept, tmp_path, NOON)
    append(relabelled(outcome), tmp_path, NOON)
    append(relabelled(outcome, spans="chroma"), tmp_path, NOON)
    found = changes(read_history(history_path(tmp_path)), "sizes", "fixed-16-0", "recall@3")
    assert found["changed"].tolist() == ["", "labels", "labels"]


def test_a_value_that_changes_by_itself_is_unexplained(past):
    rows = [{"run": 0, "value": 0.5}, {"run": 1, "value": 0.5}, {"run": 2, "value": 0.6}, {"run": 3, "value": 0.7, "labels": "b"}]
    found = changes(read_history(history_path(past(rows))), "mine", "whole", "recall@5")
    assert found["unexplained"].tolist() == [False, False, True, False]
    assert found["changed"].tolist() == ["", "", "", "labels"]
    assert found["difference"].round(9).tolist()[1:] == [0, 0.1, 0.1]


def test_runs_with_equal_settings_and_value_are_the_same_result(past):
    rows = [("a", 0.5), ("a", 0.5), ("b", 0.5), ("b", 0.6), ("a", 0.5), ("a", 0.5 + 1e-12)]
    made = [{"run": run, "value": value, "chunking": chunking} for run, (chunking, value) in enumerate(rows)]
    found = changes(read_history(history_path(past(made))), "mine", "whole", "recall@5")
    assert found["result"].tolist() == [0, 0, 1, 2, 0, 0]
    assert found["unexplained"].tolist() == [False, False, False, True, False, False]


def test_a_history_without_scores_is_read_and_lengthened(swept, tmp_path):
    first = append(swept, tmp_path, NOON)
    path = history_path(tmp_path)
    for missing in (["scores"], ["stages", "scores"]):
        older = pq.read_table(path).drop_columns(missing)
        pq.write_table(older.filter(pc.equal(older["run"], first)), path)
        assert read_history(path)["scores"].isna().all()
        second = append(swept, tmp_path, NOON)
        scores = read_history(path).drop_duplicates(["run", "configuration", "primary"]).set_index(["run", "primary"])["scores"]
        assert scores[first].isna().all()
        assert scores[second, True].notna().all()
        assert scores[second, False].isna().all()


def test_a_fingerprint_that_comes_or_goes_is_a_change(past):
    rows = [{"run": run, "value": 0.5, "embedding": given} for run, given in enumerate([None, None, "a", None])]
    found = changes(read_history(history_path(past(rows))), "mine", "whole", "recall@5")
    assert found["changed"].tolist() == ["", "", "embedding", "embedding"]


def test_what_was_not_scored_and_what_is_of_others_is_left_out(past):
    others = [{"metric": "mrr@10"}, {"configuration": "fixed"}, {"experiment": "other"}, {"condition": "gold"}]
    rows = [{"run": 0, "value": 0.5}, *({"run": 1, "value": 0.9} | other for other in others), {"run": 2, "value": float("nan")}]
    assert changes(read_history(history_path(past(rows))), "mine", "whole", "recall@5")["value"].tolist() == [0.5]


def test_the_commit_is_null_outside_git_and_marked_where_files_differ_from_it(swept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    append(swept, tmp_path, NOON)
    (tmp_path / "prompt.txt").write_text("one")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "prompt.txt"], [*who, "commit", "-qm", "first"], [*who, "tag", "-am", "one", "v1"]):
        subprocess.run(["git", *words], check=True)
    append(swept, tmp_path, NOON)
    (tmp_path / "prompt.txt").write_text("two")
    append(swept, tmp_path, NOON)
    commits = read_history(history_path(tmp_path)).drop_duplicates("run")["commit"].tolist()
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert pd.isna(commits[0])
    assert commits[1:] == [head, f"{head}-dirty"]


def test_two_processes_that_append_at_once_lose_nothing_and_one_that_is_killed_leaves_the_old_file(fork, outcome, swept, tmp_path):
    child = fork(CHILD, outcome.folder, tmp_path)
    while not history_path(tmp_path).exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    own = [append(swept, tmp_path, NOON) for _ in range(12)]
    (tmp_path / "enough").touch()
    assert child.wait(timeout=120) == -9
    others = int(child.stdout.readline())
    history = read_history(history_path(tmp_path))
    assert history["run"].nunique() == len(own) + others
    assert set(own) < set(history["run"])
    assert len(set(history.groupby("run").size())) == 1
    assert (history["run"] != history["run"].shift()).sum() == len(own) + others
    assert list(tmp_path.glob(".history.parquet.*.tmp"))
    last = append(swept, tmp_path, NOON)
    assert read_history(history_path(tmp_path))["run"].drop_duplicates().tolist() == [*history["run"].drop_duplicates(), last]
    assert not list(tmp_path.glob(".history.parquet.*.tmp"))


@pytest.mark.parametrize("content", [b"", b"no parquet at all", b"PAR1" + bytes(100) + b"PAR1"])
def test_a_corrupt_history_is_one_line_that_names_the_file_and_is_left_as_it_is(swept, tmp_path, content):
    history_path(tmp_path).write_bytes(content)
    for use in (lambda: append(swept, tmp_path, NOON), lambda: read_history(history_path(tmp_path))):
        with pytest.raises(StoreError, match="is corrupt") as caught:
            use()
        (line,) = caught.value.lines
        assert str(history_path(tmp_path)) in line
        assert line.endswith(
            "corrupt (it is not a complete parquet file); run workbench doctor, which moves it away: the next sweep begins a new one"
        )
    assert history_path(tmp_path).read_bytes() == content


def test_half_a_history_is_corrupt(swept, tmp_path):
    append(swept, tmp_path, NOON)
    whole = history_path(tmp_path).read_bytes()
    history_path(tmp_path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"history\.parquet is corrupt"):
        append(swept, tmp_path, NOON)


def test_another_table_is_not_lengthened(swept, tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(history_path(tmp_path))
    with pytest.raises(StoreError, match="its columns are a"):
        append(swept, tmp_path, NOON)
    assert pd.read_parquet(history_path(tmp_path))["a"].tolist() == [1]


def test_without_a_history_the_fix_is_a_sweep(tmp_path):
    with pytest.raises(InputError, match="workbench sweep"):
        read_history(history_path(tmp_path))


@pytest.mark.slow
def test_a_run_takes_little_room(swept, tmp_path):
    sizes = []
    for number in range(40):
        append(swept, tmp_path, NOON + timedelta(days=number))
        sizes.append(history_path(tmp_path).stat().st_size)
    rows = len(read_history(history_path(tmp_path))) / 40
    assert (sizes[-1] - sizes[0]) / 39 < 20 * rows
