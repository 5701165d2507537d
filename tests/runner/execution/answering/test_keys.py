"""The key of a provider stays in the environment: nothing that a sweep leaves behind contains it."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.asked_sweeps import NAMED, AskedSweep, question, write_questions
from tests.canary import CANARY, contains_canary, contents
from tests.judged_sweeps import JudgedSweep
from workbench.components.context.planting import canary_of
from workbench.core.errors import ExperimentError, RunError
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish, write_outputs
from workbench.runner.experiment.read import experiment_of

ECHO = {"status": 401, "message": f"Incorrect API key provided: {CANARY}. Header: Authorization: Bearer {CANARY}"}


@pytest.fixture
def keyed_sweep(asked_sweep: AskedSweep, monkeypatch: pytest.MonkeyPatch) -> AskedSweep:
    """A sweep with the canary as its key, set after the provider has removed those of the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    return asked_sweep


def leaks(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and contains_canary(path)]


def test_outputs_store_and_cache_of_a_sweep_do_not_contain_the_key(keyed_sweep: AskedSweep) -> None:
    echo = {"status": 500, "message": f"no capacity for {CANARY}"}
    keyed_sweep.provider.faults_of = {"room 3 switched?": echo, "room 4 switched?": {"status": 400, "message": f"bad {CANARY}"}}
    outcome = keyed_sweep.run()
    run = write_outputs(outcome)
    assert keyed_sweep.provider.headers[0]["authorization"] == f"Bearer {CANARY}"
    errors = run.answers.set_index("query_id")["error"]
    assert "500: no capacity for …" in errors["q3"]
    assert "400: bad …" in errors["q4"]
    assert (keyed_sweep.outputs / ".store" / "calls.sqlite").is_file()
    assert leaks(keyed_sweep.folder) == []


def test_a_sweep_sends_questions_passages_and_planted_texts_and_keeps_the_replies(asked_sweep: AskedSweep) -> None:
    data = write_questions(asked_sweep.folder / "facts", 12, evidence=False)
    # A number that the question names is never changed.
    for file in [data / "questions.jsonl", *(data / "documents").iterdir()]:
        file.write_text(re.sub(r"(\d+) past noon", lambda found: f"{int(found[1]) + 30} past noon", file.read_text("utf-8")), "utf-8")
    asked_sweep.run(data=data, conditions=["gold", "retrieved"])
    plain = set(asked_sweep.provider.prompts())
    asked_sweep.run(data=data, conditions=["gold", "retrieved", "injection", "counterfactual"])
    changed = set(asked_sweep.provider.prompts()) - plain
    planted = "\n".join(changed)
    assert [prompt for prompt in changed if not any(canary_of(f"q{number}") in prompt for number in range(12))]
    assert "The lamp of room 0 is switched at 30 past noon." in "\n".join(plain)
    for number in range(12):
        assert question(number) in "\n".join(plain)
        assert canary_of(f"q{number}") in planted
    calls = len(asked_sweep.provider.asked)
    asked_sweep.run(data=data, conditions=["gold", "retrieved", "injection"], name="another")
    assert len(asked_sweep.provider.asked) == calls
    assert (asked_sweep.outputs / ".store" / "calls.sqlite").is_file()


def test_a_refused_key_is_one_line_of_the_failed_configuration_and_ends_its_calls(keyed_sweep: AskedSweep) -> None:
    provider = keyed_sweep.provider
    provider.faults, provider.lasting = [ECHO], True
    said: list[str] = []
    outcome = keyed_sweep.run(conditions=["none", "gold", "retrieved"], answering={"concurrency": 2, "retries": 4})
    ((name, line),) = outcome.failures.items()
    assert line == (
        f"answering 'openai': words at {provider.host}/v1 refused the key (401: Incorrect API key provided: …. Header: Authorization: "
        "Bearer … some_error); check the key and its permissions"
    )
    assert len(provider.asked) <= 2
    assert CANARY not in outcome.tracebacks[name]
    with pytest.raises(RunError, match=f"every configuration failed; the first, {NAMED}: answering 'openai'"):
        publish(outcome, said.append)
    assert list((keyed_sweep.outputs / ".errors").rglob("*.txt"))
    assert leaks(keyed_sweep.folder) == []


def test_a_key_in_the_address_is_refused_without_repeating_it(keyed_sweep: AskedSweep) -> None:
    host = keyed_sweep.provider.host.removeprefix("http://")
    for address in (f"http://me:{CANARY}@{host}/v1", f"http://{host}/v1?api_key={CANARY}"):
        with pytest.raises(ExperimentError) as raised:
            keyed_sweep.run(answering={"base_url": address})
        assert "put a key into an environment variable" in str(raised.value)
        assert CANARY not in str(raised.value)
    assert keyed_sweep.provider.asked == []


def test_a_key_in_place_of_the_name_of_its_variable_is_refused_without_repeating_it(keyed_sweep: AskedSweep) -> None:
    with pytest.raises(ExperimentError) as raised:
        keyed_sweep.run(answering={"api_key_env": CANARY})
    assert "api_key_env is not the name of an environment variable" in str(raised.value)
    assert CANARY not in str(raised.value)


# A key in a reply: as it is, parts of it, encoded and reversed.
ECHOES = [
    f"You sent {CANARY}, that is Bearer {CANARY}.",
    f"Your key ends with {CANARY[-12:]} and begins with {CANARY[:12]}, and between them is {CANARY[9:30]}.",
    base64.b64encode(f"user:{CANARY}@host".encode()).decode(),
    base64.urlsafe_b64encode(CANARY.encode()).decode(),
    CANARY[::-1],
]


def parts_left(folder: Path) -> list[str]:
    """Return files that contain any 12 characters of the key, forwards, backwards or in Base64."""
    forms = [CANARY, CANARY[::-1], *(base64.b64encode(b"x" * shift + CANARY.encode()).decode()[4:-4] for shift in range(3))]
    parts = [form[place : place + 12].encode() for form in forms for place in range(len(form) - 11)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [f"{path}: {part!r}" for path in files for content in contents(path) for part in parts if part in content]


def echoing(_: dict[str, Any]) -> dict[str, Any]:
    """Return a reply that has the key in every text that a provider can send."""
    echo = " ".join(ECHOES)
    logprobs = {"content": [{"token": echo, "logprob": -1.0, "top_logprobs": [{"token": echo, "logprob": -1.0}]}]}
    choice = {"index": 0, "message": {"role": "assistant", "content": f"past noon {echo}"}, "finish_reason": "stop", "logprobs": logprobs}
    answer = {"id": echo, "model": f"words-{CANARY}", "system_fingerprint": echo, "choices": [choice]}
    return {"raw": json.dumps(answer | {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}).encode()}


def test_a_key_that_the_provider_repeats_in_every_field_is_kept_nowhere(keyed_sweep: AskedSweep) -> None:
    keyed_sweep.provider.reply_to = echoing
    keyed_sweep.provider.faults_of = {"room 3 switched?": {"status": 400, "message": " ".join(ECHOES)}}
    outcome = keyed_sweep.run()
    publish(outcome, lambda _: None)
    answers = collect(outcome).answers.set_index("query_id")
    assert answers.loc["q1", "answer"].startswith("past noon You sent …, that is Bearer ….")
    assert answers.loc["q1", "model"] == "words-…"
    # The letter behind a part of the key may be the next one of the key.
    assert re.search("Your key ends with … and begins with …(, a)?nd between them is …", answers.loc["q3", "error"])
    assert parts_left(keyed_sweep.folder) == []


def test_a_key_that_a_judge_repeats_is_kept_nowhere(judged_sweep: JudgedSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setattr(judged_sweep.provider, "reply_to", echoing)
    publish(judged_sweep.run(metrics=["recall@3", "faithfulness"]), lambda _: None)
    assert judged_sweep.provider.headers[-1]["authorization"] == f"Bearer {CANARY}"
    assert parts_left(judged_sweep.folder) == []


def test_the_error_of_a_function_that_repeats_a_key_is_shown_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "leaky_splits.py").write_text(
        "import os\n\ndef split(text):\n    raise ValueError('wrong key ' + os.environ['OPENAI_API_KEY'])\n"
    )
    pipeline = {"chunking": {"kind": "callable", "callable": "leaky_splits:split"}, "retrieval": {"kind": "bm25", "k": 5}}
    dataset = {"kind": "golden", "path": str(write_questions(tmp_path / "data", 3))}
    experiment = experiment_of({"name": "x", "dataset": dataset, "pipeline": pipeline, "metrics": ["recall@3"]}, "here")
    outcome = run_experiment(replace(experiment, allow_code=True), tmp_path / "outputs", print)
    assert "wrong key …" in "".join(outcome.failures.values())
    with pytest.raises(RunError, match="wrong key …"):
        publish(outcome, print)
    assert CANARY not in "".join(capsys.readouterr())
    assert list((tmp_path / "outputs" / ".errors").rglob("*.txt"))
    assert leaks(tmp_path) == []
