"""What holds for every client whose model is on a server, whatever protocol it speaks."""

import json
import logging
import pickle
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.chat_provider import ChatProvider
from workbench.core.errors import InputError, ModelError
from workbench.llm.providers.served import ServedClient

from ..conftest import KEY, SERVED, asked, call, failure, make, reply

Make = Callable[..., ServedClient]


@pytest.fixture(params=SERVED)
def client(request: pytest.FixtureRequest, provider: ChatProvider) -> Make:
    return lambda **settings: make(request.param, provider, **settings)


def raw(content: bytes, **headers: str) -> dict[str, Any]:
    return {"raw": content, "headers": headers}


def test_a_reply_has_text_tokens_cost_and_time(client: Make) -> None:
    made = reply(client(price_input=2.0, price_output=10.0))
    assert (made.text, made.finish_reason, made.model, made.input_tokens, made.output_tokens) == ("yes", "stop", "words", 10, 1)
    assert made.cost == pytest.approx((10 * 2 + 10) / 1e6)
    assert 0 < made.seconds < 5
    assert (made.dropped, made.cached) == ((), False)


def test_tokens_that_the_server_does_not_count_are_none(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"tokens": None}]
    made = reply(client(price_input=2.0, price_output=10.0))
    assert (made.input_tokens, made.output_tokens, made.cost) == (None, None, None)


def test_a_reply_that_was_cut_at_max_tokens_says_so(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"finish": "length"}]
    assert reply(client()).finish_reason == "length"


@pytest.mark.parametrize("finish", ["error", "insufficient_system_resource", "network_error", "abort", "pause_turn", "unheard_of"])
def test_a_reply_that_broke_off_is_asked_for_again(
    client: Make, provider: ChatProvider, finish: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.llm.providers.served.back_off", lambda *_: 0)
    broken = {"text": "The office opens in", "finish": finish}
    provider.faults = [broken, {"text": "The office opens in May."}]
    assert reply(client()).text == "The office opens in May."
    provider.faults = [broken] * 2
    made = failure(client())
    assert (made.kind, made.reason.partition(" failed ")[2]) == ("server", f"2 times: the reply broke off ({finish})")
    assert len(provider.asked) == 4


@pytest.mark.parametrize("finish", ["tool_calls", "tool_use", "function_call"])
def test_words_before_the_call_of_a_tool_are_no_answer(client: Make, provider: ChatProvider, finish: str) -> None:
    provider.faults = [{"text": "Let me look at the handbook.", "finish": finish}]
    assert failure(client()).reason == "the model called a tool in place of an answer"


def test_reasoning_is_no_part_of_the_answer(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"text": "<think>Is it? No.</think>\n\nno"}, {"text": "Is it? No.</think>no", "finish": "length"}]
    assert [(made.text, made.reasoned) for made in (reply(client()), reply(client()))] == [("no", True)] * 2


def test_a_busy_or_broken_server_is_asked_again(client: Make, provider: ChatProvider) -> None:
    for number, status in enumerate([408, 409, 429, 500, 502, 503, 529], 1):
        provider.faults = [{"status": status, "headers": {"retry-after": "0.01"}}]
        assert reply(client()).text == "yes"
        assert len(provider.asked) == 2 * number


def test_the_time_that_the_server_names_is_waited(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 429, "headers": {"retry-after": "0.3"}}]
    started = time.perf_counter()
    reply(client())
    assert 0.3 <= time.perf_counter() - started < 2


def test_a_server_that_names_a_long_time_is_not_waited_for(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 429, "message": "come back tomorrow", "headers": {"retry-after": "86400"}}]
    made = failure(client(retries=4))
    assert made.kind == "server"
    assert "failed 1 time: 429: come back tomorrow" in made.reason


def test_the_last_failure_is_the_reason(client: Make, provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"status": 500, "message": "on fire"}], True
    made = failure(client(retries=2))
    assert made.kind == "server"
    assert f"words at {client().address} failed 3 times: 500: on fire" in made.reason
    assert len(provider.asked) == 3


def test_no_server_is_a_failure_in_a_line(client: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    made = failure(client(base_url=f"http://127.0.0.1:{port}"))
    assert made.kind == "server"
    assert "failed 2 times: no answer (ConnectError)" in made.reason


def test_a_try_has_a_limit_in_total_and_is_repeated(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"hang": True}]
    assert reply(client(timeout=0.3)).text == "yes"


def test_a_reply_that_drips_ends_at_the_limit(client: Make, provider: ChatProvider) -> None:
    provider.faults = [raw(b" " * 1000, pause="0.05")]
    started = time.perf_counter()
    made = failure(client(timeout=0.3, retries=0))
    # The whole reply would take 50 seconds.
    assert time.perf_counter() - started < 25
    assert (made.kind, made.reason.endswith("no complete answer within 0.3 seconds")) == ("timeout", True)


# The server sends the reasoning of an Anthropic model in a block of its own.
ALONE = ("the answer is empty", "the reply is reasoning without an answer")
STRANGE: list[tuple[dict[str, Any], str | tuple[str, ...]]] = [
    (raw(b"{"), "the reply is no valid JSON"),
    (raw(b"<html><body>Sign in</body></html>"), "the reply is HTML"),
    (raw(b'{"text": "\xff"}'), "the reply is not valid UTF-8"),
    (raw(b"[" * 100_000), "the reply is no valid JSON"),
    (raw(b"[]"), "the reply has no answer"),
    (raw(b"null"), "the reply has no answer"),
    (raw(b'{"choices": [], "message": 3, "content": 3}'), "the reply has no answer"),
    ({"text": ""}, ALONE),
    ({"text": " \n"}, ALONE),
    ({"text": "", "finish": "length"}, tuple(f"{reason} because it used all of its tokens" for reason in ALONE)),
    ({"text": "<think>hm"}, ALONE[1]),
    ({"text": "<think>hm", "finish": "length"}, f"{ALONE[1]} because it used all of its tokens"),
    ({"text": "half \ud800"}, "the answer contains half of a surrogate pair"),
    ({"text": 3}, "the reply has no answer"),
    (raw(b"x" * (8 * 2**20 + 1)), "the server sent more than 8 MB in one reply"),
    (raw(b"{}", **{"content-encoding": "gzip"}), "the server sent a compressed reply"),
]


def test_a_strange_reply_is_a_failure_with_its_reason_and_not_repeated(client: Make, provider: ChatProvider) -> None:
    for number, (fault, reason) in enumerate(STRANGE, 1):
        provider.faults = [fault]
        made = failure(client())
        assert made.kind == "reply"
        assert made.reason.startswith(reason)
        assert len(provider.asked) == number


# An error with the status 200, and the status that it stands for.
REPORTED: list[tuple[Any, int]] = [
    ({"error": {"message": "slow down", "code": 429}}, 429),
    ({"error": {"message": "slow down", "code": "429"}}, 429),
    ({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429),
    ({"error": "Too many requests"}, 429),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 503),
    ({"error": {"message": "The model is overloaded. Please try again later."}}, 503),
    ({"errors": [{"message": "upstream timed out"}], "success": False}, 504),
    ({"object": "error", "message": "Internal server error", "code": 50001}, 500),
    (
        {"choices": [{"error": {"code": 502, "message": "Provider returned error"}, "finish_reason": "error", "message": {"content": ""}}]},
        502,
    ),
    ({"status": 503, "message": "Service unavailable"}, 503),
    ({"error": True, "message": "rate limit exceeded"}, 429),
]


def test_an_error_with_the_status_200_is_that_error_and_the_call_is_repeated(
    client: Make, provider: ChatProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.llm.providers.served.back_off", lambda *_: 0)
    for number, (error, status) in enumerate(REPORTED, 1):
        provider.faults = [raw(json.dumps(error).encode())] * 2
        made = failure(client())
        assert made.kind == "server"
        assert f"failed 2 times: {status}: " in made.reason, error
        assert len(provider.asked) == 2 * number
    provider.faults = [raw(json.dumps(REPORTED[0][0]).encode())]
    assert reply(client()).text == "yes"


def test_a_final_error_with_the_status_200_is_the_reason_and_not_repeated(client: Make, provider: ChatProvider) -> None:
    errors = {
        '{"error": {"message": "messages: roles must alternate"}}': ("request", "(400: messages: roles must alternate)"),
        '{"error": {"message": "no images", "code": 422}}': ("request", "(422: no images)"),
        '{"detail": "exceeds the context length"}': ("window", "(400: exceeds the context length)"),
        '{"error": {"message": "filtered", "code": "content_filter"}}': ("refusal", "safety filter refused the prompt"),
    }
    for number, (error, (kind, reason)) in enumerate(errors.items(), 1):
        provider.faults = [raw(error.encode())]
        made = failure(client())
        assert (made.kind, reason in made.reason) == (kind, True), made.reason
        assert len(provider.asked) == number
    provider.faults = [raw(b'{"error": {"message": "No auth credentials found", "code": 401}}')]
    with pytest.raises(ModelError, match=r"refused the key \(401: No auth credentials found\)"):
        asked(client())
    provider.faults = [raw(b'{"error": {"message": "temperature is not supported", "code": 400}}')]
    assert reply(client(), call(temperature=0.0)).dropped == ("temperature",)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_wrong_key_stops_with_a_line_that_does_not_contain_it(kind: str, provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    for status in (401, 403):
        # The key is also where the message is cut.
        provider.faults = [{"status": status, "message": f"wrong key {KEY} {'x' * 178} {KEY}"}]
        with pytest.raises(ModelError, match=rf"refused the key \({status}: wrong key …") as caught:
            asked(make(kind, provider))
        assert KEY[:6] not in "".join(caught.value.lines) + repr(caught.value)
        assert provider.headers[-1]["authorization"] == f"Bearer {KEY}"


def test_a_retired_model_is_one_clear_line(client: Make, provider: ChatProvider) -> None:
    for status, message in (
        (404, "model: words"),
        (404, "model 'words' not found, try pulling it first"),
        (400, "The model `words` has been deprecated"),
        (410, "gone"),
    ):
        provider.faults = [{"status": status, "message": message}]
        line = rf"^answering '\w+': words at http://\S+ was not found \({status}: .*; (the model may be retired|ollama pull words)"
        with pytest.raises(ModelError, match=line):
            asked(client())


def test_an_account_without_credit_stops(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 429, "message": "You exceeded your current quota, please check your plan"}]
    with pytest.raises(ModelError, match="has no credit left"):
        asked(client())


def test_a_redirect_is_not_followed(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 307, "headers": {"location": "http://elsewhere.example/"}}]
    with pytest.raises(ModelError, match="redirects to another address"):
        asked(client())


def test_a_prompt_beyond_the_window_is_a_failure_of_its_kind(client: Make, provider: ChatProvider) -> None:
    for status, message in ((400, "prompt is too long: 9 > 5 maximum"), (413, "no"), (400, "exceeds the context length")):
        provider.faults = [{"status": status, "message": message}]
        assert failure(client()).kind == "window"
    assert len(provider.asked) == 3


def test_a_refused_request_is_a_failure_and_the_run_goes_on(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "messages: roles must alternate"}]
    made = failure(client())
    assert (made.kind, len(provider.asked)) == ("request", 1)
    assert "roles must alternate" in made.reason


def test_a_temperature_that_the_model_refuses_is_left_out_remembered_and_reported(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "Unsupported value: 'temperature' does not support 0 with this model."}]
    assert reply(client(), call(temperature=0.0)).dropped == ("temperature",)
    assert reply(client(), call(temperature=0.0)).dropped == ("temperature",)
    assert reply(client(), call()).dropped == ()
    sent = ["temperature" in (body | body.get("options", {})) for body in provider.asked]
    assert sent == [True, False, False, False]


def test_a_temperature_out_of_range_is_a_fault_of_the_settings(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "temperature must be between 0 and 1"}]
    assert failure(client(), call(temperature=3.0)).kind == "request"


def test_a_schema_that_the_server_refuses_is_left_out(client: Make, provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "response_format and output_config.format are not supported"}]
    assert reply(client(), call(schema={"type": "object"})).dropped == ("schema",)
    assert {"response_format", "output_config", "format"} & set(provider.asked[0])
    assert not {"response_format", "output_config", "format"} & set(provider.asked[1])


def test_what_the_server_ignores_silently_counts_as_dropped(client: Make) -> None:
    made = reply(client(), call(top_logprobs=5))
    assert (made.logprobs, made.dropped) == (None, ("top_logprobs",))


def test_no_key_is_in_a_client(client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    made = client()
    reply(made)
    told = repr(made) + str(made.identity()) + str(made.settings()) + made.label + made._repr_html_()
    assert KEY not in told
    assert KEY.encode() not in pickle.dumps(made)


def test_messages_for_debugging_of_other_packages_can_have_a_key(
    client: Make, provider: ChatProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.faults = [raw(b"{}", **{"x-echo": KEY})]
    failure(client())
    assert KEY in caplog.text


def test_a_prompt_with_half_of_a_surrogate_pair_is_sent(client: Make, provider: ChatProvider) -> None:
    assert reply(client(), call("half \ud800")).text == "yes"
    assert provider.prompts() == ["half \ud800"]


def test_prices_concurrency_and_patience_are_not_part_of_the_identity(client: Make) -> None:
    other = client(price_input=1.0, price_output=1.0, concurrency=3, timeout=1, retries=0, context_window=9000)
    assert other.identity() == client().identity()
    assert client(model="others").identity() != client().identity()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_server_elsewhere_needs_a_key_before_anything_is_sent(kind: str, provider: ChatProvider) -> None:
    client = make(kind, provider, base_url="https://llm.example/v1")
    with pytest.raises(ModelError, match=f"needs a key, and {kind.upper()}_API_KEY is not set"):
        client.check()
    with pytest.raises(ModelError, match="needs a key"):
        asked(client)


def test_an_address_with_a_secret_is_refused_without_printing_it(client: Make) -> None:
    for address in (
        f"http://me:{KEY}@localhost:1",
        f"http://localhost:1/?key={KEY}",
        f"http://localhost:1/#{KEY}",
        f"http://localhost:1/{KEY}/v1",
    ):
        with pytest.raises(InputError) as caught:
            client(base_url=address)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_headers_of_the_environment_are_sent_and_not_kept(kind: str, provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{kind.upper()}_CUSTOM_HEADERS", "x-gate: gate-9f8e7d6c5b4a")
    for name in ("ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", name)
    provider.reply_to = lambda _: {"text": "You sent (gate-9f8e7d6c5b4a)."}
    assert reply(make(kind, provider)).text == "You sent (…)."
    (headers,) = provider.headers
    assert headers["x-gate"] == "gate-9f8e7d6c5b4a"
    if kind == "openai":
        assert (headers["openai-organization"], headers["openai-project"]) == ("ORG_ID", "PROJECT_ID")
