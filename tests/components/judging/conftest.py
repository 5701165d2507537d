"""Judges on a server of the loopback interface that plays any provider."""

from collections.abc import Sequence
from typing import Any

from tests.chat_provider import ChatProvider
from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.base import Judge, Judgement, JudgeRequest
from workbench.components.judging.prompted import ChatJudge
from workbench.core.records import Passage
from workbench.llm.session import CallBudget, CallLimits, CallResources

TEXTS = ("The office opens in May,\nand closes in October.", "A visit costs 3,000 crowns.")
PASSAGES = tuple(Passage(f"d{number}", 0, len(text), text) for number, text in enumerate(TEXTS))


def settings_of(provider: ChatProvider, kind: str) -> dict[str, Any]:
    base = provider.host + ("/v1" if kind == "openai" else "")
    return {"provider": kind, "model": "words", "base_url": base, "retries": 0, "concurrency": 1}


def judge_of(provider: ChatProvider, kind: str = "openai", **settings: Any) -> ChatJudge:
    return ChatJudge(**(settings_of(provider, kind) | settings))


def support(claim: str, answer: str = "It opens in May. It is free.", passages: Sequence[Passage] = PASSAGES) -> JudgeRequest:
    return JudgeRequest("support", "When does the office open?", answer, claim, passages)


def resources(limits: CallLimits | None = None) -> AnswerResources:
    return AnswerResources(MemoryVectorCache(), CallResources(None, CallBudget(limits)))


def judged(judge: Judge, requests: Sequence[JudgeRequest], limits: CallLimits | None = None) -> list[Judgement]:
    """The judgements in the order of the requests, each of which must have one."""
    found = dict(judge.judge(requests, resources(limits)))
    assert sorted(found) == list(range(len(requests)))
    return [found[place] for place in range(len(requests))]
