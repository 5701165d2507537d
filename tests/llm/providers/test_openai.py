import json

import pytest

from tests.chat_provider import ChatProvider
from workbench.llm.providers.openai import OpenAIClient

from ..conftest import call, failure, make, reply


def test_a_request_has_the_parameters_that_are_set(provider: ChatProvider) -> None:
    reply(make("openai", provider), call(temperature=0.0, seed=7, schema={"type": "object"}, top_logprobs=5))
    messages = [{"role": "system", "content": "Answer yes or no."}, {"role": "user", "content": "is it so?"}]
    schema = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}}}
    parameters = {"temperature": 0.0, "seed": 7, "logprobs": True, "top_logprobs": 5, "max_tokens": 64, "response_format": schema}
    assert provider.asked == [{"model": "words", "messages": messages} | parameters]


def test_a_parameter_that_is_not_set_is_not_sent(provider: ChatProvider) -> None:
    reply(make("openai", provider))
    assert set(provider.asked[0]) == {"model", "messages", "max_tokens"}


def test_a_reasoning_model_gets_the_other_name_of_the_limit(provider: ChatProvider) -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    provider.faults = [{"status": 400, "message": message}]
    client = make("openai", provider)
    assert reply(client).dropped == ()
    assert reply(client).text == "yes"
    assert [sorted(set(body) - {"model", "messages"}) for body in provider.asked] == [["max_tokens"], *[["max_completion_tokens"]] * 2]


def test_each_refused_parameter_is_learnt(provider: ChatProvider) -> None:
    names = ("temperature", "logprobs", "seed", "response_format")
    provider.faults = [{"status": 400, "message": f"{name} is not supported"} for name in names]
    made = reply(make("openai", provider, retries=0), call(temperature=0.0, seed=7, schema={}, top_logprobs=5))
    assert made.dropped == ("schema", "seed", "temperature", "top_logprobs")
    assert set(provider.asked[-1]) == {"model", "messages", "max_tokens"}


def test_what_one_model_refuses_another_may_know(provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "temperature is not supported"}]
    reply(make("openai", provider), call(temperature=0.0))
    assert reply(make("openai", provider, model="others"), call(temperature=0.0)).dropped == ()


def test_log_probabilities_of_the_first_token_are_read(provider: ChatProvider) -> None:
    alternatives = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.3}]
    provider.faults = [{"logprobs": [{"token": "yes", "logprob": -0.1, "top_logprobs": alternatives}, {"token": ".", "top_logprobs": []}]}]
    made = reply(make("openai", provider), call(top_logprobs=2))
    assert (made.logprobs, made.dropped) == ({"yes": -0.1, "no": -2.3}, ())


@pytest.mark.parametrize(
    "fault",
    [
        {"finish": "content_filter"},
        {"finish": "content_filter: SEXUAL"},
        {"finish": "sensitive"},
        {"refusal": "I cannot help"},
        {"text": None, "finish": "content_filter"},
    ],
)
def test_a_refusal_by_the_safety_filter_is_a_failure(provider: ChatProvider, fault: dict[str, object]) -> None:
    provider.faults = [fault]
    assert failure(make("openai", provider)).kind == "refusal"


def answer_with(message: dict[str, object], finish: str = "stop") -> dict[str, object]:
    return {"raw": json.dumps({"choices": [{"message": {"role": "assistant"} | message, "finish_reason": finish}]}).encode()}


def test_a_content_of_parts_is_read(provider: ChatProvider) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "no?"}]},
        {"type": "text", "text": "ye"},
        {"type": "text", "text": "s"},
    ]
    provider.faults = [answer_with({"content": parts})]
    made = reply(make("openai", provider))
    assert (made.text, made.reasoned) == ("yes", True)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own_is_no_answer(provider: ChatProvider, field: str) -> None:
    provider.faults = [answer_with({"content": "yes", field: "no?"}), answer_with({"content": None, field: "no?"}, "length")]
    provider.faults += [answer_with({field: "no?"})]
    client = make("openai", provider)
    made = reply(client)
    assert (made.text, made.reasoned) == ("yes", True)
    assert failure(client).reason == "the reply is reasoning without an answer because it used all of its tokens"
    assert failure(client).reason == "the reply is reasoning without an answer"


def test_what_stands_in_place_of_an_answer_is_named(provider: ChatProvider) -> None:
    tool = {"tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]}
    provider.faults = [answer_with(tool | {"content": None}, "tool_calls"), answer_with(tool, "tool_calls")]
    provider.faults += [
        answer_with({"content": [{"type": "image_url", "image_url": {}}]}),
        answer_with({"content": "", "refusal": None}, "recitation"),
    ]
    provider.faults += [answer_with({"content": [{"type": "refusal", "refusal": "I cannot"}]})]
    client = make("openai", provider)
    assert [failure(client).reason for _ in range(5)] == [
        *["the model called a tool in place of an answer"] * 2,
        "the answer has a part of type 'image_url', which is no text",
        "the provider's safety filter refused the answer",
        "the provider's safety filter refused the answer",
    ]


def test_a_prompt_that_the_safety_filter_refuses_is_a_failure(provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "The response was filtered due to Azure's content management policy"}]
    assert failure(make("openai", provider)).kind == "refusal"


def test_the_key_is_sent_from_the_named_variable(provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "one-two-three")
    reply(make("openai", provider, api_key_env="MY_KEY"))
    assert provider.headers[0]["authorization"] == "Bearer one-two-three"
    assert provider.headers[0]["accept-encoding"] == "identity"


def test_openai_itself_gets_the_new_name_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    client = OpenAIClient(model="gpt-5-mini")
    assert client.billed
    assert set(client._body(call(), {}, frozenset())) == {"model", "messages", "max_completion_tokens"}
