"""Answers of a chat model through a sweep: what a change computes again, repeats, and what cached answers keep."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.asked_sweeps import AskedSweep
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.costs import repeats_of
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, context_of
from workbench.runner.pipeline.graph import Graph

OF_ANSWERS = {"contexts", "answers", "scores"}


def computed(outcome: Outcome) -> set[str]:
    (result,) = outcome.results
    return {stage for stage, new in result.computed.items() if new}


def written(folder: Path, name: str, opening: str) -> str:
    path = folder / name
    path.write_text(f"{opening} with the passages only.\n\n{{passages}}\n\nQuestion: {{question}}\n", "utf-8")
    return str(path)


def rankings(run: RunTables) -> list[pd.DataFrame]:
    of_answers = {"answer_recall", "refusal_rate", "over_refusal_rate"}
    scores = [table[~table["metric"].isin(of_answers)].reset_index(drop=True) for table in (run.queries, run.metrics)]
    return [table.drop(columns="configuration") for table in (run.table("hits"), *scores)]


def timings(run: RunTables) -> dict[str, float]:
    return dict(zip(run.timings["name"], run.timings["value"], strict=True))


def test_another_generator_leaves_every_ranking_and_its_scores_equal(asked_sweep: AskedSweep) -> None:
    asked = asked_sweep.run()
    settings = asked_sweep.settings()
    pipeline = settings["pipeline"] | {"answering": {"kind": "extractive", "threshold": 0}}
    copied = asked_sweep.run(pipeline=pipeline)
    assert computed(copied) <= OF_ANSWERS
    for first, second in zip(rankings(collect(asked)), rankings(collect(copied)), strict=True):
        pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_another_prompt_of_as_many_tokens_computes_no_context_again(asked_sweep: AskedSweep, tmp_path: Path) -> None:
    asked_sweep.run(answering={"prompt": written(tmp_path, "one.txt", "Answer")})
    assert computed(asked_sweep.run(answering={"prompt": written(tmp_path, "two.txt", "Reply")})) == {"answers", "scores"}
    assert len(asked_sweep.provider.asked) == 24
    # A longer prompt leaves less of the budget to the passages.
    longer = written(tmp_path, "three.txt", "Answer in one sentence,")
    assert computed(asked_sweep.run(answering={"prompt": longer})) == OF_ANSWERS


def test_an_answer_has_no_reasoning_whichever_program_recorded_it(asked_sweep: AskedSweep, tmp_path: Path) -> None:
    written = {
        "q0": "<think>I do not know.</think>0 past noon",
        "q1": "I do not know.</think>\n1 past noon",
        "q2": "<think>2 past noon",
        "q3": "It says `<think>` at 3 past noon",
    }
    file = tmp_path / "answers.jsonl"
    cut = {"query_id": "q4", "answer": "<think>4 past noon", "truncated": True}
    rows = [*({"query_id": query, "answer": text} for query, text in written.items()), cut]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    pipeline = asked_sweep.settings()["pipeline"] | {"answering": {"kind": "recorded", "path": str(file)}}
    run = collect(asked_sweep.run(pipeline=pipeline))
    answers = run.answers.set_index("query_id")
    assert answers["answer"][list(written)].tolist() == ["0 past noon", "1 past noon", "", written["q3"]]
    assert answers["error"][list(written)].tolist() == ["", "", "the reply is reasoning without an answer", ""]
    assert answers["error"]["q4"] == "the reply is reasoning without an answer because it used all of its tokens"
    assert not answers["refused"][list(written)].any()
    scores = run.queries[run.queries["metric"] == "answer_recall"].set_index("query_id")
    assert scores["state"][list(written)].tolist() == ["scored", "scored", "unscored", "scored"]


def test_the_table_of_answers_says_which_were_cut_off_at_the_token_limit(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.faults_of = {
        "room 3 switched": {"text": "The lamp of room 3 is", "finish": "length"},
        "room 5 switched": {"text": "<think>The lamp of room 5", "finish": "length"},
    }
    answers = collect(asked_sweep.run(conditions=["retrieved"])).answers.set_index("query_id")
    assert str(answers["truncated"].dtype) == "boolean"
    assert answers.loc["q3", "truncated"]
    # A thought that was cut off leaves no answer.
    assert answers.loc["q5", "error"]
    assert pd.isna(answers.loc["q5", "truncated"])
    assert not answers.loc[["q0", "q1", "q2", "q4"], "truncated"].any()


def test_no_result_of_retrieval_depends_on_the_prompt(asked_sweep: AskedSweep) -> None:
    keys = []
    for prompt in ("cited-1", "short-1"):
        settings = asked_sweep.settings()
        pipeline = {stage: settings["pipeline"][stage] for stage in ("chunking", "context")} | {
            "answering": asked_sweep.generator(prompt=prompt)
        }
        experiment = asked_sweep.experiment(pipeline=pipeline)
        graph = Graph(context_of(experiment, asked_sweep.outputs))
        (configuration,) = experiment.configurations
        keys.append({(node.stage, node.result_id): graph.key(node) for node in graph.nodes(configuration)})
    changed = {stage for (stage, slot), key in keys[0].items() if keys[1][stage, slot] != key}
    assert changed == OF_ANSWERS
    assert {"vectors", "index", "hits", "scores"} <= {stage for stage, _ in keys[0]}


def test_each_repeat_is_a_call_and_its_variance_is_shown(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    # The second answer to a question is another one, except to the first six.
    provider.reply_to = lambda body: {"text": f"{provider.prompts().count(body['messages'][-1]['content'])} past noon"}
    run = asked_sweep.tables(repeats=2)
    assert sorted(provider.prompts()) == sorted(2 * list(dict.fromkeys(provider.prompts())))
    assert len(provider.asked) == 24
    assert run.answers["repeat"].tolist() == [0] * 12 + [1] * 12
    found = repeats_of(run, run.names[0], "answer_recall")
    assert found is not None
    # Questions 1 and 2 have another score in another repeat.
    assert found.n == 12
    assert found.between_repeats > 0
    assert found.changed == 2
    again = asked_sweep.tables(repeats=2)
    assert len(provider.asked) == 24
    pd.testing.assert_frame_equal(again.answers, run.answers)
    asked_sweep.tables(repeats=3)
    assert len(provider.asked) == 36


def test_answers_from_the_cache_keep_the_time_of_their_calls_and_cost_nothing_again(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.seconds = 0.1
    first = timings(asked_sweep.tables(answering={"price_input": 1.0, "price_output": 2.0}))
    assert first["latency_answer_p50"] > 100
    assert (first["tokens_answer_input"], first["tokens_answer_output"]) == (120, 12)
    assert first["cost_answers"] == pytest.approx((120 * 1 + 12 * 2) / 1e6)
    stored = timings(asked_sweep.tables(answering={"price_input": 1.0, "price_output": 2.0}))
    # Prices are a setting of answers, which are made again from the cached replies.
    dearer = timings(asked_sweep.tables(answering={"price_input": 10.0, "price_output": 20.0}))
    for again in (stored, dearer):
        assert {name: again[name] for name in again if name.startswith("latency_answer")} == {
            name: first[name] for name in first if name.startswith("latency_answer")
        }
        assert (again["tokens_answer_input"], again["cost_answers"]) == (0, 0)
    assert dearer["computed_answers"] == 1
    assert len(asked_sweep.provider.asked) == 12


def test_a_budget_without_room_for_a_passage_fails_instead_of_asking_without_passages(asked_sweep: AskedSweep) -> None:
    (fault,) = asked_sweep.run(context={"budget": 40}).failures.values()
    assert (
        fault == "a context of 40 tokens has no room for passages: prompt and question alone have 103 or more; raise the budget of context"
    )
    assert asked_sweep.provider.asked == []


def test_what_a_server_does_not_count_is_unknown_and_not_0(asked_sweep: AskedSweep) -> None:
    asked_sweep.provider.reply_to = lambda _: {"tokens": None}
    run = asked_sweep.tables(answering={"price_input": 1.0, "price_output": 2.0})
    assert run.answers[["input_tokens", "output_tokens", "cost"]].isna().all(axis=None)
    assert not {"tokens_answer_input", "tokens_answer_output", "cost_answers"} & timings(run).keys()
    # Nothing was paid for answers from the store.
    assert timings(asked_sweep.tables(answering={"price_input": 1.0, "price_output": 2.0}))["cost_answers"] == 0


def test_a_model_without_prices_has_tokens_and_no_cost(asked_sweep: AskedSweep) -> None:
    spent = timings(asked_sweep.tables())
    assert (spent["tokens_answer_input"], spent["tokens_answer_output"]) == (120, 12)
    assert "cost_answers" not in spent
