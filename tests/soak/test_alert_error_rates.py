"""The promise of alerts, by simulation; docs/monitoring.md has the figures of 500 months."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.alert_error_rates import BUSY, CHANGES, USUAL, WORLDS, delays, false_alarms

pytestmark = pytest.mark.soak
MONTHS = 100


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_four_weeks_without_a_change_rarely_raise_an_alert(world) -> None:
    counts = false_alarms(world, range(MONTHS))
    assert counts["any"] <= stats.binom.ppf(0.999, MONTHS, 0.05), counts


@pytest.mark.parametrize("alert", CHANGES)
def test_a_large_change_is_seen_within_two_weeks_and_attributed_to_its_alert(alert) -> None:
    # Lost results need questions that are asked again.
    world = BUSY if alert == "lost_results" else USUAL
    assert np.median(delays(world, alert, CHANGES[alert][-1], range(5))) < 14
