import asyncio
import json
import math
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.environment import usable_cores
from workbench.core.errors import ModelError
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.models.gguf import default_threads, gguf_digest, load
from workbench.llm.providers.local import LocalClient

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def call(text: str = "What is the capital of France? Answer in one sentence.", **parameters: object) -> ChatCall:
    return ChatCall([Message("user", text)], **{"max_tokens": 20, "temperature": 0, "seed": 1, **parameters})  # type: ignore[arg-type]


def asked(client: LocalClient, *calls: ChatCall) -> list[Reply | CallFailure]:
    async def ask() -> list[Reply | CallFailure]:
        return [await client.ask(one) for one in calls]

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def client(gguf: Path) -> LocalClient:
    return LocalClient(path=str(gguf), context_window=512, threads=1)


def test_a_model_in_a_file_answers_with_its_counts(client: LocalClient) -> None:
    (reply,) = asked(client, call())
    assert isinstance(reply, Reply)
    assert "Paris" in reply.text
    assert (reply.finish_reason, reply.model, reply.logprobs, reply.cost) == ("stop", Path(client.path).name, None, None)
    assert (reply.input_tokens, reply.output_tokens) == (42, 8)
    assert 0 < reply.seconds < 30


def test_equal_calls_have_equal_replies_whatever_was_asked_before(client: LocalClient) -> None:
    first, other, again = asked(client, call("Tell a story."), call("Tell a story about a cat."), call("Tell a story."))
    assert isinstance(first, Reply)
    assert isinstance(again, Reply)
    assert isinstance(other, Reply)
    assert first.text == again.text != other.text


def test_a_reply_that_reaches_max_tokens_says_so(client: LocalClient) -> None:
    (reply,) = asked(client, call("Tell a story.", max_tokens=3))
    assert isinstance(reply, Reply)
    assert (reply.finish_reason, reply.output_tokens) == ("length", 3)


def test_the_first_token_has_log_probabilities(client: LocalClient) -> None:
    (reply,) = asked(client, call("Is the sky blue? Answer yes or no.", max_tokens=2, top_logprobs=5))
    assert isinstance(reply, Reply)
    assert reply.logprobs is not None
    assert len(reply.logprobs) == 5
    assert reply.text.startswith(max(reply.logprobs, key=reply.logprobs.__getitem__))
    assert 0.2 < sum(math.exp(value) for value in reply.logprobs.values()) <= 1


def test_a_reply_fits_its_schema(client: LocalClient) -> None:
    schema = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"], "additionalProperties": False}
    (reply,) = asked(client, call("Is the sky blue?", schema=schema))
    assert isinstance(reply, Reply)
    assert json.loads(reply.text)["verdict"] in ("yes", "no")


def test_prices_make_a_cost(client: LocalClient) -> None:
    (reply,) = asked(client.model_copy(update={"price_input": 1e6, "price_output": 2e6}), call())
    assert isinstance(reply, Reply)
    assert reply.cost == 42 + 2 * 8


def test_a_prompt_beyond_the_window_is_a_failure_with_both_sizes(client: LocalClient) -> None:
    (failure,) = asked(client, call("word " * 600))
    assert isinstance(failure, CallFailure)
    assert failure.kind == "window"
    assert failure.reason.startswith("the prompt has 631 tokens, and the window 512; raise context_window")


@pytest.mark.parametrize("parameters", [{"schema": {"type": "nonsense"}}, {"text": "half a pair \ud83d"}], ids=["schema", "text"])
def test_a_request_that_llama_cpp_refuses_is_a_failure_in_one_line(client: LocalClient, parameters: dict[str, object]) -> None:
    (failure, after) = asked(client, call(**parameters), call())  # type: ignore[arg-type]
    assert isinstance(failure, CallFailure)
    assert failure.kind == "request"
    assert "refused the request (" in failure.reason
    assert "\n" not in failure.reason
    assert isinstance(after, Reply)


def test_a_cancelled_call_stops_at_its_next_token(client: LocalClient) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(client.ask(call("Tell a very long story.", max_tokens=400)))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.perf_counter()
    asyncio.run(cancelled())
    # Without the stop, leaving the event loop waits for 400 tokens.
    assert time.perf_counter() - started < 3
    assert isinstance(asked(client, call())[0], Reply)


def test_a_file_is_loaded_once(client: LocalClient, gguf: Path) -> None:
    asked(client, call(max_tokens=1))
    model = load(gguf, 1, 512)
    assert model is load(gguf, 1, 512)


def test_others_on_this_machine_cannot_ask_the_model(gguf: Path) -> None:
    address = load(gguf, 1, 512).listening_address
    request = urllib.request.Request(f"{address}/v1/chat/completions", b'{"messages": [{"role": "user", "content": "x"}]}')
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=5)


def test_the_identity_is_the_content_of_the_file_and_the_window(gguf: Path, tmp_path: Path) -> None:
    link = tmp_path / "another.gguf"
    link.symlink_to(gguf)
    first = LocalClient(path=str(gguf)).identity()
    assert first == LocalClient(path=str(link), threads=2, price_input=1).identity()
    assert first != LocalClient(path=str(gguf), context_window=512).identity()
    assert first["model"] == SMOLLM2_SHA256 or gguf.name != "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_file_that_changes_has_another_identity(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF 1")
    before = gguf_digest(path)
    path.write_bytes(b"GGUF other")
    assert gguf_digest(path) != before


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    client = LocalClient(path=str(tmp_path / "none.gguf"))
    for use in (client.check, client.identity, lambda: asked(client, call())):
        with pytest.raises(
            ModelError, match=r"answering 'local': none.gguf: .*none.gguf cannot be read \(No such file or directory\); name a"
        ):
            use()


def test_a_file_of_another_format_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(100))
    with pytest.raises(ModelError, match="is no GGUF file; name a model in the format"):
        LocalClient(path=str(tmp_path / "model.safetensors")).check()


def test_a_damaged_file_is_one_line(gguf: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with gguf.open("rb") as file:
        cut.write_bytes(file.read(5_000_000))
    with pytest.raises(ModelError, match=r"llama.cpp cannot load .*cut.gguf; fetch the file again"):
        asked(LocalClient(path=str(cut)), call())


def test_a_missing_package_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelError, match=r"needs xllamacpp; pip install 'rag-workbench\[local\]'"):
        LocalClient(path=str(tmp_path / "none.gguf")).check()


def test_settings_that_cannot_work_are_refused(wording) -> None:
    wording(
        lambda settings: LocalClient(**settings), [{}, {"path": ""}, {"path": "m.gguf", "threads": 0}, {"path": "m.gguf", "concurrency": 2}]
    )


def test_one_core_stays_free_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert default_threads() == max(1, usable_cores() - 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert default_threads() == 3


def test_importing_the_client_imports_no_model_library(run_python: Callable[..., str]) -> None:
    script = "import sys, workbench.llm.providers.local; print([name for name in ('xllamacpp', 'torch', 'joblib') if name in sys.modules])"
    assert run_python(script).strip() == "[]"
