"""The tools of an MCP server that a target calls, as settings: the operations, each with a tool and the templates of its arguments."""

import json
from typing import ClassVar, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from workbench.targets.operations import (
    AnswerOperation,
    IngestOperation,
    Operation,
    ReadyOperation,
    RemoveOperation,
    SearchOperation,
)
from workbench.targets.paths import find
from workbench.targets.replies import AnswerPaths, HitPaths
from workbench.targets.templates import DOCUMENT_SLOTS, check_slots, slots_of


class McpTool(Operation):
    """A tool of a server, and its arguments."""

    needed: ClassVar[str] = ""

    tool: str = Field(min_length=1, description="The name of the tool.")
    arguments: dict[str, JsonValue] = Field(
        default={}, description="The arguments of the tool, in which slots such as `{query}` are filled."
    )

    @property
    def template(self) -> JsonValue:
        """Return the arguments."""
        return self.arguments

    @field_validator("arguments")
    @classmethod
    def _slots(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        check_slots(arguments, cls.slots)
        if cls.needed and cls.needed not in slots_of(arguments):
            raise ValueError(f"{{{cls.needed}}} is nowhere in the arguments")
        return arguments


class McpSearchTool(SearchOperation, McpTool):
    """The tool that searches. The slots of its arguments are `{query}`, `{query_id}` and `{k}`."""

    needed: ClassVar[str] = "query"

    reply: HitPaths = Field(description="Where the reply has the hits.")


class McpAnswerTool(AnswerOperation, McpTool):
    """The tool that answers. Its arguments can have the slot `{context}` also, a list of texts to answer from."""

    needed: ClassVar[str] = "query"

    reply: AnswerPaths = Field(description="Where the reply has the answer and its sources.")


class McpReadyTool(ReadyOperation, McpTool):
    """A tool that is called until a value of its reply says that documents can be found."""

    def read(self, reply: JsonValue) -> bool:
        """Return whether a reply has the value. A server without structured content writes a value such as `true` as a text."""
        return super().read(reply) or json.dumps(self.equals) in find(self.path, reply)

    @property
    def unmet(self) -> str:
        """Say that the value is another one."""
        return f"{self.path} of {self.tool!r} is not {self.equals!r}"


class McpIngestTool(IngestOperation, McpTool):
    """The tool that takes documents: one with `{doc_id}`, `{text}`, `{title}` and `{metadata}`, or many with `{documents}` or parallel lists."""

    ready: McpReadyTool | None = Field(
        default=None, description="A tool that says when documents can be found. Without it they can be at once."
    )

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        if self.mixed:
            raise ValueError("the arguments have slots for one document and slots for many; use either")
        if not self.named:
            raise ValueError("the arguments have no slot such as {text}")
        check_slots(self.document, DOCUMENT_SLOTS)
        return self


class McpRemoveTool(RemoveOperation, McpTool):
    """The tool that deletes documents: one with `{doc_id}`, or many with `{doc_ids}`."""

    @model_validator(mode="after")
    def _names_documents(self) -> Self:
        if len(self.named) != 1:
            raise ValueError("the arguments need one of the slots {doc_id} and {doc_ids}")
        return self
