"""Sweeps with limits: they stop cleanly, finished answers are kept, and the next sweep makes only the other calls."""

import re
from collections import Counter
from typing import Any

import pytest

from tests.asked_sweeps import AskedSweep
from workbench.core.errors import ExperimentError
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.missing import missing_answers
from workbench.runner.execution.outputs import publish
from workbench.runner.experiment.read import ExperimentSpec, experiment_of

# The provider counts 10 tokens of each prompt and 1 of each answer.
PRICES = {"price_input": 1e5, "price_output": 1e6}


def states(run: RunTables) -> dict[str, int]:
    return run.queries.loc[run.queries["metric"] == "answer_recall", "state"].value_counts().to_dict()


def test_calls_beyond_a_limit_are_missing_and_made_by_the_next_sweep(asked_sweep: AskedSweep) -> None:
    first = asked_sweep.tables(limits={"calls": 5}, conditions=["gold", "retrieved"])
    assert len(asked_sweep.provider.asked) == 5
    errors = first.answers["error"]
    assert Counter(errors) == {"": 5, "the budget of 5 calls is spent": 19}
    assert states(first) == {"scored": 5, "unscored": 19}
    (line,) = missing_answers(first)
    assert line.startswith("19 of 24 answers are missing and not scored (19 × the budget of 5 calls is spent); ")
    second = asked_sweep.tables(limits={"calls": 500}, conditions=["gold", "retrieved"])
    assert missing_answers(second) == []
    assert states(second) == {"scored": 24}
    assert Counter(asked_sweep.provider.prompts()).most_common(1)[0][1] == 1
    kept = first.answers[errors == ""].set_index(["condition", "query_id"])["answer"]
    assert second.answers.set_index(["condition", "query_id"])["answer"][kept.index].equals(kept)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"tokens": 50}, "the budget of 50 tokens is spent"), ({"usd": 8}, "the budget of 8 USD is spent")],
)
def test_limits_of_tokens_and_money_are_exceeded_by_the_calls_in_flight_at_most(
    asked_sweep: AskedSweep, limits: dict[str, float], reason: str
) -> None:
    run = asked_sweep.tables(limits=limits, answering={"concurrency": 2, **PRICES})
    # A call has 11 tokens and costs 2 USD, so 5 or 4 reach the limit, and another may be in flight.
    assert len(asked_sweep.provider.asked) in ((5, 6) if "tokens" in limits else (4, 5))
    assert set(run.answers["error"]) == {"", reason}
    asked_sweep.tables(answering={"concurrency": 2, **PRICES})
    assert len(asked_sweep.provider.asked) == 12


def test_configurations_share_the_limits_of_their_run(asked_sweep: AskedSweep) -> None:
    sweep = {"answering": [asked_sweep.generator(prompt=["cited-1", "short-1"])]}
    run = asked_sweep.tables(sweep=sweep, limits={"calls": 15})
    assert len(asked_sweep.provider.asked) == 15
    assert run.answers["error"].value_counts().to_dict() == {"": 15, "the budget of 15 calls is spent": 9}


def test_a_limit_of_money_needs_prices_of_a_model_that_may_cost_something(asked_sweep: AskedSweep) -> None:
    elsewhere = {"base_url": "http://models.invalid/v1", "api_key_env": "PATH"}
    with pytest.raises(ExperimentError) as raised:
        asked_sweep.experiment(limits={"usd": 1}, answering=elsewhere)
    (fault,) = raised.value.faults
    assert fault == "limits.usd needs the prices of the model; add price_input and price_output to answering, for a million tokens each"
    priced = {**elsewhere, "price_input": 1, "price_output": 1}
    judge = {"kind": "chat", "provider": "openai", "model": "words", **elsewhere}
    with pytest.raises(ExperimentError) as raised:
        asked_sweep.experiment(
            limits={"usd": 1},
            answering=priced,
            judging={"relevance": {"kind": "cascade", "cheap": {"kind": "overlap"}, "expensive": judge}, "claims": judge},
        )
    assert [fault.split(" to ")[1] for fault in raised.value.faults] == [
        f"judging.{name}, for a million tokens each" for name in ("claims", "relevance")
    ]
    # A model on this machine costs nothing, so its calls need no prices.
    assert asked_sweep.experiment(limits={"usd": 1}).limits.usd == 1


def test_a_limit_of_money_needs_the_prices_of_a_model_that_writes_for_a_target_and_no_others(asked_sweep: AskedSweep) -> None:
    def read(**more: Any) -> ExperimentSpec:
        answer = {"tool": "ask", "arguments": {"query": "{query}"}, "reply": {"text": "$.answer"}}
        target = {"kind": "mcp", "name": "notes", "transport": "http", "url": "http://localhost:9/mcp", "answer": answer, **more}
        settings = asked_sweep.settings(targets=[target], limits={"usd": 1}, metrics=["answer_recall"])
        return experiment_of({name: value for name, value in settings.items() if name != "pipeline"}, "here")

    elsewhere = {"base_url": "http://models.invalid/v1", "api_key_env": "PATH"}
    sampling = {"kind": "chat", "provider": "openai", "model": "words", **elsewhere}
    with pytest.raises(ExperimentError) as raised:
        read(sampling=sampling)
    (fault,) = raised.value.faults
    assert "add price_input and price_output to sampling of notes, for" in fault
    for more in ({"sampling": sampling | {"price_input": 1, "price_output": 1}}, {}):
        assert read(**more).limits.usd == 1


def test_tries_without_a_reply_are_a_note_of_the_run(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.faults_of = {"room 3 switched?": {"hang": True}}
    outcome = asked_sweep.run(answering={"timeout": 0.5, "retries": 1, **PRICES})
    (note,) = publish(outcome, lambda _: None, notebooks=False).notes
    # Each has 64 tokens of an answer at most, which cost 1 USD each, and a prompt. The other 11 answers cost 2 USD each.
    found = re.fullmatch(
        r"2 tries of calls without a usable reply: limits count such tries, which may be billed, up to (.+) of (.+) USD", note
    )
    assert found
    lost, spent = map(float, found.groups())
    assert 128 < lost < 500
    assert spent - lost == pytest.approx(22)
