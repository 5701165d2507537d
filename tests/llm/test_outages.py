"""A server that is down is noticed, and calls go on when it is back."""

from collections import Counter

from tests.chat_provider import ChatProvider
from tests.loopback import closed_port
from workbench.llm.base import CallFailure, Reply
from workbench.llm.session import CallResources, Outage, ask_all

from .conftest import call, make


def test_after_twenty_failed_calls_in_a_row_no_further_call_waits_for_retries(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"status": 500}], True
    resources, client = CallResources(), make("openai", provider, concurrency=4, retries=0)
    outcomes = dict(ask_all(client, [call(f"question {number}") for number in range(100)], resources))
    assert 20 <= len(provider.asked) <= 23
    reasons = Counter(outcome.reason for outcome in outcomes.values() if isinstance(outcome, CallFailure))
    (failed, first), (skipped, second) = sorted(((reason, times) for reason, times in reasons.items()), key=lambda item: item[1])
    assert first == len(provider.asked)
    assert skipped == f"not asked because the calls before it failed: {failed}"
    assert second == 100 - first
    # The next session tries again, with the calls that start at once.
    asked = len(provider.asked)
    dict(ask_all(client, [call(f"other {number}") for number in range(100)], resources))
    assert 1 <= len(provider.asked) - asked <= 4
    provider.faults = []
    outcomes = dict(ask_all(client, [call(f"more {number}") for number in range(30)], resources))
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())


def test_the_outage_of_a_server_is_not_that_of_another(provider: ChatProvider) -> None:
    resources = CallResources()
    calls = [call(f"question {number}") for number in range(40)]
    down = make("openai", provider, base_url=f"http://127.0.0.1:{closed_port()}/v1", retries=0)
    assert all(isinstance(outcome, CallFailure) for _, outcome in ask_all(down, calls, resources))
    assert all(isinstance(outcome, Reply) for _, outcome in ask_all(make("openai", provider, retries=0), calls, resources))


def test_a_server_that_answers_now_and_then_is_not_down(provider: ChatProvider) -> None:
    provider.reply_to = lambda _: {"status": 500} if len(provider.asked) % 15 else {}
    outcomes = dict(
        ask_all(make("openai", provider, concurrency=1, retries=0), [call(f"question {n}") for n in range(60)], CallResources())
    )
    assert len(provider.asked) == 60
    assert sum(isinstance(outcome, Reply) for outcome in outcomes.values()) == 4


def test_only_failures_of_the_server_count() -> None:
    outage = Outage.of(concurrency=1)
    for _ in range(100):
        outage.note(CallFailure("the reply is HTML", "reply"))
    assert outage.failure() is None
    # Many calls at once may fail together in a short outage.
    assert Outage.of(concurrency=64).limit == 192
