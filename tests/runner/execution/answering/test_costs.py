"""The bounds of a plan against what a server counts, and the estimates of a pilot."""

from typing import Any

import pytest

from tests.asked_sweeps import NAMED, AskedSweep, write_questions
from tests.loopback import closed_port
from workbench.core.errors import InputError, ModelError
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, count
from workbench.runner.execution.costs import CallBound, PilotEstimate, pilot
from workbench.runner.execution.plan import Plan, plan_experiment, plan_lines

PRICES = {"price_input": 1.0, "price_output": 3.0}


def counted(body: dict[str, Any]) -> dict[str, Any]:
    """An answer of as many tokens as allowed, with the tokens of the prompt: of its messages, and 4 around each."""
    prompt = sum(count(message["content"], BUDGET_VOCABULARY) + 4 for message in body["messages"])
    return {"tokens": (prompt, body["max_tokens"])}


def planned(asked: AskedSweep, **changes: Any) -> Plan:
    return plan_experiment(asked.experiment(**changes), asked.outputs)


def total(plan: Plan) -> CallBound:
    return sum((each.bound for each in plan.configurations), CallBound())


def piloted(asked: AskedSweep, **changes: Any) -> list[str]:
    return [line for line, _ in pilot(asked.experiment(**changes), asked.outputs, lambda _: None)]


@pytest.mark.slow
@pytest.mark.parametrize(("conditions", "variants"), [(["none", "retrieved"], 2), (["gold", "retrieved", "counterfactual"], 4)])
def test_a_sweep_stays_within_the_bounds_of_its_plan(asked_sweep: AskedSweep, conditions: list[str], variants: int) -> None:
    provider = asked_sweep.provider
    provider.reply_to = counted
    sweep = {"answering": [asked_sweep.generator(prompt=["cited-1", "short-1"], **PRICES)]}
    data = write_questions(asked_sweep.folder / "few", 4)
    # The prompt of a long question exceeds the budget without passages.
    questions = data / "questions.jsonl"
    questions.write_text(questions.read_text("utf-8").replace("room 3 switched?", f"room 3 switched{4000 * ' on'}?"), "utf-8")
    changes: dict[str, Any] = {"sweep": sweep, "conditions": conditions, "repeats": 2, "context": {"budget": 200}, "data": data}
    bound = total(planned(asked_sweep, **changes))
    run = asked_sweep.tables(**changes)
    answered = run.answers[run.answers["reason"] == ""]
    # Equal prompts of several conditions are one call.
    assert 0 < len(provider.asked) <= len(answered) <= bound.calls == 2 * variants * 2 * 4
    assert 0 < answered["input_tokens"].sum() <= bound.input_tokens
    assert 0 < answered["output_tokens"].sum() <= bound.output_tokens
    assert bound.usd is not None
    assert 0 < answered["cost"].sum() <= bound.usd
    assert total(planned(asked_sweep, **changes)) == CallBound()
    assert not any("answers cost" in line for line in plan_lines(planned(asked_sweep, **changes)))


def test_a_plan_says_what_all_tries_would_cost(asked_sweep: AskedSweep) -> None:
    (once,) = (each.bound for each in planned(asked_sweep, answering=PRICES).configurations)
    (retried,) = (each.bound for each in planned(asked_sweep, answering=PRICES | {"retries": 4}).configurations)
    assert once.usd == retried.usd is not None
    assert (once.usd_retried, retried.usd_retried) == (once.usd, pytest.approx(5 * once.usd))
    assert "if every call needs all of its tries" not in str(once)
    assert str(retried).endswith(f"{once.usd:.2f} USD ({5 * once.usd:.2f} if every call needs all of its tries)")


def test_a_pilot_asks_twenty_questions_whose_answers_the_sweep_reuses(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    provider.reply_to = counted
    (line,) = piloted(asked_sweep, conditions=["gold", "retrieved"], answering=PRICES)
    assert len(provider.asked) == 20
    assert line.startswith(f"{NAMED}: estimated from 20 answers for all 24: ")
    run = asked_sweep.tables(conditions=["gold", "retrieved"], answering=PRICES)
    assert len(provider.asked) == 24
    # The estimate of what the sweep then counted contains it.
    low, high = (float(end.replace(",", "")) for end in line.split("[")[1].split("]")[0].split(", "))
    assert low <= run.answers["input_tokens"].sum() <= high


def test_a_pilot_of_fewer_questions_asks_all_of_them(asked_sweep: AskedSweep) -> None:
    data = write_questions(asked_sweep.folder / "few", 3)
    (line,) = piloted(asked_sweep, data=data)
    assert line.startswith(f"{NAMED}: estimated from 3 answers for all 3: 30 [30, 30] tokens of prompts, 3 [3, 3] of answers; ")
    assert len(asked_sweep.provider.asked) == 3
    one = write_questions(asked_sweep.folder / "one", 1)
    (line,) = piloted(asked_sweep, data=one)
    assert line.startswith(f"{NAMED}: estimated from 1 answer for all 1: 10 [10, 10] tokens of prompts")


def test_a_pilot_of_stored_answers_makes_no_call(asked_sweep: AskedSweep) -> None:
    asked_sweep.tables()
    with pytest.raises(InputError, match="no answer of a model is missing"):
        piloted(asked_sweep)
    assert len(asked_sweep.provider.asked) == 12


def test_an_estimate_is_that_of_the_missing_answers(asked_sweep: AskedSweep) -> None:
    asked_sweep.tables()
    (line,) = piloted(asked_sweep, conditions=["gold", "retrieved"])
    assert "estimated from 12 answers for all 12: " in line
    assert len(asked_sweep.provider.asked) == 24


def test_a_generator_without_calls_has_nothing_to_estimate(asked_sweep: AskedSweep) -> None:
    pipeline = asked_sweep.settings()["pipeline"] | {"answering": {"kind": "extractive"}}
    with pytest.raises(InputError, match="no answer of a model is missing, so there is nothing to estimate; leave out --pilot"):
        piloted(asked_sweep, pipeline=pipeline)


def test_a_model_without_prices_has_a_bound_without_money(asked_sweep: AskedSweep) -> None:
    plan = planned(asked_sweep, answering={"base_url": "http://models.invalid/v1", "api_key_env": "PATH"})
    assert "answers cost at most about 12 calls, 3,600 tokens of prompts, 768 of answers, cost unknown without prices" in "\n".join(
        plan_lines(plan)
    )


def test_a_pilot_without_any_answer_says_why(asked_sweep: AskedSweep) -> None:
    (line,) = piloted(asked_sweep, answering={"base_url": f"http://127.0.0.1:{closed_port()}/v1"})
    assert line.startswith(f"{NAMED}: none of 12 calls succeeded (answering 'openai': words at http://127.0.0.1:")
    asked_sweep.provider.faults, asked_sweep.provider.lasting = [{"status": 401, "message": "no"}], True
    with pytest.raises(ModelError, match="refused the key"):
        piloted(asked_sweep, answering={"concurrency": 1})
    assert len(asked_sweep.provider.asked) == 1


def test_an_estimate_is_exact_where_every_item_was_asked() -> None:
    whole, sample = PilotEstimate.of([1, 2, 3], 3), PilotEstimate.of([1, 2, 3], 300)
    assert (whole.total, whole.low, whole.high) == pytest.approx((6, 6, 6))
    assert sample.low < 600 < sample.high
    assert PilotEstimate.of([2.0], 1).text() == "2 [2, 2]"
