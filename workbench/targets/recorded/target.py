"""A target whose results are read from a file."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest
from workbench.errors import InputError
from workbench.records import Answer, Passage, Query, TargetHit
from workbench.targets.base import System, Target, TargetDownError, TargetError, TargetResources
from workbench.targets.recorded.exports import RecordedFields
from workbench.targets.recorded.reading import RecordedFormat, read_results
from workbench.targets.recorded.results import RecordedResults


class RecordedTarget(Target):
    """Results that were recorded elsewhere: rankings, and answers with their sources, by the id or the exact text of a question.

    Own form: rows of JSON Lines or parquet with `query_id` or `query`, `hits` (a list of `{doc_id, text, score, start, end}`, best first, or of
    ids), `answer`, and `sources` in the form of hits (by default the hits). `condition`, `refused` and `confidence` are as in recorded answers;
    only answers under `retrieved` are read. TREC runs have hits alone: a question without a line was asked and nothing was found, and the line
    `q7 Q0 not-scored 1 0 tag` says that it was not asked. In rows, `hits: []` says that nothing was found. The exports of Ragas, DeepEval and promptfoo are
    read as they are, and so are traces: OTLP files and exports of Langfuse, LangSmith, MLflow and Phoenix.

    The settings do not say whether the file has hits or answers, so `roles` and `gives_text` read it. They raise InputError if it
    cannot be read.
    """

    version: ClassVar[int] = 5
    timed: ClassVar[bool] = False

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The file of results.")
    format: RecordedFormat = Field(
        default="auto",
        description="`jsonl` or `parquet` for rows in Workbench's own form, `trec` for a run, or the tool that exported the file. "
        "`auto` decides by the name of the file and by the keys of its rows.",
    )
    where: dict[str, str] = Field(
        default_factory=dict,
        description="The rows to read, by the values of fields, such as `{provider.id: my-rag}`. By default all are read.",
    )
    fields: RecordedFields = Field(
        default_factory=RecordedFields,
        description="The fields of an exported row with the `question`, the `query_id`, the `answer` and the `documents`, such as "
        "`{question: vars.topic}`. By default the importer finds them.",
    )

    @property
    def roles(self) -> Collection[str]:
        """Return whether the file has hits and answers."""
        results = self._results()
        return [role for role, given in (("search", results.searches), ("answer", results.answers)) if given]

    @property
    def gives_text(self) -> bool:
        """Return whether a hit in the file has a text or a position."""
        return self._results().gives_text

    def check(self) -> None:
        """Raise InputError if the file is missing, or for its first row that cannot be read."""
        self._results()

    def identity(self) -> dict[str, Any]:
        """Return the hash of the file's content and the format as which it is read. Its path does not matter."""
        settings: dict[str, Any] = super().identity()
        del settings["path"]
        return {**settings, "format": self._results().format, "content": _digest(self.path, self._state())}

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        """Read the file."""
        try:
            results = await asyncio.to_thread(self._results)
        except InputError as error:
            raise TargetDownError(str(error)) from error
        yield RecordedSession(results)

    def recorded_hits(self, query: Query) -> Sequence[TargetHit]:
        """Return all hits that were recorded for a question. Raises InputError if the file cannot be read."""
        try:
            return self._results().result(query).hits or ()
        except TargetError:
            return ()

    def _results(self) -> RecordedResults:
        return read_results(self.path, self.format, self.fields, tuple(sorted(self.where.items())), self._state())

    def _state(self) -> FileState:
        try:
            return file_state(Path(self.path))
        except OSError as error:
            raise InputError(f"target {self.name!r}: {self.path} cannot be read ({error.strerror})", "correct path") from None


class RecordedSession(System):
    """The results of a file."""

    def __init__(self, results: RecordedResults) -> None:
        self._results = results

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return the first k hits that were recorded for a question."""
        hits = self._results.result(query).hits
        if hits is None:
            raise TargetError("no recorded hits")
        return hits[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Return the answer that was recorded for a question."""
        if context is not None:
            raise TargetError("a recorded answer cannot be given a context")
        result = self._results.result(query)
        if result.answer is None:
            raise TargetError(result.unanswered or "no recorded answer")
        return result.answer


@lru_cache(maxsize=16)
def _digest(path: str, _state: FileState) -> str:
    return file_digest(Path(path), "blake2b")
