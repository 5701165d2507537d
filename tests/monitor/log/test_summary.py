from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.monitor.log_lines import ROWS, question, write_segment
from workbench.measures.statistics.intervals import wilson
from workbench.monitor.log import summary
from workbench.monitor.log.log_files import compact
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.log.summary import READ, summarise

TUESDAY, WEDNESDAY = "2026-11-24T23:59:59Z", "2026-11-25T00:00:00Z"


def measure(table: pd.DataFrame, name: str, by: str = "all", group: str = "") -> "pd.Series[float]":
    (row,) = [row for _, row in table[(table["by"] == by) & (table["group"] == group) & (table["measure"] == name)].iterrows()]
    return row


def summarise_log(questions: LoggedQuestions) -> pd.DataFrame:
    return summarise(questions.batches(READ))


def a_log(folder: Path) -> LoggedQuestions:
    versions = {"prompt": "v1", "index": "3"}
    rows = [
        question(1) | {"time": TUESDAY, "hits": [], "refused": True, "session": "s", "turn": 1, "seconds": 1.0, "configuration": "a"},
        question(2) | {"time": TUESDAY, "hits": [{"score": 0.5}, {"score": 0.1}], "session": "s", "turn": 2, "seconds": 2.0, "cost": 3},
        question(3)
        | {"time": WEDNESDAY, "hits": [{"score": 1}, {"hop": 1}], "probability": 0.25, "versions": versions, "cost": 1.0, "refused": False},
        question(4) | {"time": WEDNESDAY, "error": "timeout", "versions": {"prompt": "v2"}, "feedback": [{"kind": "thumb", "value": -1}]},
        {"id": "q4", "feedback": [{"kind": "thumb", "value": 1}, {"kind": "edit", "text": "no"}]},
    ]
    write_segment(folder / "a.jsonl", rows)
    return LoggedQuestions(folder)


def test_a_log_is_summarised_by_hand(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for _ in range(2):
        table = summarise_log(log)
        # The third question counts for four.
        assert measure(table, "questions")[["total", "n"]].tolist() == [7, 4]
        assert measure(table, "conversations")["total"] == 1
        assert measure(table, "no_results")[["value", "total", "n"]].tolist() == [1 / 6, 1, 3]
        assert measure(table, "refused")[["value", "n"]].tolist() == [1 / 5, 2]
        assert measure(table, "error")[["value", "n"]].tolist() == [1 / 7, 4]
        assert measure(table, "first_score")[["value", "n"]].tolist() == [pytest.approx((0.5 + 4) / 5), 2]
        assert measure(table, "cost")[["value", "total"]].tolist() == [7 / 5, 7]
        assert measure(table, "several_retrievals")["value"] == 4 / 7
        assert measure(table, "later_turn")[["value", "n"]].tolist() == [0.5, 2]
        assert measure(table, "with_feedback")["total"] == 1
        assert measure(table, "thumb_up")[["value", "n"]].tolist() == [1, 1]
        assert measure(table, "seconds")["value"] == 1.5
        assert measure(table, "seconds_p50")["value"] == 1.0
        assert measure(table, "seconds_p95")["value"] == 2.0
        days = table[(table["by"] == "day") & (table["measure"] == "questions")].set_index("group")["total"].to_dict()
        assert days == {"2026-11-24": 2, "2026-11-25": 5}
        groups = table[(table["by"] == "configuration") & (table["measure"] == "questions")].set_index("group")["total"].to_dict()
        assert groups == {"": 6, "a": 1}
        assert set(table.loc[table["by"] == "versions", "group"]) == {"", '{"index":"3","prompt":"v1"}', '{"prompt":"v2"}'}
        compact(tmp_path, idle_seconds=-60)


def test_an_interval_has_the_effective_number_of_questions(tmp_path: Path) -> None:
    table = summarise_log(a_log(tmp_path))
    # Weights 1, 1, 4 and 1 are as good as 49 / 19 questions, and these are fewer than the conversations.
    error = measure(table, "error")
    assert [error["low"], error["high"]] == pytest.approx(wilson(1 / 7, 49 / 19).tolist())
    rows = [question(number, session=f"s{number // 50}", refused=number % 2 == 0) for number in range(500)]
    write_segment(tmp_path / "b" / "a.jsonl", rows)
    refused = measure(summarise_log(LoggedQuestions(tmp_path / "b")), "refused")
    assert [refused["low"], refused["high"]] == pytest.approx(wilson(0.5, 10).tolist())


def test_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "_MOST_GROUPS", 3)
    rows = [question(number, configuration=f"{number}" * 1000) for number in range(9)]
    table = summarise_log(LoggedQuestions(write_segment(tmp_path / "a.jsonl", rows)))
    groups = table[(table["by"] == "configuration") & (table["measure"] == "questions")]
    assert len(groups) <= 4
    assert groups["n"].sum() == 9
    assert groups["group"].str.len().max() == 200


def test_percentiles_are_exact(tmp_path: Path) -> None:
    seconds = np.random.default_rng(0).lognormal(0, 2, 2_000)
    path = write_segment(tmp_path / "a.jsonl", [question(number, seconds=value) for number, value in enumerate(seconds.tolist())])
    table = summarise_log(LoggedQuestions(path))
    for percentile in (50, 95):
        exact = np.quantile(seconds, percentile / 100, method="inverted_cdf")
        assert measure(table, f"seconds_p{percentile}")["value"] == exact


@pytest.mark.parametrize(
    ("feedback", "thumb_up", "bad"),
    [
        ([], [], []),
        ([("thumb", 1, "q1"), ("thumb", -1, "q1")], [0], [1]),
        ([("thumb", -1, "q1"), ("thumb", 1, "q1"), ("thumb", 1, "q2")], [1, 1], [0, 0]),
        ([("edit", None, "q1"), ("stars", 5, "q2")], [], [1]),
        ([("edit", None, "q1"), ("thumb", 1, "q1"), ("thumb", -1, "q2")], [1, 0], [0, 1]),
    ],
)
def test_feedback_is_that_of_all_questions_and_the_last_of_each_counts(
    tmp_path: Path, feedback: list[tuple[str, float | None, str]], thumb_up: list[int], bad: list[int]
) -> None:
    rows = [{"id": key, "feedback": [{"kind": kind, "value": value}]} for kind, value, key in feedback]
    table = summarise_log(LoggedQuestions(write_segment(tmp_path / "a.jsonl", [*map(question, range(9)), *rows])))
    assert measure(table, "with_feedback")[["total", "n"]].tolist() == [len({key for _, _, key in feedback}), 9]
    for name, wanted in (("thumb_up", thumb_up), ("bad_feedback", bad)):
        found = table[(table["by"] == "all") & (table["measure"] == name)][["value", "n"]].to_numpy().tolist()
        assert found == ([[np.mean(wanted), len(wanted)]] if wanted else [])


def test_nothing_is_summarised_as_nothing(tmp_path: Path) -> None:
    assert summarise_log(LoggedQuestions(write_segment(tmp_path / "a.jsonl", []))).empty


@given(st.lists(ROWS, max_size=6))
def test_any_log_is_summarised(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    folder = tmp_path_factory.mktemp("log")
    write_segment(folder / "a.jsonl", [row | {"id": f"q{number}"} for number, row in enumerate(rows)])
    table = summarise_log(LoggedQuestions(folder))
    assert table.loc[(table["by"] == "day") & (table["measure"] == "questions"), "n"].sum() == len(rows)
    shares = table[table["measure"].isin(summary.SHARES)]
    assert shares["value"].between(0, 1).all()
    compact(folder, idle_seconds=-60)
    again = summarise_log(LoggedQuestions(folder))
    assert table["n"].tolist() == again["n"].tolist()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path, run_python: Callable[..., str]) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom workbench.monitor.log.reading import LoggedQuestions\nfrom workbench.monitor.log.summary import READ, summarise\n"
        "summarise(LoggedQuestions(sys.argv[1]).batches(READ))\n"
        "print(next(line.split()[1] for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('VmHWM')))"
    )
    peaks = []
    for size in (4_000, 40_000):
        rows = (question(number, hits=[{"doc_id": "d", "text": "a" * 2500, "score": 0.5}]) for number in range(size))
        peaks.append(int(run_python(script, write_segment(tmp_path / f"{size}" / "a.jsonl", rows))))
    # 100 MB more of lines; kilobytes.
    assert peaks[1] - peaks[0] < 30_000
