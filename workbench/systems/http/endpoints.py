"""The requests that a service takes, as settings: operations, each with an address, a body and headers, and presets of common services."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from workbench.core.errors import InputError
from workbench.core.text.printable import printable, secrets_in
from workbench.systems.contents import FINISHES, HIT_PATHS
from workbench.systems.operations import (
    DOCUMENT_SLOTS,
    AnswerOperation,
    DocumentsOperation,
    IngestOperation,
    Operation,
    ReadyOperation,
    RemoveOperation,
    SearchOperation,
    check_slots,
)
from workbench.systems.replies import Paths, PathSettings

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_NAME = re.compile(r"(^|[-_])(api-?key|key|token|secret|password|auth|authorization|cookie|credentials?)$", re.IGNORECASE)
# Their values belong to the connection.
_OWN = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "content-type")


@dataclass(frozen=True, repr=False)
class RequestHeaders:
    """The headers of a request, and the secrets in them, which no error may repeat."""

    values: Mapping[str, str]
    secrets: tuple[str, ...]


def check_address(url: str, what: str) -> None:
    """Raise ValueError for what is no plain address of HTTP, without repeating a password."""
    # A slot is filled with percent-encoded text.
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(f"{what} is not an address such as http://localhost:8000/query") from None
    if "@" in parts.netloc or printable(url) != url:
        raise ValueError(f"{what} contains a user, a password or a key; put it into a header by headers_env")
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", url):
        raise ValueError(f"{what} {url!r} is not an address such as http://localhost:8000/query")
    if "{" in parts.netloc:
        raise ValueError(f"{what} {url!r} has a slot in the name of the server")


def is_secret_name(name: str) -> bool:
    """Return True if a header or parameter of this name usually has a secret."""
    return bool(_SECRET_NAME.search(name))


def has_secret(name: str, value: object) -> bool:
    """Return True if a setting of this name seems to have a secret as its value, which no words and slots are."""
    return is_secret_name(name) and isinstance(value, str) and "{" not in value and bool(secrets_in(value))


def check_headers(headers: Mapping[str, str], from_environment: Mapping[str, str]) -> None:
    """Raise ValueError for headers that cannot be sent, or that have secrets in the experiment. No value is repeated."""
    for name in [*headers, *from_environment]:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header")
        if name.lower() in _OWN:
            raise ValueError(f"the header {name} is set by Workbench")
    for name, value in headers.items():
        if not _sendable(value):
            raise ValueError(f"the header {name} has characters that cannot be sent")
        if is_secret_name(name) or printable(f"{name}: {value}") != f"{name}: {value}":
            raise ValueError(f"the header {name} has a secret; name an environment variable with it in headers_env.{name}")
    for name, source in from_environment.items():
        if not _variables(source):
            raise ValueError(
                f"headers_env.{name} names no environment variable, as in MY_KEY or 'Bearer {{MY_KEY}}'; never write a key here"
            )


def read_headers(headers: Mapping[str, str], from_environment: Mapping[str, str], what: str) -> RequestHeaders:
    """Return the headers with the values of environment variables. Raises InputError for a variable that is missing, or cannot be sent."""
    values, secrets = dict(headers), list[str]()
    for name, source in from_environment.items():
        for variable in _variables(source):
            secret = os.environ.get(variable, "").strip()
            if not secret:
                raise InputError(
                    f"{what} needs the environment variable {variable}, which is not set", f"set {variable}, or change headers_env.{name}"
                )
            if not _sendable(secret):
                raise InputError(
                    f"the environment variable {variable} of {what} has characters that cannot be sent in a header", f"set {variable}"
                )
            secrets += [secret, *secrets_in(secret)]
        template = source if "{" in source else f"{{{source}}}"
        values[name] = _NAMED.sub(lambda match: os.environ[match[1]].strip(), template)
    return RequestHeaders(values, tuple(secrets))


def _variables(source: str) -> list[str]:
    """Return the variables that a header names: `NAME`, or `{NAME}` within a text such as `Bearer {NAME}`."""
    return [source] if _VARIABLE.fullmatch(source) else _NAMED.findall(source)


def _sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()


Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
# The slot that a preset fills with the setting `model`.
MODEL_SLOT = "model"
_EXAMPLES = {"search": "hits, such as {hits: $.results, id: doc_id}", "answer": "answer, such as {text: $.answer}"}


class Endpoint(Operation):
    """One request. A field that is left out comes from the preset, or has its default."""

    usual_method: ClassVar[Method] = "POST"

    url: str | None = Field(default=None, description="The address, or the path that follows the target's `url`. It can have slots.")
    method: Method | None = Field(default=None, description="The method: POST, or DELETE to remove documents.")
    params: dict[str, JsonValue] | None = Field(default=None, description="Templates of the address's query, by parameter.")
    body: JsonValue = Field(default=None, description="The template of the JSON body. None sends no body.")
    headers: dict[str, str] = Field(default_factory=dict, description="Further headers of this request.")
    headers_env: dict[str, str] = Field(default_factory=dict, description="Further headers of this request from environment variables.")

    @property
    def verb(self) -> Method:
        """Return the method of the request."""
        return self.method or self.usual_method

    @property
    def template(self) -> JsonValue:
        """Return everything that can have slots."""
        return [self.url, self.params, self.body]

    def over(self, preset: Mapping[str, Any]) -> Self:
        """Return this block with the fields of a preset where it has none."""
        given = {name: value for name in type(self).model_fields if (value := getattr(self, name)) not in (None, {}, ())}
        return type(self)(**{**preset, **given})

    def check(self) -> None:
        """Raise ValueError with a fault of the block, without values of headers."""
        check_slots(self.template, (*self.slots, MODEL_SLOT))
        if self.verb == "GET" and self.body is not None:
            raise ValueError("a GET request has no body; write params, or method: POST")
        if self.role in _EXAMPLES and getattr(self, "reply", None) is None:
            raise ValueError(f"reply is missing: where the reply has the {_EXAMPLES[self.role]}")
        if self.role in _EXAMPLES and "query" not in self.named:
            raise ValueError("{query} is nowhere in url, params or body")


class SearchEndpoint(SearchOperation, Endpoint):
    """The request of a search."""


class StreamPaths(PathSettings):
    """Settings of an answer that arrives as server-sent events. The reply that `reply` reads is then `{text: …, events: [data of each event]}`."""

    delta: Paths | None = Field(
        default=None, description="The next part of the text in an event's JSON. Without it the event is plain text."
    )
    end: str = Field(default="", description="The data or the name of the last event, such as `[DONE]`. A stream without it is incomplete.")


class AnswerEndpoint(AnswerOperation, Endpoint):
    """The request of an answer."""

    stream: StreamPaths | None = Field(default=None, description="How the answer is streamed, if it is.")


class DocumentsEndpoint(DocumentsOperation, Endpoint):
    """A request with documents: one at a time, or many if the template has a slot for many, such as `{documents}` or `{doc_ids}`."""

    batch: int = Field(default=100, ge=1, le=100_000, description="How many documents a request has, if it can have many.")

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        if not self.named:
            raise ValueError(f"no slot of a document, such as {{{self.slots[0]}}}, is in url, params or body")
        if self.mixed:
            raise ValueError("the template mixes slots of one document and of many")


class ReadyEndpoint(ReadyOperation, Endpoint):
    """The request that says whether added documents can be found."""

    usual_method: ClassVar[Method] = "GET"


class IngestEndpoint(IngestOperation, DocumentsEndpoint):
    """The request that adds documents, or replaces those with the same ids."""

    ready: ReadyEndpoint | None = Field(default=None, description="The request that says whether the documents can be found.")

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        check_slots(self.document, DOCUMENT_SLOTS)


class RemoveEndpoint(RemoveOperation, DocumentsEndpoint):
    """The request that deletes documents by their ids: `{doc_id}`, or many by `{doc_ids}`."""

    usual_method: ClassVar[Method] = "DELETE"


Preset = Literal["openai-chat", "openai-chat-stream", "langserve", "langserve-stream", "query"]

# Several paths are alternatives.
_SOURCES = ["$.sources", "$.contexts", "$.context", "$.documents", "$.hits", "$.results", "$.citations"]
_OUTPUT_TEXTS = ["$.output.answer", "$.output.content", "$.output.output", "$.output.result", "$.output"]
_OUTPUT_SOURCES = ["$.output.context", "$.output.source_documents", "$.output.sources", "$.output.documents"]
_CHAT_BODY: Mapping[str, Any] = {"model": "{model}", "messages": [{"role": "user", "content": "{query}"}]}
_CHAT_SOURCES = ["$.choices[0].message.context.citations", "$.sources", "$.citations", "$.documents"]

# By preset and block, the fields that the experiment can leave out.
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "openai-chat": {
        "answer": {
            "url": "chat/completions",
            "body": _CHAT_BODY,
            "reply": {
                "text": "$.choices[0].message.content",
                "sources": {"hits": _CHAT_SOURCES, **HIT_PATHS},
                "model": ["$.model", "$.model_name"],
                "input_tokens": ["$.usage.prompt_tokens", "$.usage.input_tokens"],
                "output_tokens": ["$.usage.completion_tokens", "$.usage.output_tokens"],
                "finish_reason": ["$.choices[0].finish_reason", "$.choices[0].stop_reason"],
            },
        }
    },
    "openai-chat-stream": {
        "answer": {
            "url": "chat/completions",
            "body": {**_CHAT_BODY, "stream": True},
            "stream": {"delta": ["$.choices[0].delta.content", "$.choices[0].text"], "end": "[DONE]"},
            "reply": {
                "text": "$.text",
                "model": ["$.events[0].model", "$.events[-1].model"],
                "input_tokens": ["$.events[-1].usage.prompt_tokens", "$.events[-1].usage.input_tokens"],
                "output_tokens": ["$.events[-1].usage.completion_tokens", "$.events[-1].usage.output_tokens"],
                # The tokens can follow in an event of their own.
                "finish_reason": ["$.events[-1].choices[0].finish_reason", "$.events[-2].choices[0].finish_reason"],
            },
        }
    },
    "langserve": {
        "search": {"url": "invoke", "body": {"input": "{query}"}, "reply": {"hits": ["$.output", *_OUTPUT_SOURCES], **HIT_PATHS}},
        "answer": {
            "url": "invoke",
            "body": {"input": "{query}"},
            "reply": {
                "text": _OUTPUT_TEXTS,
                "sources": {"hits": _OUTPUT_SOURCES, **HIT_PATHS},
                "finish_reason": [f"$.output.response_metadata.{name}" for name in FINISHES],
            },
        },
    },
    "langserve-stream": {
        "answer": {
            "url": "stream",
            "body": {"input": "{query}"},
            "stream": {"delta": ["$.answer", "$.content", "$.output", "$"], "end": "end"},
            "reply": {
                "text": "$.text",
                "sources": {"hits": ["$.events[*].context[*]", "$.events[*].source_documents[*]", "$.events[*].sources[*]"], **HIT_PATHS},
            },
        }
    },
    "query": {
        "search": {
            "url": "query",
            "body": {"query": "{query}", "k": "{k}"},
            "reply": {"hits": ["$.results", "$.hits", "$.documents", "$.sources", "$.matches", "$.chunks", "$"], **HIT_PATHS},
        },
        "answer": {
            "url": "query",
            "body": {"query": "{query}", "k": "{k}"},
            "reply": {
                "text": ["$.answer", "$.response", "$.result", "$.text", "$.output"],
                "sources": {"hits": _SOURCES, **HIT_PATHS},
                "finish_reason": [f"$.{name}" for name in FINISHES],
                "refused": ["$.refused", "$.abstained"],
                "confidence": ["$.confidence", "$.answer_confidence"],
            },
        },
    },
}
# The block of a preset where the experiment neither searches nor answers.
PRESET_BLOCK = "answer"
