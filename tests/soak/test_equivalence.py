"""Claims of equivalence of configurations whose difference matters stay below their target."""

import pytest

from benchmarks.verdict.equivalence import cases, rates
from benchmarks.verdict.targets import Target

RUNS = 400


@pytest.mark.soak
@pytest.mark.parametrize("name", cases())
def test_equivalence_is_claimed_falsely_in_at_most_5_percent(name: str) -> None:
    _, claimed, _ = rates(cases()[name], RUNS)
    assert not Target("false claim", 0.05).missed(claimed, RUNS)
