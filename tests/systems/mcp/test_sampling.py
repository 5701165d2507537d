"""A server that asks its client for texts gets them from the configured model, and a failure of the model is never scored as an answer."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.chat_provider import ChatProvider
from tests.loopback import closed_port
from tests.systems.mcp.conftest import during, notes, strange
from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.core.errors import RunError
from workbench.core.records import Answer, Document, LostTries, Query, SampledCall, Variant
from workbench.core.storage.call_cache import CallCache
from workbench.llm.session import CallBudget, CallLimits, CallResources
from workbench.runner.pipeline.configuration import TargetGenerator
from workbench.systems.asking import TargetRequest, ask_target
from workbench.systems.base import System, TargetDownError, TargetError, TargetResources
from workbench.systems.mcp.target import McpTarget

DOCUMENTS = [Document("cats", "Cats purr when content.", title="Cats"), Document("dogs", "Dogs bark at strangers.", title="Dogs")]
CATS = Query("q1", "why do cats purr")


def model(provider: ChatProvider, **settings: Any) -> dict[str, Any]:
    prices = {"price_input": 1.0, "price_output": 2.0}
    return {"kind": "chat", "provider": "openai", "model": "m", "base_url": f"{provider.host}/v1", "retries": 0, **prices, **settings}


def answering(tool: str, **settings: Any) -> McpTarget:
    """The strange server, asked for answers by a tool of it."""
    return strange(answer={"tool": tool, "arguments": {"query": "{query}"}, "reply": {"text": "$.answer"}}, **settings)


async def answer_cats(session: System) -> Answer:
    await session.ingest(DOCUMENTS)
    return await session.answer(CATS)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", [pytest.param("stdio", marks=pytest.mark.slow), "http"])
def test_an_answer_is_written_by_the_configured_model(transport: str, mode: str, notes_url: str, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: {"text": "Because they are content.", "tokens": (100, 10)}
    where = {"url": notes_url} if transport == "http" else {}
    answer = during(notes(sampling=model(provider), mode=mode, **where), answer_cats)
    assert answer.text == "Because they are content."
    assert [source.doc_id for source in answer.sources or ()] == ["cats"]
    ((prompt, reply),) = [(sample.prompt, sample.reply) for sample in answer.samples]
    assert prompt.startswith("Answer the question from the notes alone")
    assert "[cats] Cats\nCats purr when content." in prompt
    assert reply == answer.text
    assert (answer.input_tokens, answer.output_tokens, answer.cost) == (100, 10, pytest.approx(120e-6))
    assert (answer.model, answer.cached) == ("m", False)
    (asked,) = provider.asked
    assert (asked["max_tokens"] if "max_tokens" in asked else asked["max_completion_tokens"], asked["temperature"]) == (300, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_answers_at_the_same_time_keep_their_texts_apart(mode: str, provider: ChatProvider) -> None:
    provider.seconds = 0.05
    provider.reply_to = lambda body: {"text": body["messages"][-1]["content"].replace("first", "so").replace("second", "thus")}
    queries = [Query(f"q{number}", f"question {number}") for number in range(8)]

    async def work(session: System) -> list[Answer]:
        return await asyncio.gather(*(session.answer(query) for query in queries))

    for query, answer in zip(queries, during(answering("answer_in_two_steps", sampling=model(provider), mode=mode), work), strict=True):
        one = SampledCall(f"first {query.text}", f"so {query.text}")
        two = SampledCall(f"second {query.text} so {query.text}", f"thus {query.text} so {query.text}")
        assert (answer.text, answer.samples) == (two.reply, (one, two))
        assert (answer.input_tokens, answer.output_tokens) == (20, 2)


def test_a_text_that_was_written_before_comes_from_the_cache(notes_url: str, provider: ChatProvider, tmp_path: Path) -> None:
    resources = CallResources(CallCache(tmp_path / "calls"))
    first, second = (during(notes(url=notes_url, sampling=model(provider)), answer_cats, resources) for _ in range(2))
    assert (first.text, first.cached, second.text, second.cached) == ("yes", False, "yes", True)
    assert len(provider.asked) == 1


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_a_failure_of_the_model_fails_the_question_whatever_the_server_makes_of_it(strange_url: str, provider: ChatProvider) -> None:
    provider.faults_of = {"bad": {"status": 400, "message": "no such word"}}

    async def work(session: System) -> str:
        with pytest.raises(TargetError, match=r"^the model of sampling: .*no such word") as raised:
            await session.answer(Query("q1", "bad"))
        assert not isinstance(raised.value, TargetDownError)
        return (await session.answer(Query("q2", "good"))).text

    for tool, mode in (("answer_in_the_old_way", "legacy"), ("answer_in_two_steps", "auto")):
        assert during(answering(tool, url=strange_url, sampling=model(provider), mode=mode), work) == "yes"


def test_the_server_does_not_learn_why_the_model_failed(provider: ChatProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPORT", str(tmp_path / "report"))
    sampling = {**model(provider), "base_url": f"http://127.0.0.1:{closed_port()}/v1"}
    target = answering("answer_in_the_old_way", sampling=sampling, mode="legacy", env=["REPORT"])
    with pytest.raises(TargetError, match=r"^the model of sampling: answering 'openai': m at http"):
        during(target, lambda session: session.answer(CATS))
    assert (tmp_path / "report").read_text() == "the client could not write a text"


def test_more_texts_than_the_budget_allows_fail_their_question(strange_url: str, provider: ChatProvider) -> None:
    resources = CallResources(budget=CallBudget(CallLimits(calls=3)))

    async def work(session: System) -> Answer:
        answer = await session.answer(Query("q1", "one"))
        with pytest.raises(TargetError, match="the budget of 3 calls is spent"):
            await session.answer(Query("q2", "two"))
        return answer

    assert len(during(answering("answer_in_two_steps", url=strange_url, sampling=model(provider)), work, resources).samples) == 2
    assert len(provider.asked) == 3


def test_a_server_gets_only_so_many_texts_for_a_question(strange_url: str, provider: ChatProvider) -> None:
    reason = re.escape("the server asked for more than 1 text (sampling.most_calls)")
    target = answering("answer_in_two_steps", url=strange_url, sampling=model(provider, most_calls=1))
    with pytest.raises(TargetError, match=reason):
        during(target, lambda session: session.answer(CATS))


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_a_server_that_asks_again_and_again_fails_with_the_limit_and_not_with_the_time(
    strange_url: str, provider: ChatProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.systems.mcp.session._PATIENCE", 0.1)
    reason = "the server asked for more than 2 texts (sampling.most_calls)"
    target = answering("answer_after_asking_for_ever", url=strange_url, sampling=model(provider, most_calls=2), mode="legacy")
    with pytest.raises(TargetError, match=f"^{re.escape(reason)}$"):
        during(target, lambda session: session.answer(CATS))
    assert len(provider.asked) == 2
    monkeypatch.setattr("workbench.systems.mcp.session._PATIENCE", 60)
    requests = [TargetRequest("answer", CATS)]
    with pytest.raises(RunError, match=re.escape(f"no reply in 2 seconds; {reason};")):
        list(ask_target(target.model_copy(update={"timeout": 2}), requests, TargetResources(CallResources())))


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_a_prompt_that_is_too_long_is_not_sent(strange_url: str, provider: ChatProvider) -> None:
    target = answering("answer_in_the_old_way", url=strange_url, sampling=model(provider, most_characters=1000), mode="legacy")
    reason = re.escape("the server asked for a text with a prompt of 2,000 characters, more than 1,000 (sampling.most_characters)")
    with pytest.raises(TargetError, match=f"^{reason}$"):
        during(target, lambda session: session.answer(Query("q", "x" * 2_000)))
    assert provider.asked == []


def test_a_wrong_key_ends_everything(notes_url: str, provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"status": 401, "message": "bad key"}], True
    with pytest.raises(TargetDownError, match="the model of sampling: "):
        during(notes(url=notes_url, sampling=model(provider)), answer_cats)


def test_an_answer_that_is_missing_says_whether_the_server_asked_for_a_text(strange_url: str, provider: ChatProvider) -> None:
    with pytest.raises(TargetError, match=r"^\$\.answer of the reply is null, not a text, and the server asked for no text"):
        during(answering("answer_nothing", url=strange_url, sampling=model(provider)), lambda session: session.answer(CATS))
    with pytest.raises(TargetError, match=r"^\$\.answer of the reply is null, not a text$"):
        during(answering("answer_nothing", url=strange_url), lambda session: session.answer(CATS))


def test_settings_of_the_model_limit_what_the_server_asks_for(notes_url: str, provider: ChatProvider) -> None:
    during(notes(url=notes_url, sampling=model(provider, max_tokens=7, temperature=0.5)), answer_cats)
    (asked,) = provider.asked
    assert 7 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))
    assert asked["temperature"] == 0.5


def test_a_model_in_a_file_writes_answers(notes_url: str, gguf: Path) -> None:
    sampling = {"kind": "local", "path": str(gguf), "context_window": 1024, "max_tokens": 8, "temperature": 0.0}
    answer = during(notes(url=notes_url, sampling=sampling), answer_cats)
    assert answer.text == answer.samples[0].reply
    assert answer.input_tokens > 20
    assert answer.model == gguf.name


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
@pytest.mark.parametrize(("mode", "tool"), [("auto", "answer_in_two_steps"), ("legacy", "answer_in_the_old_way")])
def test_a_text_of_a_request_that_has_ended_is_not_tried_again(mode: str, tool: str, strange_url: str, provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"hang": True}], True
    sampling = model(provider, retries=9, timeout=1)
    target = answering(tool, url=strange_url, sampling=sampling, mode=mode, timeout=0.5)
    resources = CallResources(budget=CallBudget(CallLimits(usd=1)))
    with pytest.raises(RunError, match=re.escape("no reply in 0.5 seconds")):
        list(ask_target(target, [TargetRequest("answer", CATS)], TargetResources(resources)))
    assert len(provider.asked) == 1
    assert (resources.budget.spent.calls, resources.budget.spent.lost_tries) == (1, 1)


def test_a_text_is_written_during_a_request_only(provider: ChatProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPORT", str(tmp_path / "report"))
    target = answering("answer_and_ask_later", sampling=model(provider), mode="legacy", env=["REPORT"])

    async def work(session: System) -> str:
        answer = await session.answer(CATS)
        async with asyncio.timeout(30):
            while not (tmp_path / "report").exists():
                await asyncio.sleep(0.05)
        return answer.text

    assert during(target, work) == "yes"
    assert (tmp_path / "report").read_text() == "the client could not write a text"
    assert provider.asked == []


def test_tries_without_a_text_are_those_of_the_answer(strange_url: str, provider: ChatProvider) -> None:
    provider.faults = [{"finish": "network_error", "tokens": (7, 3)}]
    target = answering("answer_in_two_steps", url=strange_url, sampling=model(provider, retries=1))
    resources = AnswerResources(MemoryVectorCache(), CallResources())
    ((_, answer),) = TargetGenerator(target=target).answer([AnswerRequest(CATS, (), Variant())], resources)
    assert answer.lost == LostTries(1, 7, 3, pytest.approx(13e-6))
