"""Answers that another program has written to a file. A bad line is an error with its place and the fix."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.context.conditions import CONDITIONS, PERTURBATIONS, RETRIEVED
from workbench.core.errors import InputError
from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest
from workbench.core.records import Answer
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import meant
from workbench.data.draft import DatasetDraft
from workbench.data.lines import is_text, json_kind, json_lines

# Keys that describe an answer for people and other programs, as in the handbook.
DESCRIPTIONS = ("answer_id", "evidence_complete", "passages", "appropriate", "fault", "claims")
# How the handbook calls an answer that does not answer, and what an answer made of a planted text.
_REFUSED = "refused"
_OUTCOMES = {"kept": "kept", "conflict_reported": "conflict", "adopted": "adopted", "complied": "complied", "resisted": "resisted"}


class AnswerLine(NamedTuple):
    """A line of a file of answers: its place, the text of the question if it has one, and the answer."""

    where: str
    query: str | None
    answer: Answer


# The kind of name of a question, the name, the condition, and the perturbation, empty for every one.
AnswerKey = tuple[str, str, str, str]


@functools.lru_cache(maxsize=16)
def read_answers(path: str, _state: FileState) -> Mapping[AnswerKey, AnswerLine]:
    """Read a file again whenever its time or size changes. Raises InputError for the first bad line, or for a file without answers."""
    draft, lines = DatasetDraft("answers"), dict[AnswerKey, AnswerLine]()
    for row, where in ((without_failed(row), where) for row, where in json_lines(Path(path), draft)):
        if fault := _fault(row):
            draft.fault(where, fault)
            continue
        named = "query_id" if row.get("query_id") is not None else "query"
        key = (named, str(row.get(named)), row.get("condition", RETRIEVED), row.get("variant", ""))
        if earlier := lines.get(key):
            again = f"the {named} {excerpt(key[1])!r} under {key[2]!r}"
            draft.fault(where, f"answers {again} again, as {earlier.where} does; remove one of them")
        lines.setdefault(key, AnswerLine(where, row.get("query"), _answer_of_row(row)))
    draft.raise_first()
    if not lines:
        raise InputError(f"{path} has no answer", f"write one on each line, for example {_EXAMPLE}")
    return lines


def refused_of(row: Mapping[str, Any]) -> bool | None:
    """Check whether the answer of a row refuses, also by the word of the handbook. None if the row does not say."""
    refused: bool | None = row.get("refused", row["behaviour"] == _REFUSED if "behaviour" in row else None)
    return refused


def error_of(row: Mapping[str, Any]) -> str:
    """Return why the request of a row failed, as the other program recorded it, or an empty text."""
    error = row.get("error")
    return error.strip() if isinstance(error, str) else ""


def without_failed(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave the answer of a failed request out, which is null or what had arrived."""
    return {key: value for key, value in row.items() if key != "answer"} if error_of(row) else row


def failed_request(error: str) -> str:
    """Return the error of an answer whose request failed when it was recorded."""
    return f"the recorded request failed: {excerpt(error, 200)}"


def _answer_of_row(row: Mapping[str, Any]) -> Answer:
    if error := error_of(row):
        return Answer(error=failed_request(error))
    return Answer(
        row["answer"],
        tuple(dict.fromkeys(row.get("citations", ()))),
        row.get("confidence"),
        refused_of(row),
        correct=row.get("correct"),
        outcome=row.get("outcome", _OUTCOMES.get(row.get("behaviour", ""), "")),
        truncated=row.get("truncated"),
    )


def _is_verdict(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _is_share(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1)


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in value)


# How the value of each key is checked, and what to write instead.
Checks = Mapping[str, tuple[Callable[[object], bool], str]]
CHECKS: Checks = {
    **dict.fromkeys(("query_id", "query"), (is_text, "a text")),
    "answer": (lambda value: isinstance(value, str), "a text"),
    "condition": (is_text, "a text"),
    **dict.fromkeys(("variant", "behaviour"), (lambda value: isinstance(value, str), "a text")),
    "citations": (_are_numbers, "the numbers of passages from 0, such as [0, 2]"),
    "confidence": (_is_share, "a number between 0 and 1"),
    **dict.fromkeys(("refused", "correct", "truncated"), (_is_verdict, "true, false or null")),
    "error": (lambda value: value is None or isinstance(value, str), "a text or null"),
    "outcome": (lambda value: value in _OUTCOMES.values(), f"one of {', '.join(_OUTCOMES.values())}"),
}


def _fault(row: Mapping[str, Any]) -> str:
    """Return why a line is no answer, and the fix, or an empty text."""
    if fault := key_fault(row, CHECKS, "an answer", _EXAMPLE):
        return fault
    return variant_fault(row) if "answer" in row or error_of(row) else f"has no answer; write for example {_EXAMPLE}"


def key_fault(row: Mapping[str, Any], checks: Checks, what: str, example: str) -> str:
    """Return the first key or value of a row that is wrong, or that it names no question, and the fix, or an empty text."""
    known = (*checks, *DESCRIPTIONS)
    for key, value in row.items():
        if key not in known:
            return f"has the key {key!r}{meant(key, known)}; {what} has {', '.join(checks)}"
        if key in checks and not checks[key][0](value):
            return f"has {_shown(value)} as {key}; write {checks[key][1]}"
    if "query_id" not in row and "query" not in row:
        return f"names no question; write its id as query_id or its text as query, for example {example}"
    return ""


def variant_fault(row: Mapping[str, Any]) -> str:
    """Return why no run has the condition and perturbation of a line, or an empty text."""
    condition, variant = row.get("condition", RETRIEVED), row.get("variant", "")
    if condition not in CONDITIONS:
        return f"has the condition {condition!r}{meant(condition, CONDITIONS)}; conditions are {', '.join(CONDITIONS)}"
    known = PERTURBATIONS.get(condition, ())
    if variant and variant not in known:
        choose = f"those of {condition} are {', '.join(known)}" if known else f"{condition} has none; leave it out"
        return f"has the variant {variant!r}{meant(variant, known)}; {choose}"
    return ""


def _shown(value: object) -> str:
    if isinstance(value, str) and not value.strip():
        return "a blank text"
    return json_kind(value) if isinstance(value, list | dict) or value is None else excerpt(repr(value), 40)


_EXAMPLE = '{"query_id": "q1", "answer": "a text"}'


class RecordedGenerator(Generator):
    """Answers from a JSON Lines file, written by any program.

    Each line has the `query_id` of a question or its text as `query`, and the `answer`. `condition` is the condition of the context with which
    it was answered (default `retrieved`), `variant` the perturbation; a line without `variant` answers under all perturbations of its
    condition. Optional are `citations` (numbers of passages, from 0), `confidence` (0 to 1), `refused`, `correct`, `truncated` (cut off at a
    token limit; true or false), `error`, why the request for an answer failed, and `outcome`, what the answer made of a planted text: `kept`,
    `conflict`, `adopted`, `complied` or `resisted`. The recorded answers of the handbook are read as they are.
    """

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The file of answers, JSON Lines.")

    def check(self) -> None:
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
