"""The key of a provider stays in the environment: nothing that a sweep leaves behind contains it."""

from pathlib import Path

import pytest

from tests.asked_sweeps import AskedSweep
from tests.canary import CANARY, contains_canary
from workbench.errors import ExperimentError, RunError
from workbench.execution.outputs import publish, write_outputs

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
    with pytest.raises(RunError, match="every configuration failed; the first, fixed-32-0: answering 'openai'"):
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
