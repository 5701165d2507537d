"""A real server with SmolLM2, asked through the protocols of OpenAI and Anthropic, answers as the same model in this process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.core.storage.call_cache import CallCache
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply
from workbench.llm.providers.anthropic import AnthropicClient
from workbench.llm.providers.local import LocalClient
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.session import CallResources, ask_all

ROOT = Path(__file__).parents[2]
WINDOW, N = 1024, 6
PASSAGE = (
    "Employees have thirty days of leave a year. Days that are not used by the end of March expire, unless a manager agrees otherwise."
)

SERVER = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.port, params.verbosity, params.warmup = int(sys.argv[2]), 1, 0, 0, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.cache_prompt = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address(gguf: Path) -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, gguf, str(WINDOW)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def questions(n: int) -> list[str]:
    lines = (ROOT / "experiments" / "handbook" / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["query"] for line in lines[:n]]


def calls(**parameters: object) -> list[ChatCall]:
    """Questions about a passage."""
    settings: dict[str, object] = {"max_tokens": 24, "temperature": 0} | parameters
    prompts = [f"Passage: {PASSAGE}\n\nQuestion: {question}" for question in questions(N)]
    return [ChatCall([Message("system", "Answer in one sentence."), Message("user", prompt)], **settings) for prompt in prompts]  # type: ignore[arg-type]


def outcomes(client: ChatClient, made: list[ChatCall], cache: CallCache | None = None) -> list[Reply | CallFailure]:
    found = dict(ask_all(client, made, CallResources(cache)))
    return [found[place] for place in range(len(made))]


def facts(outcome: Reply | CallFailure) -> tuple[str, str, int | None, int | None]:
    assert isinstance(outcome, Reply), outcome
    return outcome.text.strip(), outcome.finish_reason, outcome.input_tokens, outcome.output_tokens


@pytest.fixture(scope="module")
def clients(gguf: Path, address: str) -> dict[str, ChatClient]:
    return {
        "local": LocalClient(path=str(gguf), context_window=WINDOW, threads=1),
        "openai": OpenAIClient(model="smollm2", base_url=f"{address}/v1", concurrency=1),
        "anthropic": AnthropicClient(model="smollm2", base_url=address, concurrency=1),
    }


@pytest.mark.soak
def test_all_ways_to_the_same_model_have_the_same_answers(clients: dict[str, ChatClient]) -> None:
    answers = {name: [facts(outcome) for outcome in outcomes(client, calls())] for name, client in clients.items()}
    assert answers["openai"] == answers["local"]
    assert answers["anthropic"] == answers["local"]
    assert len({text for text, *_ in answers["local"]}) > N / 2


@pytest.mark.soak
def test_log_probabilities_are_those_of_the_server(clients: dict[str, ChatClient]) -> None:
    made = calls(max_tokens=1, top_logprobs=5)
    local, openai, anthropic = (outcomes(clients[name], made) for name in ("local", "openai", "anthropic"))
    for own, served, without in zip(local, openai, anthropic, strict=True):
        assert isinstance(own, Reply)
        assert isinstance(served, Reply)
        assert isinstance(without, Reply)
        assert own.logprobs == pytest.approx(served.logprobs, abs=1e-4)
        assert (without.logprobs, without.dropped) == (None, ("top_logprobs",))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["local", "openai", "anthropic"])
def test_replies_come_from_the_cache_the_second_time(clients: dict[str, ChatClient], name: str, tmp_path: Path) -> None:
    cache = CallCache(tmp_path / "calls.sqlite")
    first, second = (outcomes(clients[name], calls(), cache) for _ in range(2))
    assert [facts(outcome) for outcome in first] == [facts(outcome) for outcome in second]
    assert [outcome.cached for outcome in second if isinstance(outcome, Reply)] == [True] * N


@pytest.mark.soak
@pytest.mark.parametrize("name", ["local", "openai", "anthropic"])
def test_a_prompt_beyond_the_window_is_a_failure_of_that_kind(clients: dict[str, ChatClient], name: str) -> None:
    made = [ChatCall([Message("user", "word " * 2 * WINDOW)], max_tokens=8), calls()[0]]
    failure, reply = outcomes(clients[name], made)
    assert isinstance(failure, CallFailure)
    assert failure.kind == "window"
    assert isinstance(reply, Reply)


@pytest.mark.soak
def test_a_schema_is_obeyed_by_server_and_process(clients: dict[str, ChatClient]) -> None:
    schema = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"], "additionalProperties": False}
    local, served = (outcomes(clients[name], calls(schema=schema)[:4]) for name in ("local", "openai"))
    assert [facts(outcome)[0] for outcome in local] == [facts(outcome)[0] for outcome in served]
    assert {json.loads(facts(outcome)[0])["verdict"] for outcome in local} <= {"yes", "no"}
