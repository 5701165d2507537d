"""Calls of processes that are killed, and of processes that share a cache: hardly any is made twice."""

import random
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving
from workbench.core.storage.cache_check import check_cache
from workbench.core.storage.call_cache import CALLS

N, CONCURRENCY, KILLS = 4_000, 20, 20

# Makes calls through a shared cache, and writes the place of each outcome once it has it.
CALLER = """
import sys
from pathlib import Path
from workbench.llm.base import ChatCall, Message, Reply
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.session import CallResources, ask_all
from workbench.core.storage.call_cache import CallCache
address, path, n, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
client = OpenAIClient(model="words", base_url=address, concurrency=concurrency, retries=2)
calls = [ChatCall([Message("user", f"question {number}")], max_tokens=8) for number in range(n)]
for place, outcome in ask_all(client, calls, CallResources(CallCache(path))):
    assert isinstance(outcome, Reply) and outcome.text == f"answer to question {place}", outcome
    print("cached" if outcome.cached else "new", place, flush=True)
print("all", flush=True)
"""


class Provider(Loopback):
    """Answers each question after a random time of about `seconds`."""

    seconds = 0.1

    def __init__(self) -> None:
        super().__init__(ProviderHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed client leaves half a request, or an answer that nobody reads."""

    def prompts(self) -> Counter[str]:
        return Counter(body["messages"][0]["content"] for body in self.asked)


class ProviderHandler(LoopbackHandler):
    server: Provider

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        time.sleep(self.server.seconds * random.uniform(0.5, 1.5))
        text = f"answer to {body['messages'][0]['content']}"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 9, "completion_tokens": 5}
        return {"model": "words", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    for start in serving(monkeypatch, Provider):
        yield start()


def caller(start: Callable, provider: Provider, path: Path) -> subprocess.Popen[str]:
    process: subprocess.Popen[str] = start(CALLER, f"{provider.host}/v1", path, N, CONCURRENCY)
    return process


def output(process: subprocess.Popen[str], kill_after: float | None = None) -> list[str]:
    """The lines of a process, which is killed some seconds after the first new reply if so wished."""
    lines: list[str] = []
    killer = threading.Timer(kill_after or 0, process.kill)
    assert process.stdout is not None
    for line in process.stdout:
        if kill_after is not None and line.startswith("new") and killer.ident is None:
            killer.start()
        # A kill can cut the last line.
        if line.endswith("\n"):
            lines.append(line.strip())
    process.wait()
    killer.cancel()
    return lines


def cached(path: Path) -> int:
    """The number of replies in a cache, in which a kill has left no damage."""
    assert not list(check_cache(path, CALLS, repair=False))
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.soak
def test_twenty_kills_lose_at_most_the_calls_in_flight(start: Callable, provider: Provider, tmp_path: Path) -> None:
    path, draw = tmp_path / "calls.sqlite", random.Random(17)
    before, lost, delivered = (0, 0), [], set[str]()
    for _ in range(KILLS):
        lines = output(caller(start, provider, path), draw.uniform(0.05, 0.8))
        assert "all" not in lines
        # Requests that were under way when the process ended.
        time.sleep(0.3)
        now = (len(provider.asked), cached(path))
        lost.append((now[0] - before[0]) - (now[1] - before[1]))
        before = now
        delivered |= {line.split()[1] for line in lines if line.startswith("new")}
        # Every reply that an earlier process delivered is in the cache.
        assert now[1] >= len(delivered)
    print("lost at each kill:", lost)
    assert max(lost) <= CONCURRENCY
    assert min(lost) >= 0
    assert output(caller(start, provider, path))[-1] == "all"
    assert set(provider.prompts()) == {f"question {number}" for number in range(N)}
    assert len(provider.asked) == N + sum(lost)


@pytest.mark.soak
def test_two_processes_share_the_cache_without_a_duplicate_call(start: Callable, provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    processes = [caller(start, provider, path) for _ in range(2)]
    outputs: list[list[str]] = [[], []]
    readers = [threading.Thread(target=lambda place=place: outputs[place].extend(output(processes[place]))) for place in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    made = [sum(line.startswith("new") for line in lines) for lines in outputs]
    print("calls of each process:", made, "requests:", len(provider.asked))
    for lines, process in zip(outputs, processes, strict=True):
        assert lines[-1:] == ["all"], process.stderr and process.stderr.read()
        assert sorted(int(line.split()[1]) for line in lines[:-1]) == list(range(N))
    assert len(provider.asked) - N <= 1
    assert sum(made) == N
    # Both have done a part of the work.
    assert min(made) > N / 10


@pytest.mark.soak
def test_the_calls_of_a_process_that_is_killed_are_made_by_the_other(start: Callable, provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    killed, other = (caller(start, provider, path) for _ in range(2))
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(output(other)))
    reader.start()
    output(killed, kill_after=2)
    reader.join()
    assert lines[-1] == "all"
    assert len(provider.asked) - N <= CONCURRENCY
