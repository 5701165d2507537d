from tests.chat_provider import ChatProvider
from workbench.llm.base import ChatCall, Message
from workbench.llm.providers.anthropic import AnthropicClient

from ..conftest import call, failure, make, reply


def test_a_request_has_the_system_prompt_apart_and_the_version_of_the_protocol(provider: ChatProvider) -> None:
    reply(make("anthropic", provider), call(temperature=0.0, schema={"type": "object"}))
    assert provider.asked == [
        {
            "model": "words",
            "max_tokens": 64,
            "messages": [{"role": "user", "content": "is it so?"}],
            "system": "Answer yes or no.",
            "temperature": 0.0,
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        }
    ]
    assert provider.headers[0]["anthropic-version"].startswith("20")


def test_without_a_system_prompt_none_is_sent(provider: ChatProvider) -> None:
    reply(make("anthropic", provider), ChatCall([Message("user", "hello")], max_tokens=8))
    assert set(provider.asked[0]) == {"model", "max_tokens", "messages"}


def test_seeds_and_log_probabilities_are_not_sent_and_named_as_dropped(provider: ChatProvider) -> None:
    made = reply(make("anthropic", provider), call(seed=7, top_logprobs=5))
    assert (made.logprobs, made.dropped) == (None, ("seed", "top_logprobs"))
    assert not {"seed", "logprobs", "top_logprobs"} & set(provider.asked[0])


def test_a_refusal_by_the_safety_filter_is_a_failure(provider: ChatProvider) -> None:
    provider.faults = [{"finish": "refusal"}]
    assert failure(make("anthropic", provider)).kind == "refusal"


def test_tokens_from_the_providers_cache_of_prompts_count(provider: ChatProvider) -> None:
    usage = b'{"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 2}'
    provider.faults = [{"raw": b'{"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", "usage": %b}' % usage}]
    made = reply(make("anthropic", provider))
    assert (made.input_tokens, made.output_tokens) == (115, 2)


def test_an_address_may_end_with_the_version() -> None:
    assert AnthropicClient(model="words", base_url="http://localhost:8080/v1/").address == "http://localhost:8080"
