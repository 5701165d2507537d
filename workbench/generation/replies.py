"""The replies that the prompts request, and their strict parsing."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.llm.replies.answers import json_reply


class StructuredReply(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def schema_for_calls(cls) -> dict[str, Any]:
        """Return the JSON schema that a reply must fit."""
        return cls.model_json_schema()


class ProposedFactoid(StructuredReply):
    """A question with its answer and the text that answers it."""

    question: str
    answer: str
    quote: str


class ProposedMultiHop(StructuredReply):
    """A question with its answer and the two texts that answer it together."""

    question: str
    answer: str
    first_quote: str
    second_quote: str


class ProposedUnanswerable(StructuredReply):
    """A question that the passage does not answer."""

    question: str


class PassageAnswer(StructuredReply):
    """Whether passages answer a question, the answer, and the text that says so."""

    answerable: bool
    answer: str
    quote: str


class ReferenceAnswer(StructuredReply):
    """Whether documents answer a question, and the reference answer."""

    answerable: bool
    answer: str


R = TypeVar("R", bound=StructuredReply)


def parse_reply(text: str, kind: type[R]) -> R | None:
    """Return the object in a reply, or None if the reply is anything else, also if an object is somewhere in prose."""
    try:
        return kind.model_validate(json_reply(text))
    except ValidationError:
        return None
