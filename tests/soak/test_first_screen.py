"""The first screen of a report makes a false claim in at most 5 % of runs. docs/statistics.md has the figures."""

import pytest

from benchmarks.verdict.first_screen import CLAIMS, SCREENS, claim_rates, rates, screens
from benchmarks.verdict.targets import Target

VERDICTS, RUNS, FEW = 1_000, 100, 40


@pytest.mark.soak
@pytest.mark.parametrize("name", screens())
def test_false_claims_of_verdicts_meet_their_target(name: str) -> None:
    found = dict(zip(CLAIMS, claim_rates(screens()[name], VERDICTS), strict=True))
    assert not {claim: rate for claim, rate in found.items() if Target(claim, 0.05).missed(rate, VERDICTS)}


@pytest.mark.soak
@pytest.mark.parametrize("name", screens())
def test_false_claims_of_whole_screens_meet_their_target(name: str) -> None:
    for claim, rate in zip(SCREENS, rates(screens()[name], RUNS), strict=False):
        assert not Target(claim, 0.05).missed(rate, RUNS), claim


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no difference, a baseline", "a chunking better by .10, a baseline"])
def test_a_few_runs_make_few_false_claims(name: str) -> None:
    _, claimed, recommended = rates(screens()[name], FEW)
    # Six of 40 have a probability of .01 at a rate of .05.
    assert claimed < 6 / FEW
    assert recommended > 0.5
