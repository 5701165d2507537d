"""Calls of a chat model at once, against the ideal time: a server on the loopback that answers after 200 ms and fails 2 % of requests.

`python -m benchmarks calls`. The server runs in a separate process. The ideal time is that of 50 connections which are never idle, once for
2,000 requests and once with the failed requests. Time starts when the first call is prepared and ends when the last reply is in the cache.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.claims import at_most
from workbench.core.storage.call_cache import CallCache
from workbench.llm.base import ChatCall, Message, Reply
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.session import CallBudget, CallResources, ask_all

CALLS, AT_ONCE, SECONDS, FAILING = 2_000, 50, 0.2, 50
_ROUNDS = 3
_MOST_RATIO = 1.1
_ANSWER = json.dumps(
    {
        "model": "words",
        "choices": [{"message": {"role": "assistant", "content": "The answer is in passage [1]."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2000, "completion_tokens": 8},
    }
)
_ERROR = json.dumps({"error": {"message": "overloaded"}})


def run() -> dict[str, Any]:
    """Return the seconds of three rounds, their ratios to the ideal time, and the claim about the median."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.calls"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        client = OpenAIClient(model="words", base_url=f"http://127.0.0.1:{int(server.stdout.readline())}/v1", concurrency=AT_ONCE)
        # Importing OpenAI's client takes about a second, once per process.
        _round(client, AT_ONCE)
        rounds = [_round(client, CALLS) for _ in range(_ROUNDS)]
        server.stdin.close()
    ideal = CALLS * SECONDS / AT_ONCE
    with_retries = ideal * (1 + 1 / FAILING)
    seconds, processor = sorted(rounds)[_ROUNDS // 2]
    return {
        "seconds": [round(each[0], 2) for each in rounds],
        "CPU seconds of the client": [round(each[1], 2) for each in rounds],
        "ideal seconds": {"of the calls": ideal, "with failed requests": round(with_retries, 2)},
        "milliseconds of CPU for a call": round(processor / CALLS * 1e3, 2),
        "ratios": {"without failed requests": round(seconds / ideal, 3)},
        # The server's errors are part of the task: each failed request takes its time once more.
        "claims": [at_most("seconds of 2,000 calls / ideal seconds with failed requests", round(seconds / with_retries, 3), _MOST_RATIO)],
    }


def _round(client: OpenAIClient, how_many: int) -> tuple[float, float]:
    """Return seconds and CPU seconds of calls with a cache that has none of them."""
    text = "A passage of a document. " * 300
    calls = [ChatCall([Message("system", text), Message("user", f"question {number}")], max_tokens=512) for number in range(how_many)]
    with tempfile.TemporaryDirectory() as folder:
        resources = CallResources(CallCache(Path(folder, "calls.sqlite")), CallBudget())
        started, processor = time.perf_counter(), time.process_time()
        outcomes = [outcome for _, outcome in ask_all(client, calls, resources)]
        seconds, processor = time.perf_counter() - started, time.process_time() - processor
    if failed := [outcome for outcome in outcomes if not isinstance(outcome, Reply)]:
        raise RuntimeError(f"{len(failed)} calls failed, the first with {failed[0].reason}")
    return seconds, processor


class _Connection(asyncio.Protocol):
    """Answers each request after 200 ms, every fiftieth of all with an error."""

    numbers = itertools.count(1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        if blank and len(body) >= length:
            self._received = b""
            asyncio.get_running_loop().call_later(SECONDS, self._answer, next(self.numbers) % FAILING == 0)

    def _answer(self, failing: bool) -> None:
        status, text = ("500 Internal Server Error", _ERROR) if failing else ("200 OK", _ANSWER)
        self._transport.write(f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n{text}".encode())


async def _serve() -> None:
    """Serve until the standard input ends."""
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
