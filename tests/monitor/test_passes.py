"""Passes over a log that grows: a sample is judged once, and alerts are raised once, sent once and resolved."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.commands import workbench
from tests.monitor.log_lines import write_segment
from tests.monitor.production_traffic import recorded
from workbench.core.errors import InputError
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.passes import monitor, read_evaluations
from workbench.monitor.settings import MonitorSettings

START = datetime(2026, 11, 2, tzinfo=UTC)
A_DAY = 100
SETTINGS = MonitorSettings.of({"budget": 12, "alerts": {"drift": False, "off_topic": False}})


def rows(first: int, last: int):
    """The handbook's recorded answers over days, 100 a day. From day 10 on a new index has no results for half of the questions."""
    base, random = list(recorded()), np.random.default_rng(first)
    for number in range(first * A_DAY, last * A_DAY):
        own, day = base[int(random.integers(len(base)))], number / A_DAY
        lost = day >= 10 and random.random() < 0.5
        yield {
            "id": f"q{number}",
            "time": (START + timedelta(days=day)).isoformat().replace("+00:00", "Z"),
            "query": own["query"],
            "answer": "The handbook does not say." if lost else own["answer"],
            "hits": [] if lost else own["hits"],
            "seconds": float(random.lognormal(-1)),
            "session": f"s{number // 2}",
            "versions": {"index": "2" if day >= 10 else "1", "prompt": "p"},
        }


def events_in(path: Path) -> set[tuple[str, str, float]]:
    """Return the question, the metric and the score of each event of OpenTelemetry that has a score."""
    found = set()
    for line in path.read_text("utf-8").splitlines():
        for record in json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            values = {pair["key"]: next(iter(pair["value"].values())) for pair in record["attributes"]}
            if "gen_ai.evaluation.score.value" in values:
                found.add((values["workbench.id"], values["gen_ai.evaluation.name"], values["gen_ai.evaluation.score.value"]))
    return found


@pytest.mark.slow
def test_a_longer_log_goes_on_where_the_last_pass_ended_and_an_alert_is_raised_and_sent_once(tmp_path: Path) -> None:
    write_segment(tmp_path / "log" / "a.jsonl", rows(0, 9))
    early = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    assert (early.open, early.news) == ((), ())
    judged = (tmp_path / "out" / "monitoring" / "judged.jsonl").read_text("utf-8").splitlines()
    support = next(each for each in early.estimates if each.name == "support score")
    assert support.interval.low < support.interval.value < support.interval.high
    assert 0 < support.interval.n <= 12 * 9
    write_segment(tmp_path / "log" / "b.jsonl", rows(9, 14))
    later = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    evaluations = pd.read_parquet(tmp_path / "out" / "monitoring" / "evaluations.parquet")
    scored = evaluations[(evaluations["state"] == "scored") & (evaluations["judge"] != "users")]
    assert events_in(tmp_path / "out" / "monitoring" / "evaluations.otlp.jsonl") == {
        (row["id"], row["metric"], row["value"]) for row in scored.to_dict("records")
    }
    assert {alert.first.alert for alert in later.open} == {"no_results", "lost_results"}
    assert [alert.id for alert in later.news] == [alert.id for alert in later.open]
    for alert in later.open:
        assert alert.first.change == "index changed from 1 to 2 at 2026-11-12T00:00:00Z"
        assert alert.first.count < A_DAY
    again = (tmp_path / "out" / "monitoring" / "judged.jsonl").read_text("utf-8").splitlines()
    assert again[: len(judged)] == judged
    assert len(again) > len(judged)
    third = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    assert third.news == ()
    assert (tmp_path / "out" / "monitoring" / "judged.jsonl").read_text("utf-8").splitlines() == again
    sent = [json.loads(line)["id"] for line in (tmp_path / "out" / "monitoring" / "alerts.jsonl").read_text("utf-8").splitlines()]
    assert sorted(sent) == sorted(alert.id for alert in later.open)
    assert sum(third.skipped.values()) + len(pd.read_parquet(third.folder / "evaluations.parquet")["id"].unique()) == 14 * A_DAY
    assert 'workbench_alert_open{alert="no_results"} 1.0' in (third.folder / "metrics.prom").read_text("utf-8")
    name = later.open[0].id
    done = workbench("monitor", tmp_path / "log", "--acknowledge", name, "--outputs", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{name} is acknowledged\n")
    (tmp_path / "monitor.yaml").write_text("budget: 12\nalerts: {drift: false, off_topic: false}\n")
    done = workbench("monitor", tmp_path / "log", "--settings", tmp_path / "monitor.yaml", "--outputs", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    assert f"acknowledged {name.split('-')[0]}" in done.stdout
    assert "index changed from 1 to 2" in done.stdout


@pytest.mark.slow
def test_a_log_that_is_as_usual_exits_0_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    write_segment(tmp_path / "log" / "a.jsonl", [*rows(0, 2), *rows(0, 1), b"{broken\n", b'{"id": "x"}\n'])
    done = workbench("monitor", tmp_path / "log", "--outputs", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("200 questions logged, without results 0.0%")
    assert "no alert is open" in done.stdout
    (early,) = (line for line in done.stdout.splitlines() if line.endswith("(the reference period is not over)"))
    assert early.startswith("not tested: ")
    assert {"no_results", "latency"} <= set(early.partition(" (")[0].removeprefix("not tested: ").split(", "))
    assert done.stdout.count("left out: ") == 3
    assert f"{A_DAY} left out: duplicate" in done.stdout


def test_a_folder_has_the_results_of_one_log(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_segment(tmp_path / name / "log.jsonl", rows(0, 1))
    monitor(tmp_path / "a", tmp_path / "out" / "monitoring", SETTINGS)
    with pytest.raises(InputError, match=r"has the results of .*/a; give another --name"):
        monitor(tmp_path / "b", tmp_path / "out" / "monitoring", SETTINGS)
    with pytest.raises(InputError, match=r"aa does not exist"):
        monitor(tmp_path / "aa", tmp_path / "out" / "monitoring", SETTINGS)
    (tmp_path / "a").rename(tmp_path / "moved")
    assert monitor(tmp_path / "moved", tmp_path / "out" / "monitoring", SETTINGS).folder.name == "monitoring"


@pytest.mark.parametrize("name", ["", "a.jsonl"])
def test_a_log_without_a_question_yet_is_no_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / name).touch() if name else None
    found = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    assert f"no question yet in {tmp_path / 'log'}" in found.lines()
    assert "No alert is open" in (found.folder / "monitoring.html").read_text("utf-8")
    write_segment(tmp_path / "log" / "b.jsonl", rows(0, 1))
    assert monitor(tmp_path / "log", found.folder, SETTINGS).lines()[0].startswith("100 questions logged")


def test_without_a_budget_every_question_is_counted_with_the_reason(tmp_path: Path) -> None:
    write_segment(tmp_path / "log" / "a.jsonl", rows(0, 3))
    found = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", MonitorSettings.of({"budget": 0}))
    assert found.skipped == {"the budget is 0": 3 * A_DAY}


def test_pipes_links_and_impossible_paths_in_the_folder_stop_no_pass(tmp_path: Path) -> None:
    write_segment(tmp_path / "log.jsonl", rows(0, 1))
    folder = monitor(tmp_path / "log.jsonl", tmp_path / "out" / "monitoring", SETTINGS).folder
    record = json.loads((folder / "pass.json").read_text())
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for log in ("a\0b", "a" * 5000, str(tmp_path / "loop")):
        (folder / "pass.json").write_text(json.dumps(record | {"log": log}))
        monitor(tmp_path / "log.jsonl", folder, SETTINGS)
    for name in ("pass.json", "evaluations.parquet"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    with pytest.raises(InputError, match=r"has no table evaluations.parquet that can be read"):
        read_evaluations(folder)
    aside = folder / f".pass.json.{os.getpid()}.tmp"
    aside.symlink_to(tmp_path / "elsewhere")
    monitor(tmp_path / "log.jsonl", folder, SETTINGS)
    assert json.loads((folder / "pass.json").read_text()) == record
    assert not (tmp_path / "elsewhere").exists()


def test_the_latest_changes_of_versions_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    asked = [row | {"versions": {"index": f"{number}" + "x" * 1000}} for number, row in enumerate(rows(0, 2))]
    write_segment(tmp_path / "log.jsonl", asked)
    found = monitor(tmp_path / "log.jsonl", tmp_path / "out" / "monitoring", SETTINGS)
    changes = json.loads((found.folder / "pass.json").read_text())["changes"]
    assert len(changes) == 100
    assert changes[-1][1].startswith("index changed from 198xxx")
    assert len(changes[-1][1]) < 200
    assert "80 changes of versions not kept: before the latest 100" in found.left_out


def test_a_segment_of_feedback_alone_and_questions_of_megabytes_stop_no_pass(tmp_path: Path) -> None:
    asked = [*rows(0, 1)]
    asked[0] |= {"query": "a long word " * 200_000}
    asked[1] |= {"answer": "a long answer " * 100_000}
    write_segment(tmp_path / "log" / "a.jsonl", asked)
    write_segment(tmp_path / "log" / "b.jsonl", [{"id": "q3", "feedback": [{"kind": "thumb", "value": -1.0}]}])
    write_segment(tmp_path / "log" / "c.jsonl", asked[:5])
    found = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    assert found.skipped["texts of more than 500,000 letters"] == 2
    whole = found.summary[found.summary["by"] == "all"].set_index("measure")
    assert whole.loc["with_feedback", "total"] == 1
    assert whole.loc["questions", "n"] == A_DAY


@pytest.mark.slow
def test_traces_are_watched_as_a_log(tmp_path: Path) -> None:
    spans = [
        {
            "traceId": f"{number:032x}",
            "spanId": f"{number:016x}",
            "name": "answer",
            "startTimeUnixNano": str(1_790_000_000_000_000_000 + number * 10**9),
            "endTimeUnixNano": str(1_790_000_000_500_000_000 + number * 10**9),
            "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": "CHAIN"}},
                {"key": "input.value", "value": {"stringValue": f"What is fee {number}?"}},
                {"key": "output.value", "value": {"stringValue": "Nine euros."}},
            ],
        }
        for number in range(1, 21)
    ]
    (tmp_path / "traces.jsonl").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")
    done = workbench("monitor", tmp_path / "traces.jsonl", "--outputs", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20 questions logged")
    assert "not judged: 20 questions, no text of the context" in done.stdout


def test_what_is_no_log_and_wrong_settings_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{broken\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    for path, what in (
        (tmp_path / "log.jsonl", "has neither a question of a log (1 left out: "),
        (tmp_path / "none", "does not exist"),
        (tmp_path / "run", "is a run, whose answers the sweep has judged"),
    ):
        with pytest.raises(InputError, match=r".") as raised:
            monitor(path, tmp_path / "out" / "monitoring")
        assert what in str(raised.value)
        assert len(raised.value.lines) == 1
    for settings, what in (
        ({"bugdet": 1}, "bugdet"),
        ({"judging": {"support": {"kind": "overlapp"}}}, "judging.support"),
        ({"judging": "none"}, "monitor judging"),
        ({"alerts": {"latency": {"limit": "fast"}}}, "limit"),
        (
            {"alerts": {"latencies": {"limit": 2}}},
            "monitor has no parameter 'alerts.latencies' (did you mean 'latency'?); it has false_alarms, ",
        ),
        (
            {"alerts": {"latency": {"limits": 2}}},
            "monitor has no parameter 'alerts.latency.limits' (did you mean 'limit'?); it has active, ",
        ),
        ({"webhook": {"url": "http://example.com/x", "secret": "S"}}, "example.com"),
    ):
        with pytest.raises(InputError) as raised:
            MonitorSettings.of(settings)
        assert what in str(raised.value)


def test_settings_that_do_not_exist_are_no_experiment(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^the settings file .*monitor.yaml does not exist; give the path of a YAML file, such as monitor.yaml$"
    ):
        MonitorSettings.read(tmp_path / "monitor.yaml")


def test_an_alert_of_no_pass_cannot_be_acknowledged_and_no_folder_is_made(tmp_path: Path) -> None:
    done = workbench("monitor", tmp_path, "--acknowledge", "x", "--name", "typo", "--outputs", tmp_path / "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "has no alerts; run workbench monitor first" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_value_of_another_type_leaves_out_its_line_alone(tmp_path: Path) -> None:
    wrong = [
        {**row, field: value}
        for row in rows(0, 1)
        for field in ("hits", "sources", "hops", "evaluations")
        for value in (5, True, 1e308, -5)
    ]
    write_segment(tmp_path / "a.jsonl", [{**row, "id": f"w{number}"} for number, row in enumerate(wrong[:16])] + [*rows(0, 1)])
    log = LoggedQuestions(tmp_path)
    assert len([*log.rows()]) == A_DAY
    assert sum(tally.number for tally in log.counts.left_out.values()) == 16


def test_a_name_is_that_of_a_folder_in_the_outputs(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", rows(0, 1))
    for name in ("", ".", "..", "../x", "/tmp/x", ".store"):
        done = workbench("monitor", tmp_path / "a.jsonl", "--name", name, "--outputs", tmp_path / "out")
        assert done.returncode == 2
        assert "which is no name of a folder" in done.stderr
    assert workbench("monitor", tmp_path / "a.jsonl", "--acknowledge", "", "--outputs", tmp_path / "out").returncode == 2


def test_the_limit_of_faithfulness_is_that_of_a_judge_and_not_of_a_score() -> None:
    assert MonitorSettings().limits().faithfulness.limit is None
    given = MonitorSettings.of({"alerts": {"faithfulness": {"limit": 0.7}}})
    assert given.limits().faithfulness.limit == 0.7
    judge = MonitorSettings.of({"judging": {"support": {"kind": "chat", "provider": "ollama", "model": "small"}}})
    assert judge.limits().faithfulness.limit == 0.8
