"""Calls of clients to a server on the loopback interface that plays any provider."""

from typing import Any

from tests.chat_provider import ChatProvider
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.providers.served import ServedClient
from workbench.llm.registry import CLIENTS
from workbench.llm.session import CallResources, ask_all

SERVED = sorted(kind for kind, client in CLIENTS.items() if issubclass(client, ServedClient))
KEY = "sk-very-secret-key"


def make(kind: str, provider: ChatProvider, **settings: Any) -> ServedClient:
    base = provider.host + ("/v1" if kind == "openai" else "")
    usual = {"model": "words", "base_url": base, "retries": 1, "timeout": 5}
    client = CLIENTS[kind](kind=kind, **(usual | settings))
    assert isinstance(client, ServedClient)
    return client


def call(text: str = "is it so?", **settings: Any) -> ChatCall:
    return ChatCall([Message("system", "Answer yes or no."), Message("user", text)], **({"max_tokens": 64} | settings))


def asked(client: ServedClient, request: ChatCall | None = None) -> Reply | CallFailure:
    """The outcome of one call."""
    ((_, outcome),) = ask_all(client, [request or call()], CallResources())
    return outcome


def reply(client: ServedClient, request: ChatCall | None = None) -> Reply:
    outcome = asked(client, request)
    assert isinstance(outcome, Reply), outcome
    return outcome


def failure(client: ServedClient, request: ChatCall | None = None) -> CallFailure:
    outcome = asked(client, request)
    assert isinstance(outcome, CallFailure), outcome
    return outcome
