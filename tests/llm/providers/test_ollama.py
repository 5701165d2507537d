import json

import pytest

from tests.chat_provider import ChatProvider
from workbench.llm.providers.ollama import OllamaClient, cut_prompt

from ..conftest import call, failure, make, reply


def test_a_request_has_a_window_for_prompt_and_answer_and_refuses_a_cut_prompt(provider: ChatProvider) -> None:
    client, long = make("ollama", provider), call("word " * 4000, max_tokens=512, temperature=0.0, seed=7)
    provider.faults = [{}, {"tokens": (4100, 5)}]
    reply(client)
    reply(client, long)
    short_body, body = provider.asked
    assert short_body["options"] == {"num_ctx": 4096, "num_predict": 64}
    assert body["options"] == {"num_ctx": 16384, "num_predict": 512, "temperature": 0.0, "seed": 7}
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, False)


def test_windows_are_equal_for_prompts_of_similar_lengths(provider: ChatProvider) -> None:
    client = make("ollama", provider)
    provider.faults, provider.lasting = [{"tokens": (3000, 5)}], True
    for words in (2100, 2500, 3000):
        reply(client, call("word " * words))
    assert {body["options"]["num_ctx"] for body in provider.asked} == {8192}


def test_the_window_is_at_most_that_of_the_settings(provider: ChatProvider) -> None:
    provider.faults = [{"tokens": (1010, 5)}]
    reply(make("ollama", provider, context_window=2048), call("word " * 1000, max_tokens=1000))
    assert provider.asked[0]["options"]["num_ctx"] == 2048


@pytest.mark.parametrize("tokens", [(2048, 5), (1100, 5)])
def test_a_prompt_that_the_server_cut_silently_is_a_failure(provider: ChatProvider, tokens: tuple[int, int]) -> None:
    provider.faults = [{"tokens": tokens}]
    made = failure(make("ollama", provider, context_window=2048), call("words of it " * 600))
    assert made.kind == "window"
    assert made.reason.startswith(f"the server cut the prompt: it read {tokens[0]:,} tokens")


def test_a_prompt_that_cannot_fit_the_window_is_a_failure() -> None:
    reason = cut_prompt(call("words of it " * 600), None, 1024)
    assert reason
    assert reason.startswith("the prompt has at least 1,202 tokens, and the window 1,024; raise answering.context_window")


def test_a_server_that_counts_nothing_is_believed() -> None:
    assert cut_prompt(call("words of it " * 600), None, 2048) is None


def test_log_probabilities_of_the_first_token_are_read(provider: ChatProvider) -> None:
    alternatives = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.3}]
    provider.faults = [{"logprobs": [{"token": "yes", "logprob": -0.1, "top_logprobs": alternatives}]}]
    assert reply(make("ollama", provider), call(top_logprobs=2)).logprobs == {"yes": -0.1, "no": -2.3}
    assert provider.asked[0]["logprobs"] is True
    assert provider.asked[0]["top_logprobs"] == 2


def test_a_schema_is_the_format(provider: ChatProvider) -> None:
    reply(make("ollama", provider), call(schema={"type": "object"}))
    assert provider.asked[0]["format"] == {"type": "object"}


def test_words_beside_the_call_of_a_tool_are_no_answer_although_ollama_says_stop(provider: ChatProvider) -> None:
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": [{"function": {"name": "search", "arguments": {}}}]}
    provider.faults = [{"raw": json.dumps({"model": "words", "message": message, "done": True, "done_reason": "stop"}).encode()}]
    assert failure(make("ollama", provider)).reason == "the model called a tool in place of an answer"


def test_an_unfinished_reply_is_a_failure(provider: ChatProvider) -> None:
    provider.faults = [{"raw": b'{"message": {"content": "half an"}, "done": false}'}]
    assert failure(make("ollama", provider)).kind == "reply"


def test_the_address_is_that_of_ollama_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0:8080")
    assert OllamaClient(model="words").address == "http://localhost:8080"
