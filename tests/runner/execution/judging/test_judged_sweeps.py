"""Sweeps whose answers are judged: the tables and scores, which stages a change computes again, and calls that fail."""

from collections.abc import Mapping

import pandas as pd
import pytest
from click.testing import CliRunner

import workbench as wb
from tests.judged_sweeps import FALSE, QUESTIONS, JudgedSweep, about_the_run
from tests.loopback import closed_port
from workbench.cli.main import main
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases
from workbench.core.schemas import SCHEMAS
from workbench.measures.metrics.names import Metric
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome
from workbench.runner.execution.missing import missing_judgements
from workbench.runner.execution.outputs import write_outputs

TASKS = ("support", "context_relevance", "answer_relevance", "correctness")
# One of the answers is a refusal.
ANSWERED = 2 * QUESTIONS - 1
WITHOUT_CALLS = {key: {"kind": "overlap"} for key in ("support", "relevance", "correctness")}


def computed(outcome: Outcome) -> set[str]:
    (result,) = outcome.results
    return {stage for stage, new in result.computed.items() if new}


def values(run: RunTables, metric: str, condition: str = "gold") -> Mapping[str, object]:
    rows = run.queries[(run.queries["metric"] == metric) & (run.queries["condition"] == condition)].set_index("query_id")
    return {query: row["value"] if row["state"] == "scored" else f"{row['state']}: {row['reason']}" for query, row in rows.iterrows()}


def test_a_sweep_leaves_claims_judgements_and_scores_that_agree(judged_sweep: JudgedSweep) -> None:
    outcome = judged_sweep.run()
    run = write_outputs(outcome)
    claims = run.claims
    assert len(claims) == 2 * ANSWERED
    by_verdict = claims.groupby("verdict")["score"].unique().explode().to_dict()
    assert by_verdict == {"absent": 0.1, "supported": 0.9}
    first = claims.iloc[0]
    answer = run.answers.set_index(["condition", "query_id"])["answer"][first["condition"], first["query_id"]]
    assert answer[first["start"] : first["end"]] == first["claim"] == "The lamp of room 0 is switched at 0 past noon."
    assert (first["passage"], first["evidence_start"], first["evidence_end"]) == (0, 0, 4)
    assert first["quote"] == "The "
    assert first["chunk_id"].startswith("d0:")
    assert values(run, "faithfulness") == {f"q{number}": 0.5 for number in range(QUESTIONS)}
    assert values(run, "faithfulness", "retrieved")["q5"] == "not_applicable: refused"
    assert set(values(run, "contradiction_rate").values()) == {0.0}
    assert set(values(run, "answer_relevance").values()) == {0.8}
    assert values(run, "answer_correctness", "retrieved")["q5"] == 0.0
    assert set(values(run, "context_precision_judged@2").values()) == {1.0}
    # Half of the claims are supported, and 0.85 are needed.
    assert set(values(run, "end_to_end").values()) == {0.0}
    judgements = run.answer_judgements
    assert judgements.groupby("task").size()["correctness"] == ANSWERED
    assert set(judgements.loc[judgements["task"] == "correctness", "passage"]) == {-1}
    assert (judgements["judge"] == "number").all()
    loaded = wb.load(outcome.folder)
    for name, table in {"claims": loaded.claims, "answer_judgements": loaded.judgements, "judges": loaded.judges}.items():
        pd.testing.assert_frame_equal(table, run.table(name))
        assert dict(table.dtypes.astype(str)) == dict(SCHEMAS[name].dtypes)
    assert loaded.judges.set_index("task")["role"].to_dict() == dict.fromkeys(TASKS, "judge")
    assert loaded.judges.set_index("task")["passed"]["support"] == len(faithfulness_cases())
    assert loaded.tables.judging is not None
    assert loaded.tables.judging["support"]["prompt"] == str(judged_sweep.prompt)
    # Both conditions have some equal requests.
    prompts = about_the_run(judged_sweep.provider)
    assert len(prompts) == len(set(prompts))


@pytest.mark.slow
def test_a_changed_prompt_judges_claims_again_and_nothing_else(judged_sweep: JudgedSweep) -> None:
    before = judged_sweep.run()
    assert computed(judged_sweep.run()) == set()
    asked, settings = len(judged_sweep.provider.asked), before.graph.settings(before.results[0].configuration)
    judged_sweep.prompt.write_text("Do the passages say so?", "utf-8")
    after = judged_sweep.run()
    assert computed(after) == {"judge_tests", "verdicts", "scores", "answer_causes"}
    assert {Metric.parse(name).judged for name, entry in after.results[0].entries["scores"].items() if entry.computed} == {True}
    again = [body["messages"] for body in judged_sweep.provider.asked[asked:]]
    assert any("lamp of room" in messages[1]["content"] for messages in again)
    assert {messages[0]["content"] for messages in again} == {"Do the passages say so?"}
    assert all(messages[1]["content"].rsplit("\n", 1)[-1].startswith("support |") for messages in again)
    for stage in ("hits", "contexts", "answers", "claims", "judgements"):
        first, second = (outcome.results[0].entries[stage] for outcome in (before, after))
        assert {slot: entry.folder for slot, entry in first.items()} == {slot: entry.folder for slot, entry in second.items()}
    # The history names what has changed.
    named = after.graph.settings(after.results[0].configuration)
    assert {name for name in named if named[name] != settings[name]} == {"judging"}
    # A threshold is no reason to ask.
    asked = len(judged_sweep.provider.asked)
    after = judged_sweep.run(judging={"thresholds": {"faithfulness": 0.5, "characters": 20}})
    assert computed(after) == {"scores"}
    assert [name for name, entry in after.results[0].entries["scores"].items() if entry.computed] == ["end_to_end"]
    assert len(judged_sweep.provider.asked) == asked


def test_only_the_chosen_conditions_are_judged(judged_sweep: JudgedSweep) -> None:
    run = judged_sweep.tables(judging=WITHOUT_CALLS | {"conditions": ["gold"]})
    assert set(run.claims["condition"]) == set(run.answer_judgements["condition"]) == {"gold"}
    assert values(run, "support_overlap", "gold") != values(run, "support_overlap", "retrieved") == {}


def test_a_judge_that_only_scores_leaves_faithfulness_without_values(judged_sweep: JudgedSweep) -> None:
    run = judged_sweep.tables(judging=WITHOUT_CALLS)
    assert set(values(run, "faithfulness").values()) == {"not_applicable: `overlap` is a score, not a judge"}
    assert set(run.claims["verdict"]) == {""}
    assert run.claims["score"].between(0, 1).all()
    assert run.metrics.loc[run.metrics["metric"] == "faithfulness"].empty
    means = run.metrics[(run.metrics["slice"] == "all") & (run.metrics["condition"] == "gold")].set_index("metric")["value"]
    gold = run.claims[run.claims["condition"] == "gold"]
    assert means["support_overlap"] == pytest.approx(gold.groupby("query_id")["score"].mean().mean())


def test_a_judge_that_fails_its_test_gives_no_faithfulness(judged_sweep: JudgedSweep) -> None:
    judged_sweep.provider.reply_to = lambda _: {"text": FALSE}
    run = judged_sweep.tables(judging={"relevance": {"kind": "overlap"}, "correctness": {"kind": "overlap"}})
    (reason,) = set(values(run, "faithfulness").values())
    assert str(reason).startswith("not_applicable: `number` is a score, not a judge: AUROC 0.50 is below 0.65")
    judges = run.judges.set_index("task")
    assert judges["role"].to_dict() == dict.fromkeys(TASKS, "score")
    assert judges["auroc"]["support"] == 0.5
    assert judges["auroc"]["context_relevance"] > 0.5
    # Its verdicts are still in the table of claims.
    assert set(run.claims["verdict"]) == {"absent"}


@pytest.mark.slow
def test_a_failed_call_leaves_its_answer_unscored_and_is_repeated_by_the_next_sweep(judged_sweep: JudgedSweep) -> None:
    provider = judged_sweep.provider
    provider.faults_of = {
        "| The lamp of room 3 is green": {"status": 500, "message": "no room"},
        "answer_relevance | When is the lamp of room 1": {},
    }
    provider.faults_of["answer_relevance | When is the lamp of room 1"] = {"text": "certainly"}
    outcome = judged_sweep.run()
    first = collect(outcome)
    assert "500: no room" in str(values(first, "faithfulness")["q3"])
    assert str(values(first, "end_to_end")["q3"]).startswith("unscored: ")
    assert values(first, "answer_relevance")["q1"] == "unscored: the reply is no number"
    assert values(first, "answer_relevance")["q3"] == 0.8
    line, note = missing_judgements(outcome)
    # The known answers of the tests of judges are judged, too.
    of = len(first.claims) + len(first.answer_judgements) + len(faithfulness_cases()) + len(relevance_cases())
    assert line.startswith(f"2 of {of} judgements are missing and not scored (2 × ")
    assert line.endswith("); run again to ask only for these")
    assert note == f"2 of {of} replies of judges have no judgement and are not scored (2 × the reply is no number)"
    asked = len(provider.asked)
    provider.faults_of = {}
    outcome = judged_sweep.run()
    second = collect(outcome)
    assert set(values(second, "faithfulness").values()) == {0.5}
    # The same reply would be in the cache of calls.
    assert values(second, "answer_relevance")["q1"] == "unscored: the reply is no number"
    assert missing_judgements(outcome) == ("", note)
    assert 0 < len(provider.asked) - asked <= 2


@pytest.mark.slow
def test_a_provider_that_is_down_ends_a_sweep_in_3_with_every_ranking_scored(judged_sweep: JudgedSweep) -> None:
    down = judged_sweep.judge(base_url=f"http://127.0.0.1:{closed_port()}/v1")
    path = judged_sweep.write(judging=dict.fromkeys(("support", "relevance", "correctness"), down))
    done = CliRunner().invoke(main, ["sweep", str(path), "--outputs", str(judged_sweep.outputs)])
    assert done.exit_code == 3, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("workbench: ")]
    assert len(lines) == 1, done.stderr
    (line,) = lines
    assert "judgements are missing and not scored (" in line
    run = wb.load(judged_sweep.outputs / "judged").tables
    assert not any(isinstance(value, str) for value in values(run, "recall@3", "retrieved").values())
    assert all(str(value).startswith("unscored: ") for value in values(run, "faithfulness").values())
    assert (run.claims["error"] != "").all()
    assert judged_sweep.provider.asked == []
    assert set(values(judged_sweep.tables(), "faithfulness").values()) == {0.5}


@pytest.mark.slow
def test_judging_costs_are_timings_of_the_run_that_made_the_calls(judged_sweep: JudgedSweep) -> None:
    priced = judged_sweep.judge(price_input=1.0, price_output=3.0)
    judging = dict.fromkeys(("support", "relevance", "correctness"), priced)
    first = judged_sweep.tables(judging=judging).timings.set_index("name")["value"]
    calls = len(about_the_run(judged_sweep.provider))
    assert first["judgements_made"] == calls
    assert (first["tokens_judge_input"], first["tokens_judge_output"]) == (10 * calls, calls)
    assert first["cost_judges"] == pytest.approx(13 * calls / 1e6)
    second = judged_sweep.tables(judging=judging).timings.set_index("name")["value"]
    assert (second["judgements_made"], second["tokens_judge_input"], second["cost_judges"]) == (0, 0, 0)


@pytest.mark.slow
def test_a_run_without_judges_has_no_table_of_them(judged_sweep: JudgedSweep) -> None:
    write_outputs(judged_sweep.run())
    without = write_outputs(judged_sweep.run(judging="none", metrics=["recall@3"]))
    assert without.judging is None
    assert without.claims.empty
    folder = judged_sweep.outputs / "judged"
    assert [name for name in ("claims", "answer_judgements", "judges") if (folder / f"{name}.parquet").exists()] == []
