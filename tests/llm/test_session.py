"""Many calls at once: order, cache, budget, and how they end."""

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.chat_provider import ChatProvider
from workbench.core.errors import InputError, ModelError
from workbench.core.storage.call_cache import CallCache
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply
from workbench.llm.registry import CLIENTS
from workbench.llm.session import CallBudget, CallLimits, CallResources, ask_all, call_key
from workbench.llm.tokens import most_prompt_tokens

from .conftest import call, make


@pytest.fixture
def cache(tmp_path: Path) -> CallCache:
    return CallCache(tmp_path / "calls.sqlite")


def questions(count: int) -> list[str]:
    return [f"question {number}" for number in range(count)]


def limited(**limits: float) -> CallResources:
    return CallResources(None, CallBudget(CallLimits(**limits)))  # type: ignore[arg-type]  # whole numbers are whole


def test_every_call_has_an_outcome_with_its_place(provider: ChatProvider) -> None:
    calls = [call(text) for text in questions(30)]
    outcomes = dict(ask_all(make("ollama", provider), calls, CallResources()))
    assert sorted(outcomes) == list(range(30))
    assert all(isinstance(outcome, Reply) and outcome.text == "yes" for outcome in outcomes.values())
    assert sorted(provider.prompts()) == sorted(questions(30))


def test_no_calls_have_no_outcomes_and_start_no_thread(provider: ChatProvider) -> None:
    before = threading.active_count()
    assert list(ask_all(make("ollama", provider), [], CallResources())) == []
    assert threading.active_count() == before


def test_as_many_calls_run_at_once_as_allowed(provider: ChatProvider) -> None:
    provider.seconds = 0.05
    list(ask_all(make("ollama", provider, concurrency=4), [call(text) for text in questions(12)], CallResources()))
    assert provider.most_at_once == 4


def test_equal_calls_are_made_once_and_other_repeats_again(provider: ChatProvider) -> None:
    outcomes = dict(ask_all(make("ollama", provider), [call(), call(repeat=1), call()], CallResources()))
    assert len(outcomes) == 3
    assert len(provider.asked) == 2


def test_a_failure_is_an_outcome_and_the_others_go_on(provider: ChatProvider) -> None:
    provider.faults = [{"raw": b"{"}]
    outcomes = dict(ask_all(make("ollama", provider, concurrency=1), [call(text) for text in questions(3)], CallResources()))
    assert isinstance(outcomes[0], CallFailure)
    assert all(isinstance(outcomes[place], Reply) for place in (1, 2))


def test_a_fault_that_all_calls_share_stops_them(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"status": 404, "message": "model not found"}], True
    with pytest.raises(ModelError, match="was not found"):
        list(ask_all(make("ollama", provider, concurrency=2), [call(text) for text in questions(50)], CallResources()))
    assert len(provider.asked) <= 4


def test_replies_are_in_the_cache_before_they_are_yielded(provider: ChatProvider, cache: CallCache) -> None:
    client, calls = make("ollama", provider), [call(text) for text in questions(20)]
    stored = []
    for _ in ask_all(client, calls, CallResources(cache)):
        again = ask_all(client, calls, CallResources(cache, CallBudget(CallLimits(calls=0))))
        stored.append(sum(isinstance(outcome, Reply) and outcome.cached for _, outcome in again))
    assert all(how_many >= number for number, how_many in enumerate(stored, 1))
    assert len(provider.asked) == 20


def test_a_cached_reply_is_equal_and_costs_nothing_of_the_budget(provider: ChatProvider, cache: CallCache) -> None:
    client = make("openai", provider, price_input=1.0, price_output=1.0)
    provider.faults = [{"logprobs": [{"top_logprobs": [{"token": "yes", "logprob": -0.1}]}]}]
    ((_, first),) = ask_all(client, [call(top_logprobs=2)], CallResources(cache))
    resources = CallResources(cache, CallBudget(CallLimits(calls=0)))
    dearer = make("openai", provider, price_input=2.0, price_output=2.0)
    ((_, again),) = ask_all(dearer, [call(top_logprobs=2)], resources)
    assert isinstance(first, Reply)
    assert isinstance(again, Reply)
    assert (again.text, again.logprobs, again.input_tokens, again.seconds) == (first.text, {"yes": -0.1}, first.input_tokens, first.seconds)
    assert (first.cached, again.cached, again.cost) == (False, True, 2 * (first.cost or 0))
    assert (resources.budget.spent.calls, len(provider.asked)) == (0, 1)


def test_failures_are_not_cached(provider: ChatProvider, cache: CallCache) -> None:
    client, calls = make("ollama", provider, concurrency=1), [call(text) for text in questions(3)]
    provider.faults = [{"text": ""}]
    list(ask_all(client, calls, CallResources(cache)))
    outcomes = dict(ask_all(client, calls, CallResources(cache)))
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())
    assert Counter(provider.prompts()) == {"question 0": 2, "question 1": 1, "question 2": 1}


def test_the_cache_keeps_what_the_model_wrote_and_no_reasoning_without_an_answer(provider: ChatProvider, cache: CallCache) -> None:
    client, calls = make("openai", provider, concurrency=1), [call(text) for text in questions(2)]
    provider.faults = [{"text": "<think>hm</think>so"}, {"text": "<think>hm", "finish": "length", "tokens": (10, 64)}]
    resources = CallResources(cache)
    answer, cut = (outcome for _, outcome in sorted(ask_all(client, calls, resources), key=lambda each: each[0]))
    assert isinstance(answer, Reply)
    assert isinstance(cut, CallFailure)
    assert resources.budget.spent.tokens == 10 + 1 + 10 + 64
    (stored,) = cache.get([call_key(client.identity(), each) for each in calls]).values()
    assert stored["text"] == "<think>hm</think>so"
    again = dict(ask_all(client, calls, CallResources(cache)))
    assert isinstance(again[0], Reply)
    assert (again[0].text, again[0].cached, len(provider.asked)) == ("so", True, 3)


def test_a_model_that_stops_the_run_keeps_finished_replies(provider: ChatProvider, cache: CallCache) -> None:
    client, calls = make("ollama", provider, concurrency=1), [call(text) for text in questions(6)]
    provider.faults = [{}, {}, {}, {"status": 404, "message": "model not found"}]
    with pytest.raises(ModelError):
        list(ask_all(client, calls, CallResources(cache)))
    list(ask_all(client, calls, CallResources(cache)))
    assert Counter(provider.prompts()).most_common(2) == [("question 3", 2), ("question 0", 1)]


def test_a_key_that_changes_during_a_call_is_left_out_of_its_reply(provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LOGIN", "sk-old1")

    def rotated(_: Mapping[str, Any]) -> dict[str, Any]:
        monkeypatch.setenv("MY_LOGIN", "sk-new2")
        return {"text": "you sent sk-old1"}

    provider.reply_to = rotated
    ((_, reply),) = ask_all(make("openai", provider, api_key_env="MY_LOGIN"), [call()], CallResources())
    assert isinstance(reply, Reply)
    assert reply.text == "you sent …"


def test_a_caller_that_stops_ends_the_calls_and_keeps_finished_replies(provider: ChatProvider, cache: CallCache) -> None:
    client, calls = make("ollama", provider, concurrency=2), [call(text) for text in questions(40)]
    provider.seconds = 0.05
    outcomes = ask_all(client, calls, CallResources(cache))
    for _ in range(4):
        next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]  # it is a generator
    # The server still works on requests whose connections were closed.
    provider.closing.wait(0.2)
    made = len(provider.asked)
    assert 4 <= made < 20
    cached = [outcome for _, outcome in ask_all(client, calls, CallResources(cache, CallBudget(CallLimits(calls=0))))]
    assert sum(isinstance(outcome, Reply) for outcome in cached) >= made - 2
    assert len(provider.asked) == made
    assert "calls" not in {thread.name for thread in threading.enumerate()}


def test_a_call_that_hangs_does_not_keep_a_caller_that_stops(provider: ChatProvider) -> None:
    provider.faults = [{}, {"hang": True}]
    outcomes = ask_all(make("ollama", provider, concurrency=2), [call(text) for text in questions(2)], CallResources())
    next(outcomes)
    started = time.perf_counter()
    outcomes.close()  # type: ignore[attr-defined]  # it is a generator
    assert time.perf_counter() - started < 2


def test_a_budget_of_calls_is_not_exceeded(provider: ChatProvider) -> None:
    resources = limited(calls=5)
    outcomes = dict(ask_all(make("ollama", provider), [call(text) for text in questions(20)], resources))
    refused = [outcome for outcome in outcomes.values() if isinstance(outcome, CallFailure)]
    assert (len(provider.asked), resources.budget.spent.calls, len(refused)) == (5, 5, 15)
    assert {(failure.kind, failure.reason) for failure in refused} == {("budget", "the budget of 5 calls is spent")}


def test_a_budget_is_shared_by_several_sessions(provider: ChatProvider) -> None:
    resources = limited(calls=3)
    for number in range(3):
        list(ask_all(make("ollama", provider), [call(f"{number} {text}") for text in questions(2)], resources))
    assert len(provider.asked) == 3


def test_a_budget_of_tokens_is_exceeded_by_the_calls_in_flight_at_most(provider: ChatProvider) -> None:
    resources = limited(tokens=55)
    list(ask_all(make("ollama", provider, concurrency=3), [call(text) for text in questions(20)], resources))
    assert 5 <= len(provider.asked) <= 5 + 2
    assert resources.budget.spent.tokens == 11 * len(provider.asked)


def test_a_budget_of_money_is_exceeded_by_the_calls_in_flight_at_most(provider: ChatProvider) -> None:
    resources = limited(usd=0.05)
    client = make("openai", provider, concurrency=2, price_input=1000.0, price_output=0.0)
    outcomes = dict(ask_all(client, [call(text) for text in questions(20)], resources))
    assert 5 <= len(provider.asked) <= 6
    assert resources.budget.spent.usd == pytest.approx(0.01 * len(provider.asked))
    assert "the budget of 0.05 USD is spent" in {outcome.reason for outcome in outcomes.values() if isinstance(outcome, CallFailure)}


def priced(provider: ChatProvider, **changes: Any) -> ChatClient:
    """A client whose calls cost 0.2 USD at most with their 10,000 tokens of an answer."""
    return make("openai", provider, price_input=0.0, price_output=20.0, **changes)


def test_a_hanging_server_spends_the_money_of_all_tries(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"hang": True}], True
    resources = limited(usd=0.5)
    client = priced(provider, timeout=0.5, retries=1, concurrency=8)
    outcomes = dict(ask_all(client, [call(text, max_tokens=10_000) for text in questions(12)], resources))
    # Two calls with two tries each are more than 0.5 USD.
    assert len(provider.asked) == 4
    spent = resources.budget.spent
    assert (spent.calls, spent.lost_tries) == (2, 4)
    assert spent.usd == spent.lost_usd == pytest.approx(0.8)
    assert Counter(outcome.kind for outcome in outcomes.values() if isinstance(outcome, CallFailure)) == {"timeout": 2, "budget": 10}


def test_tries_before_a_reply_count_too(provider: ChatProvider) -> None:
    provider.faults = [{"hang": True}, {}]
    resources = limited(usd=5)
    client = priced(provider, timeout=0.5, retries=1, concurrency=1)
    ((_, reply),) = ask_all(client, [call(max_tokens=10_000)], resources)
    assert isinstance(reply, Reply)
    assert (reply.lost.tries, reply.lost.output_tokens) == (1, 10_000)
    assert resources.budget.spent.usd == pytest.approx(0.2 + 20e-6)


@pytest.mark.parametrize(
    ("fault", "tokens"),
    [
        ({"status": 429}, None),
        ({"status": 500}, None),
        ({"status": 400}, None),
        ({"status": 504}, 64),
        ({"status": 524}, 64),
        ({"raw": b"<html>"}, 64),
        ({"raw": b'{"choices": []}'}, 64),
        ({"finish": "content_filter", "tokens": (7, 3)}, 3),
        ({"finish": "network_error", "tokens": (7, 3)}, 3),
        ({"finish": "content_filter", "tokens": None}, 64),
    ],
)
def test_a_failed_try_takes_what_the_server_says_else_the_most(provider: ChatProvider, fault: dict[str, Any], tokens: int | None) -> None:
    provider.faults, provider.lasting = [fault], True
    resources = limited(tokens=10**6)
    ((_, outcome),) = ask_all(make("openai", provider, retries=0), [call(max_tokens=64)], resources)
    assert isinstance(outcome, CallFailure)
    assert outcome.lost.output_tokens == (tokens or 0)
    assert outcome.lost.tries == (tokens is not None)
    assert resources.budget.spent.tokens == outcome.lost.input_tokens + outcome.lost.output_tokens


def test_a_server_that_is_not_there_costs_nothing() -> None:
    resources = limited(tokens=10**6)
    client = CLIENTS["openai"](kind="openai", model="words", base_url="http://127.0.0.1:9/v1", retries=0)
    list(ask_all(client, [call()], resources))
    assert (resources.budget.spent.tokens, resources.budget.spent.lost_tries) == (0, 0)


def test_many_calls_at_once_exceed_a_budget_by_one_call_at_most(provider: ChatProvider) -> None:
    provider.seconds = 0.02
    provider.reply_to = lambda _: {"tokens": (10, 10_000)}
    resources = limited(usd=1.5)
    client = priced(provider, retries=0, concurrency=64)
    outcomes = dict(ask_all(client, [call(text, max_tokens=10_000) for text in questions(100)], resources))
    assert resources.budget.spent.usd == pytest.approx(1.6)
    assert len(provider.asked) == 8
    assert Counter(type(outcome) for outcome in outcomes.values()) == {Reply: 8, CallFailure: 92}


def test_calls_run_at_once_while_the_budget_is_large(provider: ChatProvider) -> None:
    provider.seconds = 0.05
    list(ask_all(priced(provider, concurrency=6), [call(text) for text in questions(24)], limited(usd=1)))
    assert provider.most_at_once == 6


def test_uncounted_tokens_are_estimated_generously(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"tokens": None}], True
    resources = limited(tokens=10**6)
    list(ask_all(make("ollama", provider), [call("word " * 100)], resources))
    assert 120 <= resources.budget.spent.tokens <= 300


@pytest.mark.parametrize("tokens", [(0, 0), (0, 10_000), (10, 0), (-5, -5), ("10", "10"), (float("nan"), 1.5)])
def test_a_server_that_does_not_count_ends_no_later(provider: ChatProvider, tokens: tuple[Any, Any]) -> None:
    provider.reply_to = lambda _: {"tokens": tokens, "text": "yes " * 4_000}
    resources = limited(usd=0.1)
    outcomes = dict(ask_all(priced(provider, retries=0), [call(text, max_tokens=10_000) for text in questions(12)], resources))
    assert len(provider.asked) == 1
    assert 0.1 < resources.budget.spent.usd <= 0.2
    (reply,) = [outcome for outcome in outcomes.values() if isinstance(outcome, Reply)]
    assert reply.input_tokens in (None, 10)
    assert reply.output_tokens in (None, 10_000)


@pytest.mark.parametrize(
    ("kind", "message", "usage", "written"),
    [
        # Servers that count reasoning only in the total.
        ("openai", {}, {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 815}, 805),
        ("openai", {}, {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, 5),
        ("openai", {}, {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": -1}, 5),
        # Servers that count nothing, and reasoning that is not in the text.
        ("openai", {"reasoning_content": "Hm."}, {}, 1000),
        ("ollama", {"thinking": "Hm."}, {}, 1000),
        ("anthropic", {"thinking": "Hm."}, {}, 1000),
    ],
)
def test_tokens_of_reasoning_count(provider: ChatProvider, kind: str, message: dict[str, str], usage: dict[str, int], written: int) -> None:
    message = {"role": "assistant", "content": "yes", **message}
    blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "yes"}]
    form = {"choices": [{"message": message}], "message": message, "content": blocks, "done": True}
    provider.reply_to = lambda _: {"raw": json.dumps({"model": "words", "usage": usage, **form}).encode()}
    resources = limited(tokens=10**6)
    list(ask_all(make(kind, provider), [call("q", max_tokens=1000)], resources))
    read = 10 if usage else most_prompt_tokens(call("q"))
    assert resources.budget.spent.tokens == read + written


def test_a_server_that_writes_more_than_it_was_asked_for_exceeds_a_budget_once(provider: ChatProvider) -> None:
    provider.reply_to = lambda _: {"text": "yes " * 5_000, "tokens": (10, 10_000)}
    resources = limited(usd=5)
    list(ask_all(priced(provider, retries=0, concurrency=8), [call(text, max_tokens=100) for text in questions(60)], resources))
    # After the first replies, each of which costs 0.2 USD, one call waits for the others.
    assert len(provider.asked) == 25
    assert resources.budget.spent.usd == pytest.approx(5)


def test_all_tries_of_a_call_that_is_cut_off_count(provider: ChatProvider) -> None:
    def fault(body: dict[str, Any]) -> dict[str, Any]:
        tried = sum("question 0" in str(each) for each in provider.asked)
        if "question 1" in str(body):
            while sum("question 0" in str(each) for each in provider.asked) < 3:
                assert not provider.closing.wait(0.01)
            return {"status": 401}
        return {"hang": True} if tried == 3 else {"raw": b"", "status": 504}

    provider.reply_to = fault
    resources = limited(usd=100)
    with pytest.raises(ModelError, match="refused the key"):
        list(ask_all(priced(provider, retries=9, concurrency=2), [call(text, max_tokens=10_000) for text in questions(2)], resources))
    assert (resources.budget.spent.calls, resources.budget.spent.lost_tries) == (2, 3)
    assert resources.budget.spent.usd == pytest.approx(0.6)


def test_calls_that_the_end_of_a_session_cuts_off_count(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: {"status": 401} if "question 7" in str(body) else {"hang": True}
    resources = limited(usd=100)
    with pytest.raises(ModelError, match="refused the key"):
        list(ask_all(priced(provider, concurrency=8), [call(text, max_tokens=10_000) for text in questions(8)], resources))
    spent = resources.budget.spent
    assert (spent.calls, spent.lost_tries) == (8, 7)
    assert spent.usd == spent.lost_usd == pytest.approx(1.4)


@pytest.mark.parametrize("price", [float("inf"), float("nan"), -1.0])
def test_a_price_is_a_number(provider: ChatProvider, price: float) -> None:
    with pytest.raises(InputError, match="price_input"):
        make("openai", provider, price_input=price, price_output=1.0)


def test_a_budget_of_money_needs_prices_of_a_server_elsewhere(provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-no-one")
    client = make("openai", provider, base_url="https://llm.example/v1")
    with pytest.raises(InputError, match=r"needs the prices of answering 'openai': words at \S+; set answering.price_input"):
        list(ask_all(client, [call()], limited(usd=1)))


def test_two_sessions_with_a_cache_make_no_call_twice(provider: ChatProvider, cache: CallCache) -> None:
    provider.seconds = 0.02
    client, calls = make("ollama", provider, concurrency=4), [call(text) for text in questions(40)]
    outcomes: list[dict[int, Reply | CallFailure]] = []
    threads = [threading.Thread(target=lambda: outcomes.append(dict(ask_all(client, calls, CallResources(cache))))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(found) for found in outcomes] == [40, 40]
    assert all(isinstance(outcome, Reply) for found in outcomes for outcome in found.values())
    assert max(Counter(provider.prompts()).values()) == 1


class OddClient(ChatClient):
    """A client of another package, whose replies contain what no table can."""

    kind: Literal["odd"] = "odd"

    @property
    def label(self) -> str:
        return "odd"

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind}

    async def ask(self, call: ChatCall) -> Reply | CallFailure:
        prompt = call.messages[-1].content
        if prompt == "fail":
            return CallFailure("down \udc00", "reply")
        return Reply(f"half {prompt}", model="m\ud800", input_tokens=10**30, output_tokens=-1)


def test_a_reply_that_no_table_can_contain_fails_alone(tmp_path: Path) -> None:
    calls = [ChatCall([Message("user", prompt)], 5) for prompt in ("\ud800", "fail", "whole")]
    for _ in range(2):
        found = dict(ask_all(OddClient(), calls, CallResources(CallCache(tmp_path / "calls.sqlite"))))
        assert [found[place].reason for place in (0, 1)] == [
            "the answer contains half of a surrogate pair, which is no text",
            r"down \udc00",
        ]
        assert (found[0].lost.tries, found[0].lost.output_tokens) == (1, 3)
        assert (found[2].text, found[2].model, found[2].input_tokens, found[2].output_tokens) == ("half whole", r"m\ud800", None, None)
