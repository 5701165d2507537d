"""Rewritten questions that another program has written to a file."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.components.rewriting.base import RewrittenText, TextRewriter
from workbench.core.errors import InputError
from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest
from workbench.core.records import Query
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import meant, plural
from workbench.data.draft import DatasetDraft
from workbench.data.lines import is_text, json_kind, json_lines

_EXAMPLE = '{"query_id": "q1", "rewrites": ["a text"]}'
_OTHER_SPLIT = "remove the line, or choose the dataset and the split for which the replies were recorded"
_KEYS = ("query_id", "query", "rewrites", "document", "keep_original")


@dataclass(frozen=True)
class RecordedReply:
    """The texts that a line of a reply file gives for a question, named by its id, its text or both."""

    where: str
    query_id: str | None
    query: str | None
    texts: tuple[RewrittenText, ...]
    keep_original: bool


class RecordedRewriter(TextRewriter):
    """Texts from a JSON Lines file, written by any program: other wordings of a question, or a hypothetical document that answers it.

    Each line has the `query_id` of a question or its text as `query`, and either `rewrites`, a list of texts to search, or `document`, a text
    that is embedded as a document (Gao et al. 2023). With `keep_original: true` the question is searched too.
    """

    # The program's time is not known.
    is_live: ClassVar[bool] = False

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The reply file, JSON Lines.")

    def check(self) -> None:
        self._replies()

    def identity(self) -> dict[str, Any]:
        self.check()
        return {"kind": self.kind, "version": self.version, "content": file_digest(Path(self.path), "blake2b")}

    def check_questions(self, questions: Sequence[Query]) -> None:
        """Raise InputError for a question without a reply, or for a reply to a question that is not among these."""
        ids, texts = {question.query_id: question.text for question in questions}, {question.text for question in questions}
        for reply in self._replies():
            if reply.query_id is not None and reply.query_id not in ids:
                raise InputError(
                    f"{reply.where}: no question has the query_id {reply.query_id!r}{meant(reply.query_id, ids)}", _OTHER_SPLIT
                )
            if reply.query_id is None and reply.query not in texts:
                raise InputError(f"{reply.where}: no question has the text {excerpt(str(reply.query))!r}", _OTHER_SPLIT)
            if reply.query_id is not None and reply.query is not None and reply.query != ids[reply.query_id]:
                now = excerpt(ids[reply.query_id])
                raise InputError(
                    f"{reply.where}: the question {reply.query_id!r} is now {now!r}, not {excerpt(reply.query)!r}", "record it again"
                )
        by_text = {reply.query: reply.where for reply in self._replies() if reply.query_id is None}
        for reply in self._replies():
            if reply.query_id is not None and (other := by_text.get(ids[reply.query_id])):
                raise InputError(f"{reply.where} and {other} reply to the question {reply.query_id!r}", "remove one of them")
        self.rewrite(questions)

    def rewrite(self, questions: Sequence[Query]) -> list[Sequence[RewrittenText]]:
        by_id = {reply.query_id: reply for reply in self._replies() if reply.query_id is not None}
        by_text = {reply.query: reply for reply in self._replies() if reply.query_id is None}
        replies = [(question, by_id.get(question.query_id) or by_text.get(question.text)) for question in questions]
        if missing := [question for question, reply in replies if reply is None]:
            which = f"the question {missing[0].query_id!r} ({excerpt(missing[0].text)!r})"
            others = f" and {plural(len(missing) - 1, 'other')}" if missing[1:] else ""
            raise InputError(f"{self.path} has no reply for {which}{others}", "add a line for each question")
        return [
            (*((RewrittenText(question.text),) if reply.keep_original else ()), *reply.texts)
            for question, reply in replies
            if reply is not None
        ]

    def _replies(self) -> tuple[RecordedReply, ...]:
        try:
            state = file_state(Path(self.path))
        except OSError as error:
            raise InputError(f"rewrite 'recorded': {self.path} cannot be read ({error.strerror})", "correct path") from None
        return _read(self.path, state)


@functools.lru_cache(maxsize=16)
def _read(path: str, _state: FileState) -> tuple[RecordedReply, ...]:
    """Read a reply file again whenever its time or size changes. Raises InputError for the first bad line."""
    draft, replies, places = DatasetDraft("replies"), list[RecordedReply](), dict[tuple[str, str], str]()
    for row, where in json_lines(Path(path), draft):
        if fault := _fault(row):
            draft.fault(where, fault)
            continue
        rewrites = tuple(map(RewrittenText, row.get("rewrites", ())))
        document = (RewrittenText(row["document"], "document"),) if "document" in row else ()
        reply = RecordedReply(where, row.get("query_id"), row.get("query"), rewrites or document, row.get("keep_original", False))
        named = ("query_id", reply.query_id) if reply.query_id is not None else ("query", str(reply.query))
        if named in places:
            draft.fault(where, f"replies to the {named[0]} {excerpt(named[1])!r} again, as {places[named]} does; remove one of them")
        places.setdefault(named, where)
        replies.append(reply)
    draft.raise_first()
    return tuple(replies)


def _fault(row: Mapping[str, Any]) -> str:
    """Return why a line is no reply, and the fix, or an empty text."""
    for key, value in row.items():
        if key not in _KEYS:
            return f"has the key {key!r}{meant(key, _KEYS)}; a reply has {', '.join(_KEYS)}"
        if key == "keep_original" and not isinstance(value, bool):
            return f"has keep_original {value!r}; write true or false"
        if key == "rewrites" and not (isinstance(value, list) and value and all(map(is_text, value))):
            return f"has rewrites that are not a list of texts; write for example {_EXAMPLE}"
        if key in ("query_id", "query", "document") and not is_text(value):
            return f"has {'a blank text' if isinstance(value, str) else json_kind(value)} as {key}; write a text"
    if "query_id" not in row and "query" not in row:
        return f"names no question; write its id as query_id or its text as query, for example {_EXAMPLE}"
    if ("rewrites" in row) == ("document" in row):
        return (
            f"has {'both' if 'document' in row else 'neither'} rewrites {'and' if 'document' in row else 'nor'} document; write one of them"
        )
    return ""
