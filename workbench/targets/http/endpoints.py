"""The requests that a service takes, as settings: the address, the body, and where its reply has what."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from workbench.targets.paths import JsonPath, Paths, find
from workbench.targets.replies import AnswerPaths, HitPaths, PathSettings, ReplySign, same_json
from workbench.targets.templates import CONTEXT_SLOT, DOCUMENT_SLOTS, DOCUMENTS_SLOTS, QUESTION_SLOTS, check_slots, slots_of

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
# The slot that a preset fills with the setting `model`.
MODEL_SLOT = "model"
_DOCUMENT: dict[str, JsonValue] = {"id": "{doc_id}", "text": "{text}", "title": "{title}", "metadata": "{metadata}"}


class Endpoint(PathSettings):
    """One request. A field that is left out comes from the preset, or has its default."""

    slots: ClassVar[tuple[str, ...]] = ()
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


class SearchEndpoint(Endpoint):
    """The request of a search."""

    slots: ClassVar[tuple[str, ...]] = QUESTION_SLOTS

    reply: HitPaths | None = Field(default=None, description="Where the reply has the hits.")

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        if self.reply is None:
            raise ValueError("reply is missing: where the reply has the hits, such as {hits: $.results, id: doc_id}")
        if "query" not in slots_of(self.template):
            raise ValueError("{query} is nowhere in url, params or body")


class StreamPaths(PathSettings):
    """How an answer arrives as server-sent events. The reply that `reply` reads is then `{text: …, events: [data of each event]}`."""

    delta: Paths | None = Field(
        default=None, description="The next part of the text in an event's JSON. Without it the event is plain text."
    )
    end: str = Field(default="", description="The data or the name of the last event, such as `[DONE]`. A stream without it is incomplete.")


class AnswerEndpoint(Endpoint):
    """The request of an answer."""

    slots: ClassVar[tuple[str, ...]] = (*QUESTION_SLOTS, CONTEXT_SLOT)

    reply: AnswerPaths | None = Field(default=None, description="Where the reply has the answer and its sources.")
    stream: StreamPaths | None = Field(default=None, description="How the answer is streamed, if it is.")

    @property
    def takes_context(self) -> bool:
        """Return whether the request can have given passages."""
        return CONTEXT_SLOT in slots_of(self.template)

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        if self.reply is None:
            raise ValueError("reply is missing: where the reply has the answer, such as {text: $.answer}")
        if "query" not in slots_of(self.template):
            raise ValueError("{query} is nowhere in url, params or body")


class DocumentsEndpoint(Endpoint):
    """A request with documents: one at a time, or many if the template has a slot for many, such as `{documents}` or `{doc_ids}`."""

    slots: ClassVar[tuple[str, ...]] = (*DOCUMENT_SLOTS, *DOCUMENTS_SLOTS)

    batch: int = Field(default=100, ge=1, le=100_000, description="How many documents a request has, if it can have many.")
    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that the reply is a failure.")

    @property
    def many(self) -> bool:
        """Return whether a request has many documents."""
        return bool(slots_of(self.template) & set(DOCUMENTS_SLOTS))

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        named = slots_of(self.template) & set(self.slots)
        if not named:
            raise ValueError(f"no slot of a document, such as {{{self.slots[0]}}}, is in url, params or body")
        if named & set(DOCUMENT_SLOTS) and named & set(DOCUMENTS_SLOTS):
            raise ValueError("the template mixes slots of one document and of many")


class ReadyEndpoint(Endpoint):
    """The request that says whether added documents can be found: repeated until `path` has the value `equals`."""

    usual_method: ClassVar[Method] = "GET"

    path: JsonPath = Field(description="The JSONPath of the value.")
    equals: JsonValue = Field(default=True, description="The value that says that documents can be found.")
    seconds: float = Field(default=120, gt=0, le=86_400, description="How long to wait for it.")

    def ready(self, reply: JsonValue) -> bool:
        """Return whether the documents can be found."""
        return any(same_json(value, self.equals) for value in find(self.path, reply))


class IngestEndpoint(DocumentsEndpoint):
    """The request that adds documents, or replaces those with the same ids."""

    document: JsonValue = Field(
        default_factory=lambda: dict(_DOCUMENT),
        description="The template of one document in `{documents}`.",
    )
    ready: ReadyEndpoint | None = Field(default=None, description="The request that says whether the documents can be found.")

    def check(self) -> None:
        """Raise ValueError with a fault of the block."""
        super().check()
        check_slots(self.document, DOCUMENT_SLOTS)


class RemoveEndpoint(DocumentsEndpoint):
    """The request that deletes documents by their ids: `{doc_id}`, or many by `{doc_ids}`."""

    slots: ClassVar[tuple[str, ...]] = ("doc_id", "doc_ids")
    usual_method: ClassVar[Method] = "DELETE"
