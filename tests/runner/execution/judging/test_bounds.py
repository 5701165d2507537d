"""The bounds of a plan against the calls of judges that a sweep makes."""

from typing import Any

import pytest

from tests.judged_sweeps import JudgedSweep
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases
from workbench.llm.base import ChatCall, Message
from workbench.llm.tokens import fewest_prompt_tokens
from workbench.runner.execution.costs import CallBound
from workbench.runner.execution.plan import Plan, plan_experiment, plan_lines
from workbench.runner.experiment.read import experiment_of

PRICES = {"price_input": 1.0, "price_output": 3.0}


def planned(sweep: JudgedSweep, **changes: Any) -> Plan:
    return plan_experiment(experiment_of(sweep.settings(**changes), "here"), sweep.outputs)


def total(plan: Plan) -> CallBound:
    return sum((each.judging for each in plan.configurations), CallBound())


def test_a_sweep_stays_within_the_bounds_of_its_plan(judged_sweep: JudgedSweep) -> None:
    judging = dict.fromkeys(("support", "relevance", "correctness"), judged_sweep.judge(**PRICES))
    plan = planned(judged_sweep, judging=judging)
    bound, asked = total(plan), judged_sweep.provider.asked
    assert asked == []
    (line,) = [line for line in plan_lines(plan) if line.startswith("judging costs at most about ")]
    assert line == f"judging costs at most about {bound}; replies that are in the cache cost nothing"
    judged_sweep.run(judging=judging)
    known = 2 * (len(faithfulness_cases()) + len(relevance_cases()))
    assert known < len(asked) <= bound.calls
    calls = [ChatCall([Message(**message) for message in body["messages"]], max_tokens=16) for body in asked]
    assert sum(map(fewest_prompt_tokens, calls)) <= bound.input_tokens
    assert bound.output_tokens == 16 * bound.calls
    assert bound.usd == pytest.approx((bound.input_tokens + 3 * bound.output_tokens) / 1e6)
    assert total(planned(judged_sweep, judging=judging)) == CallBound()
    judged_sweep.prompt.write_text("Do the passages say so?", "utf-8")
    # Contexts, answers and claims are stored, so that the claims are counted: two of each answer but the refusal, beside the test of the judge.
    again = total(planned(judged_sweep, judging=judging | {"support": judged_sweep.judge(prompt=str(judged_sweep.prompt))}))
    assert again.calls == 2 * len(faithfulness_cases()) + 22


def test_a_judge_without_a_model_costs_nothing(judged_sweep: JudgedSweep) -> None:
    overlap = {"kind": "overlap"}
    plan = planned(judged_sweep, judging=dict.fromkeys(("support", "relevance", "correctness"), overlap))
    assert total(plan) == CallBound()
    assert not any("judging costs" in line for line in plan_lines(plan))


def test_a_model_of_this_machine_costs_nothing_and_one_without_prices_an_unknown_amount(judged_sweep: JudgedSweep) -> None:
    assert total(planned(judged_sweep)).usd == 0
    elsewhere = judged_sweep.judge(base_url="https://models.example/v1")
    assert total(planned(judged_sweep, judging={"relevance": elsewhere})).usd is None


def test_the_judges_inside_a_cascade_are_counted(judged_sweep: JudgedSweep) -> None:
    cascade = {"kind": "cascade", "cheap": {"kind": "overlap"}, "expensive": judged_sweep.judge()}
    overlap = {"kind": "overlap"}
    inside = total(planned(judged_sweep, judging={"support": cascade, "relevance": overlap, "correctness": overlap}))
    alone = total(planned(judged_sweep, judging={"support": judged_sweep.judge(), "relevance": overlap, "correctness": overlap}))
    assert inside == alone
    assert inside.calls > 0


@pytest.mark.parametrize(
    ("part", "calls"), [("claims", 12), ("support", 2 * 96 + 48), ("relevance", 2 * 64 + 36), ("correctness", 12), ("rubric", 12)]
)
def test_each_part_that_is_a_chat_model_is_counted(judged_sweep: JudgedSweep, part: str, calls: int) -> None:
    chat = {"kind": "chat", "provider": "openai", "model": "words", "base_url": f"{judged_sweep.provider.host}/v1"}
    overlap = {key: {"kind": "overlap"} for key in ("support", "relevance", "correctness")}
    # Before anything is stored: 12 answers of 4 claims with 2 passages each, and two passes over the known answers.
    assert total(planned(judged_sweep, judging=overlap | {part: chat})).calls == calls
