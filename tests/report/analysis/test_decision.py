"""What a run recommends, and from which test it follows."""

from dataclasses import replace

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.core.text.formatting import p_value
from workbench.measures.statistics.effects import EffectReading
from workbench.report.analysis.decision import Basis, ResultKind, RunDecision, decide
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.decision.opening import opening

N = 120
noise = np.random.default_rng(5)
BASE = noise.random(N) * 0.5
SPREAD = [np.clip(BASE + noise.normal(0, 0.3, N), 0, 1) for _ in range(3)]
FACTORIAL = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}], "rerank": ["none", {"kind": "mmr", "pool": 10}]}


def decided(run: RunTables) -> RunDecision:
    return decide(findings(run))


def parted(made: Made, gain: float = 0.15) -> RunTables:
    """Reranking adds `gain` whatever the chunking, and the chunking adds nothing."""
    random = np.random.default_rng(7)
    level = random.random(N) * 0.6
    rows = [np.clip(level + random.normal(0, 0.12, N) + (gain if reranked else 0), 0, 1) for _ in range(2) for reranked in (0, 1)]
    return made.valued(rows, name=f"parted-{gain}", sweep=FACTORIAL)


def test_the_winner_is_recommended_and_compared_with_the_baseline(made: Made) -> None:
    won = decided(made.valued([BASE, BASE + 0.3 + noise.random(N) * 0.1, BASE + 0.1 * noise.random(N)], baseline="fixed-16-0", name="w"))
    assert (won.kind, won.basis, won.use.name) == (ResultKind.WINNER, Basis.TEST, "fixed-24-0")
    assert (won.margin.a, won.margin.b) == ("fixed-24-0", "fixed-16-0")
    assert won.shown_better


def test_a_tie_without_a_baseline_starts_with_the_best_score(made: Made) -> None:
    tied = decided(made.valued(SPREAD, name="tied"))
    assert (tied.kind, tied.basis) == (ResultKind.TIED, Basis.SCORE)
    assert tied.use is findings(tied.findings).first
    assert not tied.shown_better


def test_a_baseline_that_nothing_is_shown_to_beat_is_kept(made: Made) -> None:
    order = sorted(range(3), key=lambda row: SPREAD[row].mean())
    worst = f"fixed-{16 + 8 * order[0]}-0"
    kept = decided(made.valued(SPREAD, name="kept", baseline=worst))
    assert (kept.kind, kept.basis, kept.use.name) == (ResultKind.TIED, Basis.BASELINE, worst)


def test_the_part_whose_effect_is_shown_leads_if_several_may_be_best(made: Made) -> None:
    found = decided(parted(made))
    assert (found.kind, found.basis) == (ResultKind.TIED, Basis.PART)
    assert (found.part.stage, found.part.effect.comparison.p_adjusted < 0.05) == ("rerank", True)
    assert found.findings.configurations_settings[found.use.name]["rerank"]["kind"] == "mmr"
    assert found.use.name in found.findings.verdict.best


def test_a_part_does_not_lead_if_no_configuration_is_outside_the_tie_set(made: Made) -> None:
    found = decided(parted(made, 0.0))
    assert len(found.findings.verdict.best) == 4
    assert found.part is None


@pytest.mark.parametrize("baseline", [None, "fixed-32-0"])
def test_an_effect_of_one_pair_of_configurations_does_not_lead(made: Made, baseline: str | None) -> None:
    random = np.random.default_rng(9)
    rows = [np.clip(BASE + gain + random.normal(0, 0.08, N), 0, 1) for gain in (0, 0.3, 0.3)]
    found = decided(made.valued(rows, name=f"one-stage-{baseline or 0}", **({"baseline": baseline} if baseline else {})))
    assert found.kind is ResultKind.TIED
    assert len(found.findings.verdict.best) == 2
    assert (found.part, found.basis) == (None, Basis.BASELINE if baseline else Basis.SCORE)


def test_of_equivalent_configurations_the_cheapest_is_recommended(made: Made) -> None:
    close = [np.clip(BASE + noise.normal(0, 0.01, N), 0, 1) for _ in range(2)]
    run = made.valued(close, name="close", smallest_difference=0.1)
    found = decided(run)
    assert (found.kind, found.basis) == (ResultKind.EQUIVALENT, Basis.COST)
    assert found.use.name in found.findings.verdict.equivalent


@pytest.mark.parametrize(("questions", "documents"), [(20, 2), (60, 6)])
def test_too_few_questions_or_documents_recommend_nothing(made: Made, questions: int, documents: int) -> None:
    found = decided(made.valued([BASE[:questions], BASE[:questions] + 0.3], documents=documents, name=f"few-{questions}"))
    assert (found.kind, found.use) == (ResultKind.FEW, None)


def test_unscored_questions_that_could_change_the_order_recommend_nothing(made: Made) -> None:
    lost = BASE + 0.27 + noise.random(N) * 0.05
    lost[::12] = np.nan
    found = decided(made.valued([BASE + 0.3 + noise.random(N) * 0.05, lost, BASE], name="lost"))
    assert (found.kind, found.use) == (ResultKind.MISSING, None)


def test_a_better_score_that_is_not_ranked_comes_before_a_winner(made: Made) -> None:
    hidden = np.where(np.arange(N) < 60, BASE + 0.5, np.nan)
    found = decided(made.valued([BASE + 0.3 + noise.random(N) * 0.1, BASE, hidden], name="hidden"))
    assert (found.kind, found.outcome, found.hidden.name) == (ResultKind.INCOMPLETE, ResultKind.WINNER, "fixed-32-0")
    assert found.use is None
    lower = decided(made.valued([BASE + 0.3 + noise.random(N) * 0.1, BASE, hidden - 0.5], name="below"))
    assert (lower.kind, lower.hidden) == (ResultKind.WINNER, None)


def test_failures_with_one_cause_are_one_group(made: Made) -> None:
    run = made.valued([BASE + 0.3 + noise.random(N) * 0.1, BASE], name="failing")
    errors = {"one": "chunking one failed (no room)", "two": "chunking two failed (no room)"}
    found = decided(replace(run, manifest={**run.manifest, "failures": errors}))
    assert found.kind is ResultKind.INCOMPLETE
    assert [[row.name for row in group] for group in found.failed] == [["one", "two"]]


def two_parts(made: Made, gain: float) -> RunDecision:
    """The largest chunks gain much, and reranking a little with every chunking."""
    random, sizes = np.random.default_rng(11), [12, 16, 20, 24, 28]
    level = random.random(300) * 0.5
    cells = [(size, reranked) for size in sizes for reranked in (False, True)]
    rows = [np.clip(level + random.normal(0, 0.15, 300) + gain * reranked + 0.15 * (size == sizes[-1]), 0, 1) for size, reranked in cells]
    sweep = {"chunking": [{"kind": "fixed", "size": sizes, "overlap": 0}], "rerank": FACTORIAL["rerank"]}
    return decided(made.valued(rows, documents=30, name=f"two-parts-{gain}", sweep=sweep))


def test_a_side_that_an_effect_shows_to_lose_is_not_recommended_even_if_it_costs_less(made: Made) -> None:
    unshown, shown = two_parts(made, 0.02), two_parts(made, 0.05)
    for found in (unshown, shown):
        assert (found.basis, found.part.stage) == (Basis.PART, "chunking")
        assert {*found.findings.verdict.best} == {"fixed-28-0", "fixed-28-0-mmr-pool10"}
    assert (unshown.deciding, unshown.use.name) == ((), "fixed-28-0")
    assert "show no difference between" in opening(unshown).headline
    (effect,) = shown.deciding
    assert (effect.stage, effect.effect.reading, shown.members) == ("rerank", EffectReading.GAIN, ("fixed-28-0-mmr-pool10",))
    assert shown.use.name == "fixed-28-0-mmr-pool10"
    assert opening(shown).headline == "Split into pieces of 28 tokens (fixed-28-0-mmr-pool10). MMR is worth it."
    sure = opening(shown).facts[1].text
    assert sure.startswith(f"for fixed 28 and {p_value(effect.effect.comparison.p_adjusted)} for MMR, corrected for all effects of parts.")
