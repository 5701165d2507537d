"""Answers that another program has written to a file."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from workbench.answering.base import AnswerRequest, AnswerResources, GeneratedAnswer, Generator


class RecordedGenerator(Generator):
    """Answers from a JSON Lines file, written by any program."""

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The file of answers, JSON Lines.")

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, GeneratedAnswer]]:
        """Yield the answers in the order of the requests."""
        raise NotImplementedError
