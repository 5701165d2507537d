"""Sweeps whose provider fails: the answers that are missing have their reasons, and the next sweep makes only these calls."""

import json
import shutil
import sqlite3
from contextlib import closing
from typing import Any

import pandas as pd

from tests.asked_sweeps import NAMED, AskedSweep, question, write_questions
from tests.loopback import closed_port
from workbench.core.storage.sqlite_cache import digest_of
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.missing import missing_answers, mixed_models

TEN_MEGABYTES = b'{"choices": [{"message": {"content": "' + b"x" * 10_000_000 + b'"}, "finish_reason": "stop"}]}'
# The fault of each question, and what the reason of its missing answer says.
FAULTS = {
    0: ({"raw": b"<html><body>Gateway</body></html>"}, "the reply is HTML"),
    1: ({"raw": b'{"choices": ['}, "the reply is no valid JSON"),
    2: ({"text": "  "}, "the answer is empty"),
    3: ({"finish": "content_filter"}, "the provider's safety filter refused the answer"),
    4: ({"raw": TEN_MEGABYTES}, "the server sent more than 8 MB in one reply"),
    5: ({"raw": b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'}, "the reply is not valid UTF-8"),
    6: ({"raw": b" " * 1000, "headers": {"pause": "0.05"}}, "no complete answer within 2 seconds"),
    7: ({"status": 500, "message": "the graphics card is lost"}, "500: the graphics card is lost"),
}


def scores(run: RunTables) -> pd.DataFrame:
    return run.queries[run.queries["metric"] == "answer_recall"].set_index("query_id")


def test_each_fault_of_a_provider_leaves_its_question_unscored_and_is_repaired_by_the_next_sweep(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    provider.faults_of = {question(number): fault for number, (fault, _) in FAULTS.items()}
    first = asked_sweep.tables(answering={"timeout": 2})
    errors, rows = first.answers.set_index("query_id")["error"], scores(first)
    for number, (_, reason) in FAULTS.items():
        assert reason in errors[f"q{number}"]
        assert (rows["state"][f"q{number}"], rows["reason"][f"q{number}"]) == ("unscored", errors[f"q{number}"])
    assert (errors[[f"q{number}" for number in range(8, 12)]] == "").all()
    assert rows["state"].value_counts().to_dict() == {"unscored": 8, "scored": 4}
    (mean,) = first.metrics[(first.metrics["metric"] == "answer_recall") & (first.metrics["slice"] == "all")].to_dict("records")
    assert (mean["n"], mean["unscored"]) == (4, 8)
    (line,) = missing_answers(first)
    assert line.startswith("8 of 12 answers are missing and not scored (1 × ")
    assert line.endswith("run again to ask only for these")
    assert len(provider.asked) == 12

    provider.faults_of.clear()
    second = asked_sweep.tables()
    assert missing_answers(second) == []
    assert sorted(provider.prompts()[12:]) == sorted(
        prompt for prompt in provider.prompts()[:12] if any(question(n) in prompt for n in FAULTS)
    )
    assert (scores(second)["state"] == "scored").all()
    asked_sweep.tables()
    assert len(provider.asked) == 20


def test_a_server_whose_model_changes_under_its_name_between_two_runs_is_named(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    provider.faults_of = {question(number): {"status": 500} for number in range(3)}
    assert mixed_models(asked_sweep.tables()) == []
    new = {"model": "words-2", "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    provider.faults_of = {question(number): {"raw": json.dumps(new).encode()} for number in range(3)}
    (line,) = mixed_models(asked_sweep.tables())
    assert line.startswith(f"the answers of {NAMED} are of 2 models: words (9) and words-2 (3); if its server has changed the model")


def test_rows_of_the_cache_in_another_form_are_one_line_and_kept(asked_sweep: AskedSweep) -> None:
    path = asked_sweep.run().run.workspace.calls.path
    with closing(sqlite3.connect(path)) as connection:
        ((key, good, _), *_) = connection.execute("SELECT key, reply, digest FROM replies").fetchall()
        for value in (b"{}", b"[]", b"null", b'{"text": "a"}', json.dumps({**json.loads(good), "text": 7}).encode()):
            with connection:
                connection.execute("UPDATE replies SET reply = ?, digest = ? WHERE key = ?", (value, digest_of(key, value), key))
            shutil.rmtree(path.parent / "answers", ignore_errors=True)
            (failure,) = asked_sweep.run().failures.values()
            assert failure.startswith(f"the call cache {path} has a reply in a form that this Workbench does not write; move the file away")
        later = json.dumps({**json.loads(good), "of a later version": 1}).encode()
        with connection:
            connection.execute("UPDATE replies SET reply = ?, digest = ? WHERE key = ?", (later, digest_of(key, later), key))
    assert not asked_sweep.run().failures
    assert len(asked_sweep.provider.asked) == 12


def test_a_provider_that_is_down_leaves_every_answer_missing_and_the_rankings_scored(asked_sweep: AskedSweep) -> None:
    run = asked_sweep.tables(answering={"base_url": f"http://127.0.0.1:{closed_port()}/v1"})
    (line,) = missing_answers(run)
    assert line.startswith("12 of 12 answers are missing and not scored (12 × answering 'openai': words at http://127.0.0.1:")
    assert "failed 1 time: no answer (ConnectError)" in line
    assert run.queries.loc[run.queries["metric"] == "recall@3", "state"].eq("scored").all()
    assert asked_sweep.provider.asked == []


def test_a_provider_that_stays_down_does_not_keep_every_variant_waiting(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    provider.faults, provider.lasting = [{"status": 500}], True
    data = write_questions(asked_sweep.folder / "more", 40)
    changes: dict[str, Any] = {"data": data, "conditions": ["none", "gold", "retrieved"], "answering": {"concurrency": 2}}
    run = asked_sweep.tables(**changes)
    # Twenty calls and one in flight, and in each other condition those that start at once.
    assert len(provider.asked) <= 21 + 2 + 2
    (line,) = missing_answers(run)
    assert line.startswith("120 of 120 answers are missing and not scored (")
    assert "× not asked because the calls before it failed: answering 'openai': words at http://127.0.0.1:" in line
    provider.faults = []
    asked = len(provider.asked)
    assert missing_answers(asked_sweep.tables(**changes)) == []
    assert len(provider.asked) == asked + 120
