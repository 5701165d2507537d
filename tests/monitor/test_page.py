"""The monitoring page: its numbers are those of the log, its words follow its alerts and intervals, and a hostile log does nothing to it."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest

import workbench as wb
from tests.commands import workbench
from tests.monitor.service_log import CHANGED, DAYS, rows, write_service_log
from tests.monitor.written_log import rows as written
from tests.page_checks import Traffic, serious
from workbench.core.errors import InputError
from workbench.monitor.alerts.detect import RaisedAlert
from workbench.monitor.alerts.state import Alert
from workbench.monitor.comparison import usual_range
from workbench.monitor.page import MonitoringView
from workbench.monitor.passes import monitor
from workbench.monitor.settings import MonitorSettings
from workbench.report.model import Indicators

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}} $x^2$ \x1b[31mred\x1b[0m \u202eabc =cmd|1"
QUIET = {"budget": 12, "alerts": {"drift": False, "off_topic": False}}


def view_of(folder: Path, given, settings=QUIET, change=()) -> MonitoringView:
    log = wb.QueryLog(folder / "logs")
    for row in given:
        log.record(**{name: value for name, value in row.items() if name not in change})
    log.close()
    monitor(folder / "logs", folder / "monitoring", MonitorSettings.of(settings))
    return wb.load_monitoring(folder / "monitoring")


def cards(view: MonitoringView):
    (block,) = view.indicators().blocks
    assert isinstance(block, Indicators)
    return {item.title: item for item in block.items}


def plain(view: MonitoringView) -> str:
    return view.overview().html + view.slices().html + view.alerts().html


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("page")
    write_service_log(place / "logs")
    (place / "monitor.yaml").write_text(json.dumps(QUIET | {"budget": 30}))
    done = workbench("monitor", "logs", "--settings", "monitor.yaml", cwd=place)
    assert done.returncode == 1, done.stderr
    return place


@pytest.fixture
def view(folder: Path) -> MonitoringView:
    return wb.load_monitoring(folder / "outputs" / "monitoring")


@pytest.fixture(scope="module")
def logged(folder: Path) -> pd.DataFrame:
    frame = pd.DataFrame(written(folder / "logs"))
    frame["time"] = pd.to_datetime(frame["time"], utc=True)
    frame["day"] = frame["time"].dt.floor("D")
    frame["empty"] = frame["hits"].map(len) == 0
    frame["score"] = frame["hits"].map(lambda hits: hits[0]["score"] if hits else np.nan)
    frame["negative"] = frame["feedback"].map(lambda given: given[-1]["value"] < 0 if isinstance(given, list) else np.nan).astype(float)
    return frame


@pytest.mark.slow
def test_the_numbers_of_the_cards_are_those_of_the_log(view, logged) -> None:
    today = logged["day"].max()
    periods = [logged[logged["day"] == today], logged[(logged["day"] < today) & (logged["day"] >= today - pd.Timedelta(days=7))]]
    found = cards(view)
    for title, column in (("Without results", "empty"), ("Negative feedback", "negative")):
        now, before = (f"{100 * period[column].mean():.1f} %" for period in periods)
        assert (found[title].value, found[title].before) == (now, f"was {before}")
    now, before = (f"{period['score'].mean():.2f}" for period in periods)
    assert (found["First-hit similarity"].value, found["First-hit similarity"].before) == (now, f"was {before}")
    latency = float(found["Latency, p95"].value.removesuffix(" ms")) / 1000
    assert latency == pytest.approx(np.quantile(periods[0]["seconds"], 0.95, method="inverted_cdf"), rel=0.02)
    slower = periods[0]["seconds"] > np.quantile(periods[1]["seconds"], 0.95, method="inverted_cdf")
    assert view._row("latency", "today")["value"] == pytest.approx(slower.mean())
    assert found["Without results"].line.values[-1] == periods[0]["empty"].mean()
    by_day = logged.groupby("day")["empty"].mean().tail(14)
    assert list(found["Without results"].line.values) == pytest.approx(by_day.tolist())
    assert f"{len(periods[0])} questions in {periods[0]['session'].nunique()} conversations" in view._opening()
    assert f"{len(periods[1])} questions in {periods[1]['session'].nunique()} conversations" in view._opening()


@pytest.mark.slow
def test_support_is_estimated_from_the_judged_questions_of_the_day(view, folder, logged) -> None:
    judged = pd.read_parquet(folder / "outputs" / "monitoring" / "evaluations.parquet")
    scores = judged[(judged["metric"] == "support_overlap") & (judged["state"] == "scored")].merge(logged[["id", "day"]], on="id")
    own = scores[scores["day"] == logged["day"].max()]
    card = cards(view)["Support score"]
    assert f"{len(own)} of {(logged['day'] == logged['day'].max()).sum()} questions judged" in card.notes
    assert own["value"].min() <= float(card.value) <= own["value"].max()
    assert float(card.value) == pytest.approx(own["value"].mean(), abs=0.15), "weights by strata"


@pytest.mark.slow
def test_a_difference_has_the_interval_of_both_days_and_conversations_are_its_units(view, logged) -> None:
    change = view._row("no_results", "change")
    now, before = (view._row("no_results", period) for period in ("today", "week"))
    assert change["value"] == pytest.approx(now["value"] - before["value"])
    assert change["low"] == pytest.approx(change["value"] - np.hypot(now["value"] - now["low"], before["high"] - before["value"]))
    # By the bootstrap of conversations.
    random, today = np.random.default_rng(0), logged["day"].max()
    sums = [
        part.groupby("session")["empty"].agg(["sum", "size"]).to_numpy()
        for part in (logged[logged["day"] == today], logged[(logged["day"] < today) & (logged["day"] >= today - pd.Timedelta(days=7))])
    ]
    drawn = [[np.divide(*part[random.integers(len(part), size=len(part))].sum(axis=0)) for _ in range(2000)] for part in sums]
    low, high = np.quantile(np.subtract(*drawn), [0.025, 0.975])
    assert (change["low"], change["high"]) == (pytest.approx(low, abs=0.05), pytest.approx(high, abs=0.05))


@pytest.mark.slow
def test_the_headline_says_what_alerts_say_and_only_open_ones_make_a_card_an_alert(view) -> None:
    names = {one.first.alert for one in view.open}
    assert {"no_results", "lost_results"} <= names
    headline = view._headline()
    assert "more questions are without results" in headline
    assert re.search(r"index changed from 1 to 2 \(26 Oct 00:00\)\.$", headline)
    assert "because" not in headline
    found = cards(view)
    assert found["Without results"].state.text == "alert"
    assert found["Latency, p95"].state.text == "steady"
    for title, alert in (("Support score", "faithfulness"), ("First-hit similarity", "similarity"), ("Negative feedback", "feedback")):
        assert (found[title].state.text == "alert") == (alert in names)
    mark = found["Without results"].line.mark
    assert mark == pytest.approx(13 - (int(DAYS) - CHANGED) - 0.5)
    assert view._badge().text == f"{len(names)} alerts open"


@pytest.mark.slow
def test_a_card_does_not_call_a_day_worse_that_is_as_the_days_before_a_change_or_whose_interval_includes_0() -> None:
    days = pd.Series([0.0] * 6 + [0.1, 0.2, 0.15, 0.1, 0.5, 0.6, 0.4, 0.45], index=pd.date_range("2026-10-01", periods=14))
    assert usual_range(days, None) == (0.1, 0.6)
    assert usual_range(days, pd.Timestamp("2026-10-11 00:00").value) == (0.1, 0.2)
    assert usual_range(days, pd.Timestamp("2026-10-10 09:00").value) == (0.1, 0.2), "the day of the change is not over before it"
    assert usual_range(days, pd.Timestamp("2026-10-09 09:00").value) == (0.1, 0.6), "two days are too few"
    assert np.isnan(usual_range(days.where(days.index > "2026-10-12"), None)).all()


@pytest.mark.slow
def test_an_acknowledged_alert_is_said_to_be_one_on_the_page_at_once(folder, tmp_path) -> None:
    place = tmp_path / "copy"
    shutil.copytree(folder, place)
    (name,) = (one.id for one in wb.load_monitoring(place / "outputs" / "monitoring").open if one.first.alert == "no_results")
    page = place / "outputs" / "monitoring" / "monitoring.html"
    command = f"workbench monitor logs --acknowledge {name}"
    assert f"<code>{command}</code>" in page.read_text("utf-8")
    done = workbench(*command.split()[1:], cwd=place)
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    assert f"<code>{command}</code>" not in text
    assert re.search(r"[1-9] alerts? open, 1 acknowledged", text)
    assert "acknowledged since" in text


@pytest.mark.slow
def test_slices_that_are_clearly_worse_are_first_and_named(view, logged) -> None:
    today = logged[logged["day"] == logged["day"].max()]
    parts = view.comparison[(view.comparison["by"] == "configuration") & (view.comparison["measure"] == "no_results")]
    for name, own in today.groupby("configuration"):
        row = parts[(parts["group"] == name) & (parts["period"] == "today")].iloc[0]
        assert (row["value"], row["of"]) == (pytest.approx(own["empty"].mean()), len(own))
    turns = view.comparison[view.comparison["by"] == "turn"]["group"].unique()
    assert set(turns) == {"first", "later"}
    html = view.slices().html
    worse = view.comparison[(view.comparison["by"] != "all") & (view.comparison["verdict"] == "worse")]
    assert ("Clearly worse than last week" in html) == (len(worse) > 0)


@pytest.mark.slow
def test_alerts_name_at_most_ten_questions_with_their_texts(view, logged) -> None:
    texts = logged.set_index("id")["query"]
    (one,) = (each for each in view.open if each.first.alert == "no_results")
    assert 0 < len(one.first.evidence) <= 10
    html = view.alerts().html
    for name in one.first.evidence:
        assert view.about.queries[name] == texts[name]
        assert f"({name})" in html


@pytest.mark.slow
def test_the_notebook_runs_by_papermill_in_its_folder(folder, tmp_path) -> None:
    source = Path(__file__).parents[2] / "notebooks" / "monitoring.ipynb"
    parameters = {"folder": str(folder / "outputs" / "monitoring")}
    papermill.execute_notebook(source, tmp_path / "x.ipynb", parameters, kernel_name="python3", progress_bar=False, cwd=folder)
    cells = [cell for cell in nbformat.read(tmp_path / "x.ipynb", as_version=4).cells if cell.cell_type == "code"]
    shown = " ".join(output.data["text/html"] for cell in cells for output in cell.outputs if "data" in output)
    assert "alerts open" in shown
    assert shown.count("data:image/svg+xml;base64,") == 5
    assert [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"] == []


@pytest.mark.slow
def test_a_hostile_log_is_text_on_the_page(tmp_path) -> None:
    given = (
        row
        | {
            "query": HOSTILE,
            "configuration": f"{HOSTILE[:60]} {number % 35}",
            "versions": {HOSTILE[:20]: HOSTILE if number > 1200 else "1"},
            "model": f"name {number % 35} {'long ' * 16}",
        }
        for number, row in enumerate(rows())
    )
    view = view_of(tmp_path, given)
    text = (tmp_path / "monitoring" / "monitoring.html").read_text("utf-8")
    assert len(re.findall(r"<script", text)) == 1
    assert not re.search(r"<img|onerror=[^a]|\x1b|\u202e", text.replace("onerror=alert", ""))
    assert "&lt;script&gt;" in text
    assert "default-src &#39;none&#39;" in text
    assert "49" not in re.findall(r"&\w+;(\d+) \$x", text)
    assert len(view.comparison[view.comparison["by"] == "configuration"]["group"].unique()) == 20
    assert "more slices in" in text
    for shown in (view.overview(), view.alerts(), view.slices()):
        assert "<script" not in shown.html


def test_a_log_of_one_question_says_what_is_missing(tmp_path) -> None:
    view = view_of(tmp_path, [{"query": "why?", "time": "2026-10-20T10:00:00Z", "hits": [], "answer": "no"}])
    assert view._headline() == "No alert is open, and none could be tested yet."
    assert view._opening() == "Today, 20 Oct, until 10:00 UTC: 1 question. Last week, 13–19 Oct: no questions."
    found = cards(view)
    assert {item.state.text for item in found.values()} == {"no comparison"}
    assert (found["Without results"].value, found["Without results"].before) == ("100.0 %", "")
    assert "the reference period is not over" in view.left_out().html
    assert "No alert was raised so far" in view.alerts().html
    assert "DATASET" in view.labelling().html


def test_without_judges_hits_or_times_of_steps_the_page_says_so(tmp_path) -> None:
    given = [row | {"hits": None, "feedback": None} for row in rows(days=16)]
    steps = ("hits", "feedback", "seconds", "retrieval_seconds", "generation_seconds")
    view = view_of(tmp_path, given, QUIET | {"budget": 0}, change=steps)
    assert view._headline() == "No alert is open, and none could be tested yet."
    assert {item.value for item in cards(view).values()} == {"–"}
    assert "No question of the last eight days has a time" in view.latency().html
    assert "0 of 60 questions judged" in cards(view)["Support of answers"].notes


def test_an_earlier_week_without_questions_is_no_comparison(tmp_path) -> None:
    given = [row | ({"time": f"2026-10-27T{number // 40:02}:00:00Z"} if number > 400 else {}) for number, row in enumerate(rows(days=10))]
    given = [row for row in given if row["time"] < "2026-10-13" or row["time"] > "2026-10-26"]
    view = view_of(tmp_path, given, QUIET | {"budget": 0})
    assert view._headline() == "No alert is open, and there is no earlier week to compare today with."
    assert "Last week, 20–26 Oct: no questions." in view._opening()


UNWATCHED = {"no_results": {"active": False}, "lost_results": {"active": False}, "drift": False, "off_topic": False}


def days_of(number, a_day, empty=None):
    """Single questions over days until 26 November, `empty(day, place)` of them without results."""
    hits, end = [{"doc_id": "a", "text": "The office opens at nine.", "score": 0.5}], pd.Timestamp("2026-11-27", tz="UTC")
    for day in range(number):
        for place in range(a_day):
            time = end - pd.Timedelta(days=number - day) + pd.Timedelta(minutes=1440 * place / a_day)
            yield {
                "query": f"when does office {day} {place} open?",
                "hits": [] if empty and empty(day, place) else [hits[0] | {"score": 0.4 + 0.2 * (place % 7) / 7}],
                "answer": "It opens at nine." if place % 3 else "Nobody knows that.",
                "time": time.isoformat().replace("+00:00", "Z"),
                "model": f"m{place % 2}",
                "seconds": 1 + 0.5 * (place % 5),
            }


def test_without_a_worse_card_the_headline_names_worse_slices(tmp_path) -> None:
    # On the last day all empty ones are of one model.
    given = days_of(10, 60, lambda day, place: place % 10 < 3 if day < 9 else place % 10 in (1, 3, 5))
    view = view_of(tmp_path, given, {"budget": 0, "alerts": UNWATCHED})
    assert view._row("no_results", "change")["verdict"] == ""
    assert view._headline() == "No alert is open, but against last week, more questions are without results in model m1 today."
    assert "Clearly worse than last week: model m1." in view.slices().html


def test_a_worse_card_is_named_in_the_opening_while_an_alert_is_open_and_cards_of_tails_have_no_band(tmp_path) -> None:
    given = days_of(10, 60, lambda day, place: place % 10 < (1 + day % 2 if day < 9 else 7))
    view = view_of(tmp_path, given, {"budget": 0, "alerts": UNWATCHED})
    found = cards(view)
    assert found["Without results"].state.text == "watch"
    assert "more questions are without results today" in view._headline()
    assert "Worse than last week" not in view._opening()
    raised = Alert(
        id="cost-1", status="open", first=RaisedAlert("cost", "cost", view.about.until, view.about.until, 9), shown=view.about.until
    )
    assert "Worse than last week: without results." in replace(view, raised=(raised,))._opening()
    assert found["Without results"].line.usual == (0.1, 0.2)
    assert found["Latency, p95"].line.usual is None


def test_with_fewer_than_three_earlier_days_there_is_no_verdict_and_only_they_are_named(tmp_path) -> None:
    view = view_of(tmp_path, days_of(3, 60, lambda day, place: place % 10 < (1 if day < 2 else 8)), {"budget": 0, "alerts": UNWATCHED})
    card = cards(view)["Without results"]
    assert card.state.text == "no comparison"
    assert "no verdict: fewer than 3 earlier days with a value" in card.notes
    assert "Last week, 24–25 Nov: 120 questions." in view._opening()
    assert "today, 26 Nov, until 23:36 UTC, against 24–25 Nov" in view.document().title
    assert not view.comparison[view.comparison["by"] == "all"]["verdict"].any()


def test_a_reference_period_with_too_few_conversations_says_what_to_set(tmp_path) -> None:
    view = view_of(tmp_path, days_of(20, 1), {"budget": 0, "alerts": UNWATCHED})
    expected = "none can be tested: the reference period has too few conversations. Set reference_days in the settings to more days."
    assert view._headline() == f"No alert is open, and {expected}"


def test_fewer_than_twenty_scores_have_no_interval_and_the_card_and_the_terminal_say_why(tmp_path) -> None:
    view = view_of(tmp_path, days_of(2, 9), {"budget": 40, "alerts": UNWATCHED})
    found = cards(view)
    assert found["Support score"].state.text == "no comparison"
    assert "no interval: fewer than 20 judged answers or 5 conversations" in found["Support score"].notes
    assert "no interval: fewer than 20 questions with a score or 5 conversations" in found["First-hit similarity"].notes
    assert "no interval" not in " ".join(found["Without results"].notes)
    settings = MonitorSettings.of({"budget": 40, "alerts": UNWATCHED})
    (line,) = (line for line in monitor(tmp_path / "logs", tmp_path / "monitoring", settings).lines() if line.startswith("support score"))
    assert "(no interval: fewer than 20 scores or 5 conversations) from" in line


def test_a_folder_without_a_pass_is_one_line(tmp_path) -> None:
    for content in (None, b"{}", b"\xff"):
        if content is not None:
            (tmp_path / "pass.json").write_bytes(content)
        with pytest.raises(InputError, match="has no results of workbench monitor") as raised:
            wb.load_monitoring(tmp_path)
        assert len(raised.value.lines) == 1


@pytest.mark.slow
def test_the_dataset_of_the_settings_is_counted_against(tmp_path) -> None:
    folder = Path(__file__).parents[2] / "experiments" / "handbook"
    given = [*rows(days=2), *({"query": f"who pays for lunch number {number}?", "time": "2026-10-05T01:00:00Z"} for number in range(3))]
    view = view_of(tmp_path, given, QUIET | {"dataset": str(folder)})
    assert view.about.labelling is not None
    assert 1 <= view.about.labelling.lacking <= 3 + 120
    assert f"--dataset {folder} --take {view.about.labelling.take}" in view.labelling().html


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_accessible_fits_its_window_and_asks_nothing_of_anybody(folder, chromium, scheme, width) -> None:
    with chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce") as context:
        page, traffic = context.new_page(), Traffic()
        traffic.watch(page)
        page.goto((folder / "outputs" / "monitoring" / "monitoring.html").as_uri())
        page.wait_for_selector("html[data-ready]", timeout=30_000)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert serious(page) == []
        assert traffic.complaints == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator(".indicator svg").count() == 5


@pytest.fixture(scope="module")
def one_pass(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("pass")
    view_of(place, rows(days=9), QUIET | {"budget": 3})
    return place / "monitoring"


PERIOD = {"comparison.parquet": "period", "summary.parquet": "group"}
DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-50]),
    "empty": lambda path: path.write_bytes(b""),
    "other columns": lambda path: pd.read_parquet(path).rename(columns={"value": "values"}).to_parquet(path),
    "too few rows": lambda path: pd.read_parquet(path).query(f"{PERIOD[path.name]} != 'today'").to_parquet(path),
    "texts": lambda path: pd.read_parquet(path).astype(str).to_parquet(path),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "negative counts": lambda path: pd.read_parquet(path).assign(n=-5).to_parquet(path),
    "rows twice": lambda path: pd.concat([pd.read_parquet(path)] * 2).to_parquet(path),
}


def test_a_record_of_a_pass_that_is_a_pipe_is_one_line(one_pass: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(one_pass, tmp_path / "monitoring")
    DAMAGE["a pipe"](folder / "pass.json")
    with pytest.raises(InputError, match="has no results of workbench monitor; run workbench monitor"):
        wb.load_monitoring(folder)


@pytest.mark.parametrize("name", ["comparison.parquet", "summary.parquet"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_table_is_one_line(kind: str, name: str, one_pass: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(one_pass, tmp_path / "monitoring")
    DAMAGE[kind](folder / name)
    with pytest.raises(InputError, match="has no results of workbench monitor; run workbench monitor") as raised:
        wb.load_monitoring(folder)
    assert len(raised.value.lines) == 1


@pytest.mark.parametrize(
    "change", [{"until": 2**63}, {"until": -1}, {"changes": [[10**30, "a"]]}, {"skipped": {"a": 10**400}}, {"log": "a\0"}]
)
def test_a_record_of_a_pass_with_impossible_values_is_one_line(change, one_pass: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(one_pass, tmp_path / "monitoring")
    record = json.loads((folder / "pass.json").read_text())
    (folder / "pass.json").write_text(json.dumps(record | change))
    with pytest.raises(InputError, match="has no results of workbench monitor"):
        wb.load_monitoring(folder)


def test_tables_are_replaced_as_a_whole(one_pass: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(one_pass, tmp_path / "monitoring")
    links = [folder / name for name in ("comparison.parquet", "summary.parquet", "evaluations.parquet")]
    for path in links:
        (tmp_path / path.name).hardlink_to(path)
    before = [(tmp_path / path.name).read_bytes() for path in links]
    monitor(one_pass.parent / "logs", folder, MonitorSettings.of(QUIET | {"budget": 4}))
    assert [(tmp_path / path.name).read_bytes() for path in links] == before, "a reader of the old file keeps it"
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]
