import json
import os
from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest

from tests.monitor.alerts.logs import START, alert_settings, rates, table
from workbench.core.errors import InputError, RunError, StoreError
from workbench.monitor.alerts.detect import DetectedAlerts, RaisedAlert, detect, iso
from workbench.monitor.alerts.signals import DAY
from workbench.monitor.alerts.state import AlertState, acknowledge, content, deliver, lock, read_state, update, write_state

# Not the time of an alert in the form of `iso`.
CHANGES = [("change", f"a{time}") for time in ("", " at b", " at NaT", " at now", " at 12", " at 0001-01-01", " at 9999-12-31T00:00:00Z")]
SETTINGS = alert_settings({"refusals": {"limit": 0.1}, "quiet_days": 3})
RAISED = RaisedAlert(
    "cost", "share of questions that cost more than 2", 100 * DAY, 99 * DAY, 40, ("q1", "q2"), value=0.2, low=0.1, high=0.3, limit=0.05
)


def watch(*raised, until=101 * DAY):
    return DetectedAlerts(raised, (), until, {})


def after(*watches, state=None):
    """The state after runs, and the statuses that changed in each."""
    state, changes = state or AlertState(), []
    for one in watches:
        state, changed = update(state, one, SETTINGS)
        changes.append([alert.status for alert in changed])
    return state, changes


def test_repeated_runs_over_a_growing_log_raise_each_alert_once() -> None:
    rows = rates([0.03] * 9 + [0.35] * 4 + [0.0] * 12, seed=3)
    state, changes = AlertState(), []
    for number in [*range(200, len(rows), 100), len(rows), len(rows)]:
        state, changed = update(state, detect(table(rows[:number]), SETTINGS), SETTINGS)
        changes += [(alert.id, alert.status) for alert in changed]
    (alert,) = state.alerts
    assert changes == [(alert.id, "open"), (alert.id, "resolved")]
    whole = detect(table(rows), SETTINGS)
    assert (alert.first,) == whole.raised
    assert update(AlertState(), whole, SETTINGS)[0].alerts[0].first == alert.first


def test_an_alert_that_returns_within_the_quiet_time_is_the_same_and_later_it_is_another() -> None:
    resolved = replace(RAISED, resolved=102 * DAY, reason="the limit holds again")
    soon, late = (replace(RAISED, raised=day * DAY) for day in (104, 106))
    state, changes = after(watch(RAISED), watch(resolved, until=102 * DAY), watch(soon, until=104 * DAY))
    assert changes == [["open"], ["resolved"], ["open"]]
    assert [(alert.id, alert.first.raised) for alert in state.alerts] == [(f"cost-{iso(100 * DAY)}", 100 * DAY)]
    state, changes = after(watch(RAISED), watch(resolved, until=102 * DAY), watch(resolved, late, until=106 * DAY))
    assert [alert.status for alert in state.alerts] == ["resolved", "open"]


def test_late_rows_that_move_an_alert_a_little_make_no_second_one() -> None:
    state, changes = after(watch(RAISED), watch(replace(RAISED, raised=RAISED.raised - DAY // 2)))
    assert changes == [["open"], []]
    assert state.alerts[0].first.raised == RAISED.raised


def test_an_alert_that_the_log_does_not_show_any_more_is_resolved_after_the_quiet_time() -> None:
    state, changes = after(watch(RAISED), watch(until=103 * DAY), watch(until=104 * DAY + 1), watch(until=105 * DAY))
    assert changes == [["open"], [], ["resolved"], []]
    assert state.alerts[0].first.reason == "the log does not show it any more"


def test_an_acknowledged_alert_stays_so_until_it_is_resolved_and_opens_again_if_it_returns() -> None:
    state, _ = after(watch(RAISED))
    state = acknowledge(state, state.alerts[0].id)
    state, changes = after(watch(RAISED, until=102 * DAY), state=state)
    assert (state.alerts[0].status, changes) == ("acknowledged", [[]])
    ended = replace(RAISED, resolved=103 * DAY, reason="x")
    state, changes = after(watch(ended, until=103 * DAY), watch(RAISED, until=104 * DAY), state=state)
    assert changes == [["resolved"], ["open"]]
    with pytest.raises(InputError, match="no alert 'other' is open; open are cost-"):
        acknowledge(state, "other")
    with pytest.raises(InputError) as raised:
        acknowledge(state, "x" * 10_000)
    assert len(str(raised.value)) < 300


def test_a_clock_that_goes_back_changes_nothing() -> None:
    state, changes = after(watch(RAISED), watch(until=1), watch(RAISED, until=50 * DAY))
    assert changes == [["open"], [], []]
    assert state.alerts[0].shown == 101 * DAY


def test_each_channel_gets_each_change_once_and_a_channel_that_fails_gets_it_later() -> None:
    got: dict[str, list[str]] = {"good": [], "bad": []}
    down = [True]

    def bad(alert):
        if down[0]:
            raise RunError("it is down")
        got["bad"].append(alert.status)

    channels = {"bad": bad, "good": lambda alert: got["good"].append(alert.status)}
    state, _ = after(watch(RAISED))
    state, failures = deliver(state, channels)
    assert failures == ("bad: it is down",)
    state, _ = deliver(state, channels)
    assert got == {"good": ["open"], "bad": []}
    down[0] = False
    state = acknowledge(state, state.alerts[0].id)
    state, failures = deliver(state, channels)
    state, _ = deliver(state, channels)
    # It is news for the channel that was down that the alert was raised, and none for the other that it was acknowledged.
    assert (got, failures) == ({"good": ["open"], "bad": ["acknowledged"]}, ())
    state, _ = after(watch(replace(RAISED, resolved=102 * DAY, reason="x")), state=state)
    deliver(state, channels)
    assert got["good"] == ["open", "resolved"]


def test_an_alert_that_a_channel_refuses_does_not_silence_the_others() -> None:
    names = ("cost", "latency", "no_results")
    state, _ = after(watch(*(replace(RAISED, alert=name) for name in names)))
    got = []

    def send(alert) -> None:
        if alert.first.alert == "cost":
            raise RunError("it is refused", "none")
        got.append(alert.first.alert)

    for _ in range(2):
        state, failures = deliver(state, {"hook": send})
        assert failures == ("hook: it is refused; none",)
    assert sorted(got) == ["latency", "no_results"]


def test_whatever_a_channel_raises_is_a_failure_without_its_message() -> None:
    def send(_) -> None:
        raise UnicodeError("a secret")

    state, _ = after(watch(RAISED))
    assert deliver(state, {"hook": send}) == (state, ("hook: unexpected UnicodeError",))


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_lock_that_is_no_regular_file_is_one_line(kind, tmp_path) -> None:
    file = tmp_path / ".alerts.json.lock"
    file.mkdir() if kind == "folder" else file.symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(StoreError, match=r"alerts.json.lock is a link, or not a regular file; move it away"),
        lock(tmp_path / "alerts.json"),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_log_names_leaves_as_valid_json_of_bounded_size() -> None:
    odd = replace(RAISED, evidence=('9-0?key=a"', "\\", "x" * 100_000), change='index changed from ?token=b"c to ' + "v" * 100_000)
    state, _ = after(watch(odd))
    body = content(state.alerts[0])
    assert json.loads(body)["evidence"][:2] == ['9-0?key=…"', "\\"]
    assert len(body) < 20_000


def test_a_state_is_written_and_read_as_it_was(tmp_path) -> None:
    path = tmp_path / "alerts.json"
    state, _ = after(watch(RAISED))
    with lock(path):
        assert read_state(path) == AlertState()
        write_state(path, state)
    assert read_state(path) == state
    kept = json.loads(path.read_text())
    for name, value in (("since", -1), ("raised", 2**63), ("resolved", 10**30), ("count", -5), *CHANGES):
        path.write_text(json.dumps(kept | {"alerts": [kept["alerts"][0] | {"first": kept["alerts"][0]["first"] | {name: value}}]}))
        with pytest.raises(InputError, match=r"alerts.json is not a state of alerts; restore it"):
            read_state(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"alerts.json is not a state of alerts; restore it"):
        read_state(path)
    path.unlink()
    for wrong in ('{"version": 1, "alerts": [{"id": 3}]}', '{"version": true}', '{"version": 2}', '{"version": "1"}'):
        path.write_text(wrong)
        with pytest.raises(InputError, match=r"alerts.json is not a state of alerts; restore it"):
            read_state(path)


def test_the_line_of_an_alert_shows_three_ids_shortened_and_a_channel_gets_all() -> None:
    ids = tuple(f"{number:032x}" for number in range(1, 11))
    state, _ = after(watch(replace(RAISED, evidence=ids)))
    assert str(state.alerts[0]).endswith("; see 00000000000…, 00000000000…, 00000000000… and 7 more")
    assert json.loads(content(state.alerts[0]))["evidence"] == [*ids]
    state, _ = after(watch(RAISED))
    assert str(state.alerts[0]).endswith("; see q1, q2")


def test_the_line_of_an_alert_says_that_it_began_after_a_change_only_if_it_is_since_then() -> None:
    for day, order in ((99, "after"), (100, "about when")):
        change = f"prompt changed from a to b at {iso(day * DAY)}"
        state, _ = after(watch(replace(RAISED, change=change)))
        assert f"; began {order} {change}; see" in str(state.alerts[0])


def test_the_line_of_an_alert_has_no_control_characters_and_no_secrets() -> None:
    odd = replace(
        RAISED, evidence=("\x1b[31mq", "https://me:hunter2@host/?token=abc"), change="prompt changed from a\n to b at 2026-11-02T00:00:00Z"
    )
    state, _ = after(watch(odd))
    line = str(state.alerts[0])
    assert "\x1b" not in line
    assert "\n" not in line
    assert "hunter2" not in line
    assert "abc" not in line
    day = pd.Timestamp(START + timedelta(days=0)).value
    assert iso(day) == "2026-11-02T00:00:00Z"
    assert line.startswith(
        "open cost: share of questions that cost more than 2: 0.2 (0.1 to 0.3), limit 0.05; since 1970-04-10T00:00:00Z, raised "
    )
