"""The answers of a notes server, written by the client's model, and verdicts about them. A verdict that cannot be read is unscored."""

import asyncio

import pytest

from tests.chat_provider import ChatProvider
from tests.rag_evaluation.conftest import NfcorpusTestData
from tests.rag_evaluation.evaluation_model import EvaluationModel, configured, verdict
from workbench.llm.registry import client_of

PROMPT = """Reference answer: {reference}

Answer: {answer}

Question: {question}

Does the answer say the same as the reference answer? Reply with the single word TRUE or FALSE."""


def test_a_verdict_is_a_word_alone() -> None:
    verdicts = {
        "TRUE": True,
        "TRUE.": True,
        "true\n": True,
        "**True**": True,
        "FALSE": False,
        "False.": False,
        "UNTRUE": None,
        "NOT TRUE": None,
        "TRUE or FALSE": None,
        "The answer is TRUE.": None,
        "TRUEFALSE": None,
        "": None,
    }
    assert {reply: verdict(reply) for reply in verdicts} == verdicts


def test_the_model_of_the_environment_is_asked(provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "openai")
    monkeypatch.setenv("RAG_EVAL_OPENAI_MODEL", "m")
    monkeypatch.setenv("RAG_EVAL_OPENAI_BASE_URL", f"{provider.host}/v1")
    provider.reply_to = lambda body: {"text": "TRUE." if body["messages"][-1]["content"] == "2 + 2 = 4?" else "UNTRUE"}
    found = configured(None)
    assert found is not None
    settings, client = found
    assert settings == {"kind": "chat", "provider": "openai"}
    model = EvaluationModel(client)
    assert verdict(asyncio.run(model.evaluate("2 + 2 = 4?"))) is True
    assert verdict(asyncio.run(model.evaluate("2 + 2 = 5?"))) is None


def test_a_call_that_fails_is_an_error_and_no_verdict(provider: ChatProvider) -> None:
    provider.faults = [{"status": 500, "message": "out of memory"}]
    client = client_of({"provider": "openai", "model": "m", "base_url": f"{provider.host}/v1", "retries": 0})
    with pytest.raises(RuntimeError, match="500"):
        asyncio.run(EvaluationModel(client).evaluate("2 + 2 = 4?"))


@pytest.mark.soak
def test_answers_are_written_from_the_notes_and_judged(evaluation_llm: EvaluationModel, nfcorpus_test_data: NfcorpusTestData) -> None:
    verdicts, replies = [], []
    for case in nfcorpus_test_data.cases:
        answer = nfcorpus_test_data.client.answer(case.query)
        sources = [str(source.doc_id) for source in answer.sources or ()]
        assert answer.text.strip()
        assert len(sources) == 5
        ((prompt, reply),) = [(sample.prompt, sample.reply) for sample in answer.samples]
        assert reply == answer.text
        assert all(nfcorpus_test_data.documents[doc_id].text in prompt for doc_id in sources)
        asked = PROMPT.format(reference=case.answer, answer=answer.text, question=case.query.text)
        replies.append(asyncio.run(evaluation_llm.evaluate(asked)))
        verdicts.append(verdict(replies[-1]))
        print(f"{case.query.query_id}: {verdicts[-1]}  {answer.text[:100]}")
    scored = [each for each in verdicts if each is not None]
    print(f"correct: {sum(scored)} of {len(scored)}; unscored: {len(verdicts) - len(scored)}")
    # A small model may give no verdict at all, but it replies.
    assert all(reply.strip() for reply in replies)
    assert len(verdicts) == len(nfcorpus_test_data.cases) > 1
