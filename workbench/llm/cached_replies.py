"""Keys of calls, and replies as JSON values of the cache of calls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.core.fingerprint import fingerprint
from workbench.llm.base import ChatCall, Reply
from workbench.llm.client import ChatClient

# Raise it when the values change.
_LAYOUT = 1
_FIELDS = ("text", "finish_reason", "model", "input_tokens", "output_tokens", "logprobs", "dropped", "seconds")


def call_key(identity: Mapping[str, Any], call: ChatCall) -> str:
    """Return the key of a call to a client with this identity: a hash of provider, model, messages, parameters and repeat."""
    messages = [(message.role, message.content) for message in call.messages]
    parameters = [call.max_tokens, call.temperature, call.seed, call.schema, call.top_logprobs, call.repeat]
    return fingerprint(_LAYOUT, identity, messages, parameters)


def value_of(reply: Reply) -> dict[str, Any]:
    """Return a reply as a JSON value, without its cost, since prices are settings of the client."""
    return {name: getattr(reply, name) for name in _FIELDS}


def reply_of(value: Mapping[str, Any], client: ChatClient) -> Reply:
    """Return a cached reply with its cost at the client's prices."""
    reply = Reply(**{**value, "dropped": tuple(value["dropped"])}, cached=True)
    return replace(reply, cost=client.cost(reply.input_tokens, reply.output_tokens))
