"""The tools of an MCP server that a target calls: their names, the templates of their arguments, and where replies have what is wanted."""

import json
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, JsonValue, field_validator, model_validator

from workbench.targets.paths import JsonPath, find
from workbench.targets.replies import AnswerPaths, HitPaths, PathSettings, ReplySign, same_json
from workbench.targets.templates import CONTEXT_SLOT, DOCUMENT_SLOTS, DOCUMENTS_SLOTS, QUESTION_SLOTS, check_slots, slots_of

_DOCUMENT: JsonValue = {"id": "{doc_id}", "text": "{text}", "title": "{title}", "metadata": "{metadata}"}


class McpTool(PathSettings):
    """A tool of a server, and its arguments."""

    slots: ClassVar[Sequence[str]] = ()

    tool: str = Field(min_length=1, description="The name of the tool.")
    arguments: dict[str, JsonValue] = Field(
        default={}, description="The arguments of the tool, in which slots such as `{query}` are filled."
    )

    @field_validator("arguments")
    @classmethod
    def _known_slots(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        check_slots(arguments, cls.slots)
        return arguments


class McpSearch(McpTool):
    """The tool that searches. The slots of its arguments are `{query}`, `{query_id}` and `{k}`."""

    slots: ClassVar[Sequence[str]] = QUESTION_SLOTS

    reply: HitPaths = Field(description="Where the reply has the hits.")

    @field_validator("arguments")
    @classmethod
    def _question(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return _with_query(arguments)


class McpAnswer(McpTool):
    """The tool that answers. Its arguments can have the slot `{context}` also, a list of texts to answer from."""

    slots: ClassVar[Sequence[str]] = (*QUESTION_SLOTS, CONTEXT_SLOT)

    reply: AnswerPaths = Field(description="Where the reply has the answer and its sources.")

    @field_validator("arguments")
    @classmethod
    def _question(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return _with_query(arguments)

    @property
    def takes_context(self) -> bool:
        """Return whether the tool can be given the context."""
        return CONTEXT_SLOT in slots_of(self.arguments)


class McpReady(McpTool):
    """A tool that is called until a value of its reply says that documents can be found."""

    path: JsonPath = Field(description="The JSONPath of the value.")
    equals: JsonValue = Field(default=True, description="The value that says so.")
    seconds: float = Field(default=120, gt=0, le=86_400, description="How long to wait for it.")

    def reached(self, reply: JsonValue) -> bool:
        """Return whether a reply has the value."""
        # A text of a server without structured content, such as `true`, is that value here.
        return any(same_json(value, self.equals) or value == json.dumps(self.equals) for value in find(self.path, reply))


class McpIngest(McpTool):
    """The tool that takes documents: one with `{doc_id}`, `{text}`, `{title}` and `{metadata}`, or many with `{documents}` or parallel lists."""

    slots: ClassVar[Sequence[str]] = (*DOCUMENT_SLOTS, *DOCUMENTS_SLOTS)

    document: JsonValue = Field(default=_DOCUMENT, description="The template of each document in `{documents}`.")
    batch: int = Field(default=100, ge=1, le=10_000, description="How many documents a call has, if its arguments have slots for many.")
    ready: McpReady | None = Field(
        default=None, description="A tool that says when documents can be found. Without it they can be at once."
    )
    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that a reply is a failure.")

    @property
    def takes_many(self) -> bool:
        """Return whether a call has many documents."""
        return bool(slots_of(self.arguments) & set(DOCUMENTS_SLOTS))

    @model_validator(mode="after")
    def _one_or_many(self) -> "McpIngest":
        used = slots_of(self.arguments)
        if self.takes_many and used & set(DOCUMENT_SLOTS):
            raise ValueError("the arguments have slots for one document and slots for many; use either")
        if not used:
            raise ValueError("the arguments have no slot such as {text}")
        check_slots(self.document, DOCUMENT_SLOTS)
        return self


class McpRemove(McpTool):
    """The tool that deletes documents: one with `{doc_id}`, or many with `{doc_ids}`."""

    slots: ClassVar[Sequence[str]] = ("doc_id", "doc_ids")

    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that a reply is a failure.")

    @model_validator(mode="after")
    def _names_documents(self) -> "McpRemove":
        if len(slots_of(self.arguments)) != 1:
            raise ValueError("the arguments need one of the slots {doc_id} and {doc_ids}")
        return self

    @property
    def takes_many(self) -> bool:
        """Return whether a call has many documents."""
        return "doc_ids" in slots_of(self.arguments)


def _with_query(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if "query" not in slots_of(arguments):
        raise ValueError("{query} is nowhere in the arguments")
    return arguments
