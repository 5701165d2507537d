"""The first screen in words: no sentence contradicts another, and every number is one of the tables'."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.made_runs import Made
from tests.report.analysis.test_decision import BASE, SPREAD, N, noise, parted
from workbench.core.text.formatting import capitalised, number, p_value, signed
from workbench.report.analysis.decision import ResultKind, RunDecision, decide
from workbench.report.analysis.findings import findings
from workbench.report.analysis.parts import parts
from workbench.report.analysis.ranking import RankStatus, ranking_rows
from workbench.report.model import Opening, RankingExcerpt
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.decision.opening import about, excerpt, opening
from workbench.report.topics.registry import summary_lines
from workbench.report.topics.retrieval.ranking import ranking_block
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

CLEAR = [BASE, BASE + 0.3 + noise.random(N) * 0.1, BASE + 0.1 * noise.random(N)]
# Words of a claim that one configuration is better.
CLAIM = re.compile(r"finds more|has a (higher|lower)|is the best|wins")


def lost_values() -> list[np.ndarray]:
    lost = BASE + 0.27 + noise.random(N) * 0.05
    lost[::12] = np.nan
    return [BASE + 0.3 + noise.random(N) * 0.05, lost, BASE]


KINDS = {
    "winner": lambda made: made.valued(CLEAR, name="clear"),
    "winner over a baseline": lambda made: made.valued(CLEAR, name="clear-based", baseline="fixed-16-0"),
    "tied": lambda made: made.valued(SPREAD, name="tied"),
    "tied with a baseline": lambda made: made.valued(SPREAD, name="tied-based", baseline="fixed-16-0"),
    "part": parted,
    "equivalent": lambda made: made.valued(
        [np.clip(BASE + np.random.default_rng(row).normal(0, 0.01, N), 0, 1) for row in (1, 2)], name="close", smallest_difference=0.1
    ),
    "identical": lambda made: made.valued([BASE, BASE], name="same"),
    "few": lambda made: made.valued([BASE[:20], BASE[:20] + 0.3], documents=2, name="few"),
    "few documents": lambda made: made.valued([BASE[:60], BASE[:60] + 0.3], documents=6, name="six"),
    "missing": lambda made: made.valued(lost_values(), name="lost"),
    "alone": lambda made: made.valued([BASE], name="alone"),
    "lower is better": lambda made: made.valued([BASE + 0.4, BASE, BASE + 0.3], primary="irrelevant@3", name="lower"),
    "hidden": lambda made: made.valued([CLEAR[1], BASE, np.where(np.arange(N) < 60, BASE + 0.5, np.nan)], name="hidden"),
    "no value": lambda made: made.valued([np.full(N, np.nan)] * 2, name="unscored"),
}


@pytest.fixture(params=KINDS, scope="module")
def run(request: pytest.FixtureRequest, made: Made) -> RunTables:
    return KINDS[request.param](made)


def shown(run: RunTables) -> tuple[RunDecision, Opening, RankingExcerpt | None]:
    decision = decide(findings(run))
    return decision, opening(decision), excerpt(decision)


def test_a_claim_is_made_only_if_the_verdict_makes_it(run: RunTables) -> None:
    decision, first, _ = shown(run)
    verdict, said = decision.findings.verdict, f"{first.headline} {' '.join(fact.sentence for fact in first.facts)}"
    won = verdict is not None and verdict.winner is not None
    better = decision.shown_better and decision.other is decision.findings.standings.baseline
    assert (CLAIM.search(said) is not None) <= (won or better)
    assert ("Winner" in [chip.text for chip in first.chips]) == (decision.kind is ResultKind.WINNER)
    assert first.headline.startswith("Do not decide") == (decision.kind in (ResultKind.FEW, ResultKind.MISSING, ResultKind.DRAFTS))


def test_no_configuration_that_is_behind_is_recommended(run: RunTables) -> None:
    decision, first, rows = shown(run)
    used = [row for row in rows.rows if row.used] if rows else []
    assert len(used) == (decision.use is not None)
    if decision.use is not None:
        assert decision.use.name in decision.findings.verdict.best
        assert [(row.full, row.kind in ("winner", "best")) for row in used] == [(decision.use.name, True)]
        assert decision.use.name in first.headline
    behind = [row.short for row in ranking_rows(decision.findings) if row.status is RankStatus.BEHIND]
    assert not any(re.match(rf"(Use|Keep|Start with) {re.escape(name)} \(", first.headline) for name in behind)


def test_not_shown_is_said_of_exactly_the_differences_that_are_not(run: RunTables) -> None:
    decision, first, _ = shown(run)
    how = next((fact for fact in first.facts if fact.question == "By how much?"), None)
    if how is None or decision.kind not in (ResultKind.WINNER, ResultKind.TIED):
        return
    assert ("not shown to differ" in how.text) == (not decision.shown_better)


def test_every_p_and_every_interval_is_one_of_the_tables(run: RunTables) -> None:
    decision, first, rows = shown(run)
    found = decision.findings
    pairs = [*(found.verdict.pairs if found.verdict else ()), *(part.effect.comparison for part in parts(found))]
    pairs += [pair.reversed() for pair in pairs]
    means = [mean for each in found.standings.finished for mean in each.means.values()]
    means += [decision.misses.weakest[1]] if decision.misses and decision.misses.weakest else []
    known = {replace(pair.simultaneous, conditional="").bounds() for pair in pairs} | {mean.bounds() for mean in means}
    said = " ".join(
        [first.headline, *(fact.sentence for fact in first.facts), *(f"{row.bounds} {row.status}" for row in rows.rows if rows)]
    )
    assert set(re.findall(r"[\[(]−?\d+\.\d+, −?\d+\.\d+[\])]", said)) <= known
    assert set(re.findall(r"p [=<>] \d\.\d+", said)) <= {p_value(pair.p_adjusted) for pair in pairs}


def test_the_rows_of_the_excerpt_are_those_of_the_metrics_and_comparisons(run: RunTables) -> None:
    decision, _, rows = shown(run)
    found = decision.findings
    if rows is None or found.reference is None:
        return
    metrics = found.metrics[(found.metrics["metric"] == str(found.primary)) & (found.metrics["slice"] == "all")].set_index("configuration")
    compared = found.comparisons[found.comparisons["metric"] == str(found.primary)]
    for row in rows.rows:
        assert row.score == number(metrics.loc[row.full, "value"])
        if row.difference[:1] in "+−":
            pair = compared[compared[["a", "b"]].isin([row.full, found.reference.name]).all(axis=1)]
            value = float(pair["difference"].iloc[0]) * (1 if pair["a"].iloc[0] == row.full else -1)
            assert not row.difference or row.difference == signed(value)


def test_all_is_said_in_whole_sentences(run: RunTables) -> None:
    _, first, _ = shown(run)
    for text in (first.headline, *(fact.sentence for fact in first.facts), *([first.step.sentence] if first.step else [])):
        assert text.endswith((".", "…"))
        assert not re.search(r"nan|None\b|  |\.\.|\bclusters?\b|indistinguishable", text), text
        assert text.count("(") == text.count(")")
    assert 1 <= len(first.facts) <= 4
    assert all(fact.question.endswith("?") and fact.answer for fact in first.facts)


def test_the_terminal_ends_with_the_first_screen(run: RunTables) -> None:
    shown = opening(decide(findings(run)))
    assert summary_lines(run)[-shown.text.count("\n") - 1 :] == shown.text.split("\n")


def test_the_metric_and_the_data_are_in_words(made: Made) -> None:
    found = findings(made.valued(SPREAD, name="tied"))
    first = opening(decide(found))
    words = "is the share of the needed evidence inside the first 60 tokens that a configuration delivers; 1 is all of it."
    assert (first.metric, first.lines[0]) == ("span_recall@60t", words)
    assert about(found) == "12-documents · 12 documents · 120 questions with evidence · 3 configurations"


def test_the_part_is_recommended_as_people_say_it(made: Made) -> None:
    _, first, _ = shown(parted(made))
    assert re.match(
        r"Use MMR \(fixed-\d+-0-mmr-pool10\)\. 120 questions show no difference between fixed \d\d and fixed \d\d\.$", first.headline
    )
    assert re.match(r"more of the evidence with MMR than without it \[", first.facts[0].text)


def test_a_number_of_questions_is_given_up_to_ten_times_those_there_are(made: Made) -> None:
    found = findings(made.valued(SPREAD, name="tied"))
    sure = opening(decide(found)).facts[1].text
    assert "in all would show" not in sure
    again = replace(found)
    vars(again)["verdict"] = replace(found.verdict, power=replace(found.verdict.power, needed=1_100))
    assert "about 1,100 in all would show 0.020" in opening(decide(again)).facts[1].text


def test_a_gate_leads(made: Made) -> None:
    run = made.valued(CLEAR, name="clear")
    row = {"kind": "floor", "rule": "recall@5 >= 0.9", "configuration": "fixed-16-0", "outcome": "fail", "reason": "too low"}
    table = pd.DataFrame([dict.fromkeys(run.schemas["gate"].names, 0) | row])
    gated = replace(run, sources={**run.sources, "gate": lambda _: table})
    first = opening(decide(findings(gated)))
    assert first.chips[0].text == "Gate: fail"
    assert first.headline.startswith("The gate of fixed-16-0 fails. 1 rule: 1 fail. Use fixed 24")


def test_the_excerpt_has_ten_rows_with_what_is_hidden_first_and_counts_the_rest(untidy: RunTables) -> None:
    decision, _, rows = shown(untidy)
    assert len(rows.rows) <= 10
    assert "more" in rows.more
    left = sum(int(many) for many in re.findall(r"(\d+) more", rows.more))
    failed = [name for row in rows.rows if row.kind == "failed" for name in row.full.split(", ")]
    assert left + len([row for row in rows.rows if row.kind != "failed"]) + len(failed) == decision.configurations
    assert set(failed) < set(untidy.failures)
    assert f"{len(untidy.failures) - len(failed)} more failed" in rows.more


def test_the_first_screen_has_the_status_and_the_legend_of_the_ranking(run: RunTables) -> None:
    _, _, rows = shown(run)
    block = ranking_block(findings(run))
    statuses = {line.name: line.cells[-2].text for _, group in block.groups for line in group if line.cells}
    for row in rows.rows if rows else ():
        assert row.status.removeprefix("not ranked: ") == statuses[row.full]
    for phrase in rows.legend.split(" · ") if rows and rows.legend else ():
        assert phrase == "for other questions about these documents" or f"{capitalised(phrase)}." in block.note


def test_a_member_of_the_tie_set_is_said_to_be_better_than_the_baseline_on_the_first_screen(made: Made) -> None:
    level = BASE + 0.3
    values = [BASE, level + noise.random(N) * 0.1, level + noise.random(N) * 0.1]
    _, _, rows = shown(made.valued(values, name="two-better", baseline="fixed-16-0"))
    assert [row.status for row in rows.rows[:2]] == ["may be best, better than the baseline"] * 2


def test_one_recorded_system_on_few_documents_has_no_interval_and_no_cost(made: Made) -> None:
    rows = [{"query_id": f"q{doc}-{fact}", "hits": [{"doc_id": f"d{doc}"}]} for doc in range(2) for fact in range(10)]
    recorded = made.folder / "recorded.jsonl"
    recorded.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    settings = {
        "name": "recorded-alone",
        "dataset": {"kind": "golden", "path": str(made.data(2))},
        "targets": [{"kind": "recorded", "name": "app", "path": str(recorded)}],
        "metrics": ["recall@1"],
    }
    run = collect(run_experiment(experiment_of(settings, "test"), made.folder / "outputs", lambda _: None))
    _, head, _ = shown(run)
    facts = {fact.question: fact for fact in head.facts}
    assert facts["How sure?"].text == "a test needs two configurations."
    assert "At what cost?" not in facts
    assert facts["What does it score?"].answer == "1.000"
    below = re.findall(r'<p class="foot">(.*?)</p>', rendered(document_of(run)))
    assert below
    assert not any(text.startswith(".") for text in below)
