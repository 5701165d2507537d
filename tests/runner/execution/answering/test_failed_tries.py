"""Tries of calls without a usable reply have a place in the timings of their configuration and in the report."""

from collections import Counter
from functools import partial
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.asked_sweeps import AskedSweep
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.outputs import publish

# The provider counts 10 tokens of each prompt and 1 of each answer.
PRICES = {"price_input": 1e4, "price_output": 1e4}


def failed(run: RunTables) -> dict[str, dict[str, float]]:
    """Return the failed tries of each configuration and their cost."""
    rows = run.timings[run.timings["name"].str.startswith("failed_tries")]
    return {str(name): dict(zip(part["name"], part["value"], strict=True)) for name, part in rows.groupby("configuration")}


def hanging(body: dict[str, Any], tries: Counter[str]) -> dict[str, Any]:
    """Hang at the first try of a question, and time out at a gateway at every try of another, if sources are to be cited."""
    prompt = str(body["messages"])
    tries[prompt] += 1
    if "[2][3]" not in prompt:
        return {}
    if "room 3 switched?" in prompt and tries[prompt] == 1:
        return {"hang": True}
    return {"status": 504} if "room 5 switched?" in prompt else {}


def test_money_of_failed_tries_is_in_timings_and_report_per_configuration(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.reply_to = partial(hanging, tries=Counter())
    settings = {"sweep": {"answering": [asked_sweep.generator(prompt=["cited-1", "short-1"], timeout=3, retries=1, **PRICES)]}}
    outcome = asked_sweep.run(**settings)
    assert not outcome.failures
    run, spent = publish(outcome, lambda _: None, notebooks=False).tables, outcome.run.calls.budget.spent
    # One try that was made again, and both tries of a question that stays unscored.
    ((name, values),) = failed(run).items()
    assert "short" not in name
    assert values == {"failed_tries": 3, "failed_tries_cost": pytest.approx(spent.lost_usd)}
    assert spent.lost_usd > 3 * 64 * 1e4 / 1e6
    unscored = run.queries[(run.queries["metric"] == "answer_recall") & (run.queries["state"] == "unscored")]
    assert set(unscored["query_id"]) == {"q5"}
    report = (outcome.folder / "report.html").read_text("utf-8")
    assert "failed tries, at most" in report
    assert f"{spent.lost_usd:.4f}" in report
    assert f"failed tries may have cost up to {spent.lost_usd:.4f} more" in BeautifulSoup(report, "html.parser").get_text(" ", strip=True)

    # The next sweep asks the failed question again. What the other question cost more is known from the cache of calls.
    asked_sweep.provider.reply_to = lambda _: {}
    for _ in range(2):
        values = failed(publish(asked_sweep.run(**settings), lambda _: None, notebooks=False).tables)[name]
        assert values == {"failed_tries": 1, "failed_tries_cost": pytest.approx(spent.lost_usd / 3, rel=0.1)}


def test_failed_tries_of_judges_count_too_and_a_run_without_any_has_no_such_row(asked_sweep: AskedSweep) -> None:
    assert failed(asked_sweep.tables(answering=PRICES)) == {}
    left = [{"status": 504}]

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        judged = body["model"] == "judge" and "room 3 switched?" in str(body["messages"])
        return left.pop() if judged and left else {"text": '{"score": 4}'}

    asked_sweep.provider.reply_to = reply
    judge = asked_sweep.generator(model="judge", retries=1, **PRICES)
    outcome = asked_sweep.run(answering=PRICES, metrics=["recall@3", "answer_correctness"], judging={"correctness": judge})
    (values,) = failed(publish(outcome, lambda _: None, notebooks=False).tables).values()
    assert values == {"failed_tries": 1, "failed_tries_cost": pytest.approx(outcome.run.calls.budget.spent.lost_usd)}
