"""False claims about what parts add stay below their targets."""

import pytest

from benchmarks.verdict.parts import HEADINGS, parts_worlds, rates
from benchmarks.verdict.targets import Target

RUNS = 400
TARGETS = {
    "false claim": Target("false claim", 0.05),
    "simultaneous intervals": Target("simultaneous intervals", 0.94, least=True),
    "falsely differs": Target("falsely differs", 0.05),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", parts_worlds())
def test_claims_about_parts_meet_their_targets(name: str) -> None:
    found = dict(zip(HEADINGS[3:], rates(parts_worlds()[name], RUNS), strict=True))
    assert [heading for heading, target in TARGETS.items() if target.missed(found[heading], RUNS)] == []
