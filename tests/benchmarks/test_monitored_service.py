"""A service that is degraded under load and killed between its releases raises the alert of each degradation, and no other."""

import pytest

from benchmarks.monitored_service import SHORT, run


@pytest.mark.slow
def test_each_degradation_of_a_service_under_load_is_seen_and_nothing_before_it() -> None:
    figures = run(SHORT, budget=80)
    # How much of a loaded machine's log is unwritten after a kill is measured by the benchmark.
    claims = [claim for claim in figures["claims"] if "kill" not in claim["claim"]]
    assert len(claims) == 4
    assert all(claim["holds"] for claim in claims), figures
    assert figures["answered"] >= sum(phase.questions for phase in SHORT)
