from dataclasses import replace

import numpy as np
import pytest

from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect

N = 120
noise = np.random.default_rng(4)
BASE = noise.random(N) * 0.5


@pytest.fixture(scope="module")
def clear(made) -> RunTables:
    return made.valued([BASE, BASE + 0.3 + noise.random(N) * 0.1, BASE + 0.1 * noise.random(N)])


def test_a_clear_lead_is_a_winner_with_its_margin_over_the_second(clear: RunTables) -> None:
    found, decision = findings(clear), decide(findings(clear))
    assert found.winner == found.first.name == "fixed-24-0"
    assert (decision.margin.a, decision.margin.b) == ("fixed-24-0", found.second.name)
    assert decision.margin.difference.low > 0.2
    assert found.mark("fixed-24-0") == "winner"
    assert not found.mark("fixed-16-0")
    assert decision.misses.of == N
    assert decision.contrast.a.winner == "fixed-24-0"
    assert {one.name for one in found.priced} == {"fixed-16-0", "fixed-24-0", "fixed-32-0"}


def test_the_same_run_is_worked_out_once(clear: RunTables) -> None:
    assert findings(clear) is findings(clear)


def test_with_a_baseline_the_margin_is_from_it(made) -> None:
    outcome = made.valued([BASE, BASE + 0.3, BASE + 0.1 * noise.random(N)], baseline="fixed-16-0")
    found, decision = findings(outcome), decide(findings(outcome))
    assert decision.other.name == decision.margin.b == decision.contrast.b.winner == "fixed-16-0"
    assert found.second.name == "fixed-32-0"
    assert not found.unbased


def test_the_reference_is_the_baseline_or_else_the_first(made) -> None:
    values = [BASE, BASE + 0.3, BASE + 0.1 * noise.random(N)]
    for baseline, reference in (("fixed-16-0", "fixed-16-0"), (None, "fixed-24-0")):
        assert findings(made.valued(values, baseline=baseline)).reference.name == reference


def test_a_leading_baseline_is_compared_with_the_second(made) -> None:
    decision = decide(findings(made.valued([BASE, BASE + 0.3, BASE + 0.1 * noise.random(N)], baseline="fixed-24-0")))
    assert (decision.margin.a, decision.margin.b) == ("fixed-24-0", "fixed-32-0")


def test_a_baseline_without_a_value_is_named_and_all_pairs_are_tested(made) -> None:
    found = findings(made.valued([np.full(N, np.nan), BASE + 0.3, BASE], baseline="fixed-16-0"))
    assert found.unbased == "fixed-16-0"
    assert found.verdict.family == "all pairs"
    assert [one.name for one in found.standings.ranked] == ["fixed-24-0", "fixed-32-0", "fixed-16-0"]


def test_the_tie_set_is_marked(made) -> None:
    rows = [np.clip(BASE + noise.normal(0, 0.3, N), 0, 1) for _ in range(3)]
    found = findings(made.valued(rows))
    assert found.winner is None
    assert found.verdict.reason is Reason.TIED
    assert [found.mark(one) for one in found.verdict.best] == ["="] * len(found.verdict.best)


def test_too_few_questions_mark_nothing(made) -> None:
    found = findings(made.valued([BASE[:20], BASE[:20] + 0.3], documents=2))
    assert found.verdict.reason is Reason.FEW
    assert not found.conclusive
    assert {found.mark(one.name) for one in found.standings.ranked} == {""}


def test_judgements_that_differ_bound_the_difference(made) -> None:
    # Without evidence the documents decide, and most of what is retrieved was never judged.
    decision = decide(findings(collect(made.ran(2, metrics=["precision@3"], name="unjudged"))))
    assert decision.findings.primary.family == "documents"
    shares = decision.contrast.judged
    assert (decision.bounds is None) == (shares[0] == shares[1])
    if decision.bounds is not None:
        assert decision.bounds.low <= decision.margin.difference.value <= decision.bounds.high


def test_without_comparable_configurations_there_is_no_verdict(made, outcome_of_sizes) -> None:
    sizes = outcome_of_sizes()
    cut = [result for result in sizes.results if result.truncated.any()]
    found = findings(collect(replace(sizes, results=cut)))
    decision = decide(found)
    assert found.verdict is found.first is found.winner is decision.other is decision.margin is decision.misses is None
    assert [one.name for one in found.standings.windowed] == ["fixed-64-0"]
    alone = findings(collect(made.ran(1)))
    assert alone.verdict.reason is Reason.ALONE
    assert alone.first is not None
    assert alone.second is decide(alone).margin is decide(alone).contrast is None


def test_equal_means_stand_in_the_order_of_the_verdict(made) -> None:
    run = made.valued([BASE, BASE, BASE])
    metrics = run.metrics.copy()
    rows = metrics.index[(metrics["metric"] == str(run.primary)) & (metrics["slice"] == "all")]
    # Means that differ in the last digit, as those of equal values may where they are summed in another order.
    metrics.loc[rows, "value"] = metrics.loc[rows[0], "value"] + np.arange(3) * np.finfo(float).eps
    other = replace(run, sources={**run.sources, "metrics": lambda _: metrics})
    found = findings(other)
    assert tuple(one.name for one in found.standings.ranked) == found.verdict.ranked == run.names
    assert found.standings.ranked[0].means[str(run.primary)].value < found.standings.ranked[2].means[str(run.primary)].value
    assert found.verdict.reason is Reason.IDENTICAL
