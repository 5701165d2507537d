"""The requests that a service takes, as settings: the operations, each with an address, a body and headers."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from workbench.targets.operations import (
    AnswerOperation,
    DocumentsOperation,
    IngestOperation,
    Operation,
    ReadyOperation,
    RemoveOperation,
    SearchOperation,
)
from workbench.targets.paths import Paths
from workbench.targets.replies import PathSettings
from workbench.targets.templates import DOCUMENT_SLOTS, check_slots

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
# The slot that a preset fills with the setting `model`.
MODEL_SLOT = "model"
_NO_QUESTION = "{query} is nowhere in url, params or body"


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


class SearchEndpoint(SearchOperation, Endpoint):
    """The request of a search."""

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        if self.reply is None:
            raise ValueError("reply is missing: where the reply has the hits, such as {hits: $.results, id: doc_id}")
        if "query" not in self.named:
            raise ValueError(_NO_QUESTION)


class StreamPaths(PathSettings):
    """How an answer arrives as server-sent events. The reply that `reply` reads is then `{text: …, events: [data of each event]}`."""

    delta: Paths | None = Field(
        default=None, description="The next part of the text in an event's JSON. Without it the event is plain text."
    )
    end: str = Field(default="", description="The data or the name of the last event, such as `[DONE]`. A stream without it is incomplete.")


class AnswerEndpoint(AnswerOperation, Endpoint):
    """The request of an answer."""

    stream: StreamPaths | None = Field(default=None, description="How the answer is streamed, if it is.")

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        if self.reply is None:
            raise ValueError("reply is missing: where the reply has the answer, such as {text: $.answer}")
        if "query" not in self.named:
            raise ValueError(_NO_QUESTION)


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
