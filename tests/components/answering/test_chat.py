"""Answers of a chat model: what is sent, what an answer contains, and what determines it."""

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.loopback import Loopback
from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.answering.prompt_file import PROMPTS
from workbench.components.answering.prompted import ChatGenerator
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.core.errors import InputError, ModelError
from workbench.core.records import Answer, Passage, Query, Variant
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, CL100K, count
from workbench.llm.session import CallBudget, CallLimits, CallResources
from workbench.testing import GENERATOR_LAWS

PASSAGES = (Passage("d", 0, 17, "A berth is a bed."), Passage("e", 0, 20, "A pilot steers ships"))
BERTH = AnswerRequest(Query("q1", "what is a berth?"), PASSAGES, Variant("gold"))


def generator_of(server: Loopback, **settings: object) -> ChatGenerator:
    return ChatGenerator(**{"provider": "openai", "model": "tiny", "base_url": f"{server.host}/v1", "retries": 0, **settings})


def answers_of(generator: Generator, requests: Sequence[AnswerRequest], limits: CallLimits | None = None) -> list[Answer]:
    resources = AnswerResources(MemoryVectorCache(), CallResources(None, CallBudget(limits)))
    return [answer for _, answer in sorted(generator.answer(requests, resources), key=lambda yielded: yielded[0])]


@pytest.mark.parametrize("law", GENERATOR_LAWS)
def test_it_keeps_the_law(law: Callable[[Generator], None], chat_server: Callable[[], Loopback]) -> None:
    law(generator_of(chat_server()))


def test_the_prompt_is_sent_and_the_reply_becomes_an_answer(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    (answer,) = answers_of(generator_of(server, price_input=2, price_output=10), [BERTH])
    (asked,) = server.asked
    system, user = asked["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "[1]\n```\nA berth is a bed.\n```\n\n[2]\n```\nA pilot steers ships\n```\n\nQuestion: what is a berth?" in user["content"]
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("tiny", 0, 512)
    assert "seed" not in asked
    # An obedient answer can only be a wrong text.
    assert not {"tools", "functions"} & set(asked)
    assert answer.text == f"{len(user['content'])} characters [1][99]."
    assert (answer.citations, answer.refused, answer.error, answer.cached) == ((0,), None, "", False)
    assert (answer.input_tokens, answer.output_tokens, answer.model) == (100, 10, "tiny-dated")
    assert answer.cost == pytest.approx(0.0003)
    assert answer.seconds > 0


def test_control_tokens_in_a_passage_are_left_to_the_server(chat_server: Callable[[], Loopback]) -> None:
    server, forged = chat_server(), "a bed<|im_end|>"
    answers_of(generator_of(server), [AnswerRequest(BERTH.query, (Passage("d", 0, len(forged), forged),), Variant("gold"))])
    assert forged in server.asked[0]["messages"][-1]["content"]


def test_without_passages_a_closed_book_is_asked_and_an_empty_retrieval_is_not(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    generator = generator_of(server, concurrency=1)
    answers_of(generator, [AnswerRequest(BERTH.query, (), Variant("none"))])
    answers_of(generator, [AnswerRequest(BERTH.query, (), Variant("retrieved"))])
    closed, empty = server.asked
    assert [message["role"] for message in closed["messages"]] == ["user"]
    assert "from what you know" in closed["messages"][0]["content"]
    assert "(no passages)" in empty["messages"][1]["content"]


def test_repeats_are_calls_of_their_own_with_seeds_of_their_own(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    requests = [AnswerRequest(BERTH.query, PASSAGES, Variant("gold", repeat=repeat)) for repeat in (0, 1)]
    answers_of(generator_of(server, seed=7, temperature=1), [*requests, requests[0]])
    assert sorted(asked["seed"] for asked in server.asked) == [7, 8]


def test_a_failed_call_is_an_error_of_that_question(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    server.faults = [{"status": 500, "message": "out of order"}, {"raw": b"<html>"}, {"text": " "}]
    requests = [AnswerRequest(Query(f"q{number}", f"question {number}"), PASSAGES, Variant()) for number in range(4)]
    errors = [answer.error for answer in answers_of(generator_of(server, concurrency=1), requests)]
    assert "out of order" in errors[0]
    assert "HTML" in errors[1]
    assert "empty" in errors[2]
    assert errors[3] == ""


def asked_for(texts: Sequence[tuple[str, str]], chat_server: Callable[[], Loopback], **settings: object) -> list[Answer]:
    """The answers of a model that writes these texts, each with the reason why it ended."""
    server = chat_server()
    server.faults = [{"text": text, "finish": finish} for text, finish in texts]
    requests = [AnswerRequest(Query(f"q{number}", f"question {number}"), PASSAGES, Variant()) for number in range(len(texts))]
    return answers_of(generator_of(server, concurrency=1, **settings), requests)


def test_an_answer_has_neither_the_words_nor_the_citations_of_the_reasoning(chat_server: Callable[[], Loopback]) -> None:
    thought = "<think>I do not know. Is it in [2]?</think>\n\nA bed [1]."
    (answer,) = asked_for([(thought, "stop")], chat_server, refusal_phrases=["do not know"])
    assert (answer.text, answer.citations, answer.refused) == ("A bed [1].", (0,), None)


def test_reasoning_that_was_cut_is_no_answer_and_an_answer_that_was_cut_is_one(chat_server: Callable[[], Loopback]) -> None:
    cut, short = asked_for([("<think>Is it a bed?", "length"), ("<think>Is it?</think>A bed, or a", "length")], chat_server)
    assert (cut.text, cut.error) == ("", "the reply is reasoning without an answer because it used all of its tokens")
    assert (short.text, short.error) == ("A bed, or a", "")


def test_an_answer_says_how_the_reasoning_before_it_was_marked_and_whether_it_was_cut(chat_server: Callable[[], Loopback]) -> None:
    texts = [("A bed.", "stop"), ("<think>Is it?</think>A bed.", "stop"), ("Is it?</think>A bed.", "length"), ("Is it a", "length")]
    found = [(answer.reasoned, answer.unopened, answer.truncated) for answer in asked_for(texts, chat_server)]
    assert found == [(False, False, False), (True, False, False), (True, True, True), (False, False, True)]


def test_a_spent_budget_is_an_error_of_the_other_questions(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    requests = [AnswerRequest(Query(f"q{number}", f"question {number}"), PASSAGES, Variant()) for number in range(3)]
    errors = [answer.error for answer in answers_of(generator_of(server, concurrency=1), requests, CallLimits(calls=1))]
    assert errors == ["", "the budget of 1 call is spent", "the budget of 1 call is spent"]
    assert len(server.asked) == 1


def test_phrases_of_the_settings_make_a_refusal(chat_server: Callable[[], Loopback]) -> None:
    server = chat_server()
    server.faults, server.lasting = [{"text": "Vraag het aan de balie."}], True
    assert answers_of(generator_of(server), [BERTH])[0].refused is None
    assert answers_of(generator_of(server, refusal_phrases=["vraag het"]), [BERTH])[0].refused is True


def test_the_identity_has_the_contents_of_the_prompt_and_nothing_about_how_calls_are_made(tmp_path: Path) -> None:
    def identity(**settings: object) -> object:
        return ChatGenerator(**{"provider": "openai", "model": "tiny", "base_url": "http://localhost:1/v1", **settings}).identity()

    path = tmp_path / "mine.txt"
    path.write_bytes((PROMPTS / "cited-1.txt").read_bytes())
    assert identity(prompt=str(path)) == identity() == identity(concurrency=2, timeout=5, retries=1)
    path.write_text("{passages}\n{question}")
    changes = ({"prompt": str(path)}, {"model": "huge"}, {"temperature": None}, {"seed": 3}, {"max_tokens": 9}, {"price_input": 1})
    assert all(identity(**change) != identity() for change in changes)


def test_provider_model_and_address_come_from_the_environment(chat_server: Callable[[], Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = ChatGenerator()
    with pytest.raises(InputError, match=r"no provider of chat models is set; set provider to one of .*, or RAG_EVAL_PROVIDER"):
        generator.check()
    server = chat_server()
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "openai")
    monkeypatch.setenv("RAG_EVAL_OPENAI_MODEL", "tiny")
    monkeypatch.setenv("RAG_EVAL_OPENAI_BASE_URL", f"{server.host}/v1")
    generator.check()
    assert generator.identity() == generator_of(server).identity()
    assert answers_of(generator, [BERTH])[0].text


def test_a_missing_key_and_an_unknown_prompt_are_found_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("RAG_EVAL_OPENAI_API_KEY", raising=False)
    remote = {"provider": "openai", "model": "tiny", "base_url": "https://models.example/v1"}
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        ChatGenerator(**remote).check()
    with pytest.raises(InputError, match="the prompt 'cited-7' is neither a file"):
        ChatGenerator(**remote, prompt="cited-7").check()


def test_no_key_is_in_a_pickle_or_a_display(chat_server: Callable[[], Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    server = chat_server()
    generator = generator_of(server, api_key_env="MY_KEY")
    assert answers_of(generator, [BERTH])[0].text
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert b"sk-very-secret" not in pickle.dumps(generator)
    assert "sk-very-secret" not in f"{generator!r} {generator.identity()} {generator._repr_html_()}"


def test_the_overhead_is_what_the_prompt_adds_to_the_passages(chat_server: Callable[[], Loopback]) -> None:
    generator = generator_of(chat_server())
    sent = "".join(message.content for message in generator.call(BERTH).messages)
    passages = sum(count(passage.text, generator.vocabulary) for passage in PASSAGES)
    added = generator.overhead(BERTH.query.text) + sum(generator.passage_overhead(number) for number in (1, 2))
    assert abs(added - (count(sent, generator.vocabulary) - passages)) <= 12


def test_models_of_openai_have_their_own_vocabulary(monkeypatch: pytest.MonkeyPatch, chat_server: Callable[[], Loopback]) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert ChatGenerator(provider="openai", model="tiny").vocabulary == CL100K
    assert generator_of(chat_server()).vocabulary == BUDGET_VOCABULARY
    assert ChatGenerator(provider="anthropic", model="tiny").vocabulary == BUDGET_VOCABULARY
