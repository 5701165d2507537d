"""Answers that another program has written to a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workbench.components.answering.answer_file import AnswerKey, AnswerLine, read_answers
from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.core.errors import InputError
from workbench.core.files import file_state
from workbench.core.fingerprint import file_digest
from workbench.core.records import Answer


class RecordedGenerator(Generator):
    """Answers from a JSON Lines file, written by any program.

    Each line has the `query_id` of a question or its text as `query`, and the `answer`. `condition` is the condition of the context with which
    it was answered (default `retrieved`), `variant` the perturbation; a line without `variant` answers under all perturbations of its
    condition. Optional are `citations` (numbers of passages, from 0), `confidence` (0 to 1), `refused`, `correct`, `truncated` (cut off at a
    token limit; true or false) and `outcome`, what the answer made of a planted text: `kept`, `conflict`, `adopted`, `complied` or `resisted`.
    The recorded answers of the handbook are read as they are.
    """

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The file of answers, JSON Lines.")

    def check(self) -> None:
        """Raise InputError if the file is missing, or for its first line that is no answer."""
        self._answers()

    def identity(self) -> dict[str, Any]:
        """Return the hash of the file's content. Its path does not matter."""
        self.check()
        return {"kind": self.kind, "version": self.version, "content": file_digest(Path(self.path), "blake2b")}

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answers in the order of the requests. A question that the file does not answer under a condition has an error."""
        answers = self._answers()
        for place, request in enumerate(requests):
            yield place, _answer(request, answers)

    def _answers(self) -> Mapping[AnswerKey, AnswerLine]:
        try:
            state = file_state(Path(self.path))
        except OSError as error:
            raise InputError(f"answering 'recorded': {self.path} cannot be read ({error.strerror})", "correct path") from None
        return read_answers(self.path, state)


def _answer(request: AnswerRequest, answers: Mapping[AnswerKey, AnswerLine]) -> Answer:
    """Return the recorded answer to a request: that of the question's id before that of its text, that of the perturbation before any."""
    for named, name in (("query_id", request.query.query_id), ("query", request.query.text)):
        for perturbation in dict.fromkeys([request.variant.perturbation, ""]):
            if line := answers.get((named, name, request.variant.condition, perturbation)):
                if line.query is not None and line.query != request.query.text:
                    return Answer(error="the recorded answer is to an earlier wording of the question")
                cited = tuple(number for number in line.answer.citations if number < len(request.passages))
                return replace(line.answer, citations=cited)
    return Answer(error="no recorded answer")
