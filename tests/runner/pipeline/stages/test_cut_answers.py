"""Replies that were cut within a thought whose beginning is in the prompt: nothing in them shows that they are no answers."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.asked_sweeps import AskedSweep, write_questions
from workbench.report.results.run_tables import RunTables

# Every expected answer is in it.
THOUGHT = f"The lamp is switched at {', '.join(f'{number} past noon' for number in range(12))}, or is it another one? The passages say"
CUT = {"text": THOUGHT, "finish": "length"}
WITHOUT = "the reply is reasoning without an answer because it used all of its tokens"


def reply_to(text: str) -> dict[str, Any]:
    """The model comes to an answer of the first two questions only."""
    number = next((number for number in (0, 1) if f"room {number} switched?" in text), None)
    return CUT if number is None else {"text": f"{THOUGHT}\n</think>\n\nAt {number} past noon.", "finish": "stop"}


def function(question: str) -> dict[str, Any]:
    reply = reply_to(question)
    return {"answer": reply["text"], "finish_reason": reply["finish"]}


def noon(_: str) -> str:
    return "At noon."


def recorded_rows(dataset: wb.Dataset, path: Path) -> str:
    rows = [(query, reply_to(query.text)) for query in dataset.queries]
    lines = [{"query_id": query.query_id, "answer": reply["text"], "truncated": reply["finish"] == "length"} for query, reply in rows]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return str(path)


@pytest.fixture
def system(asked_sweep: AskedSweep, tmp_path: Path) -> Callable[[str, wb.Dataset], Any]:
    asked_sweep.provider.reply_to = lambda body: reply_to(body["messages"][-1]["content"])
    made: Mapping[str, Callable[[wb.Dataset], Any]] = {
        "function": lambda _: function,
        "recorded": lambda dataset: wb.RecordedTarget(name="s", path=recorded_rows(dataset, tmp_path / "recorded.jsonl")),
        "http": lambda _: wb.HttpTarget(name="s", preset="openai-chat", url=f"{asked_sweep.provider.host}/v1", model="words"),
    }
    return lambda name, dataset: made[name](dataset)


@pytest.mark.parametrize("kind", ["function", "recorded", "http"])
def test_the_cut_replies_of_a_service_are_no_answers_where_its_other_replies_end_in_such_a_thought(
    kind: str, system: Callable[[str, wb.Dataset], Any], tmp_path: Path
) -> None:
    dataset = wb.load_dataset(write_questions(tmp_path / "data", 12))
    for _ in range(2):
        # The second time, replies of the service are in the cache.
        results = wb.compare({"s": system(kind, dataset), "other": noon}, dataset, ["answer_recall"], outputs=tmp_path)
        check(results.tables.of("answers", "s"), results.tables)


def check(rows: Any, run: RunTables) -> None:
    answers = rows.set_index("query_id")
    assert answers["answer"].tolist() == ["At 0 past noon.", "At 1 past noon.", *[""] * 10]
    assert answers["error"].tolist() == ["", "", *[WITHOUT] * 10]
    scores = run.of("queries", "s").query("metric == 'answer_recall'")
    assert scores["state"].value_counts().to_dict() == {"unscored": 10, "scored": 2}


def test_the_replies_of_a_model_in_one_condition_show_what_cut_ones_in_another_are(asked_sweep: AskedSweep) -> None:
    closed: list[str] = []

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        if "from what you know" not in prompt:
            return reply_to(prompt)
        closed.append(prompt)
        return CUT

    asked_sweep.provider.reply_to = reply
    run = asked_sweep.tables(conditions=["none", "retrieved"])
    assert len(closed) == 12
    answers = run.answers.set_index(["condition", "query_id"])
    assert answers.loc["none", "error"].tolist() == [WITHOUT] * 12
    assert answers.loc["retrieved", "error"].tolist() == ["", "", *[WITHOUT] * 10]
    assert not answers.loc["none", "answer"].any()
    assert answers.loc["retrieved", "reasoned"].tolist() == [True, True, *[False] * 10]
    scores = run.queries.query("metric == 'answer_recall'").groupby("condition")["state"].value_counts()
    assert scores.to_dict() == {("none", "unscored"): 12, ("retrieved", "unscored"): 10, ("retrieved", "scored"): 2}


@pytest.mark.parametrize("other", ["At 0 past noon.", "<think>Is it?</think>At 0 past noon."])
def test_a_cut_reply_is_an_answer_where_the_model_does_not_reason_or_marks_the_beginning(asked_sweep: AskedSweep, other: str) -> None:
    asked_sweep.provider.reply_to = lambda body: {"text": other} if "room 0 switched?" in body["messages"][-1]["content"] else CUT
    answers = asked_sweep.tables(conditions=["retrieved"]).answers
    assert answers["answer"].tolist() == ["At 0 past noon.", *[THOUGHT] * 11]
    assert not answers["error"].any()
