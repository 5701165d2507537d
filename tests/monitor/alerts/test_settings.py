import pytest

from tests.monitor.alerts.logs import alert_settings
from workbench.core.errors import InputError
from workbench.monitor.alerts.settings import DRIFTS, EVENTS, LIMITS, AlertSettings


def test_defaults_share_the_rate_of_false_alarms_between_all_tests() -> None:
    settings = AlertSettings()
    assert settings.level * (len(LIMITS) + len(DRIFTS)) == pytest.approx(0.05)
    fewer = alert_settings({"cost": {"active": False}, "drift": False})
    assert fewer.level * (len(LIMITS) + len(DRIFTS) - 2) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latencies": {}}, "monitor has no parameter 'alerts.latencies' (did you mean 'latency'?); it has "),
        (
            {"latency": {"limits": 2}},
            "monitor has no parameter 'alerts.latency.limits' (did you mean 'limit'?); it has active, limit, margin",
        ),
        ({"false_alarms": 0}, "monitor alerts.false_alarms is 0, not greater than 0"),
        ({"refusals": {"limit": 20}}, "monitor alerts: the limit of refusals is 20, which is not between 0 and 1"),
        ({"faithfulness": {"limit": float("nan")}}, "monitor alerts.faithfulness.limit is nan"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, message) -> None:
    with pytest.raises(InputError) as error:
        alert_settings(settings)
    (line,) = error.value.lines
    assert line.startswith(message)


def test_every_alert_has_a_setting() -> None:
    names = {alert.name for alert in LIMITS} | {*DRIFTS, *EVENTS}
    assert names < {*AlertSettings.model_fields}
