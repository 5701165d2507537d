"""Recorded results, found by the id or the text of a question."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from workbench.core.display import excerpt
from workbench.datasets.draft import DatasetDraft
from workbench.records import Answer, Query, TargetHit
from workbench.targets.base import TargetError


@dataclass(frozen=True)
class RecordedResult:
    """The hits and the answer to one question. None for what was not recorded, and the `error` of a request that failed.

    `unanswered` is the reason why a recorded reply has no answer, although the request did not fail.
    """

    where: str
    query_id: str | None = None
    query: str | None = None
    hits: tuple[TargetHit, ...] | None = None
    answer: Answer | None = None
    error: str = ""
    unanswered: str = ""


@dataclass(frozen=True)
class RecordedResults:
    """The results of a file, and the format as which it was read.

    `found_only` says that the format cannot express that nothing was found: a question without a result has no hits.
    """

    format: str
    by_id: Mapping[str, RecordedResult] = field(default_factory=dict)
    by_text: Mapping[str, RecordedResult] = field(default_factory=dict)
    found_only: bool = False

    # Computed once, since a file can have a million hits.
    @cached_property
    def searches(self) -> bool:
        """Return whether hits are recorded."""
        return self.found_only or any(result.hits is not None for result in self._all)

    @cached_property
    def answers(self) -> bool:
        """Return whether answers are recorded. A column that is empty throughout was not asked for."""
        answers = [result.answer for result in self._all if result.answer]
        return any(answer.text.strip() or answer.refused for answer in answers)

    @cached_property
    def gives_text(self) -> bool:
        """Return whether a hit has a text or a position."""
        return any(hit.text is not None or hit.start is not None for result in self._all for hit in result.hits or ())

    @property
    def _all(self) -> list[RecordedResult]:
        return [*self.by_id.values(), *self.by_text.values()]

    def result(self, query: Query) -> RecordedResult:
        """Return the result of a question. Raises TargetError if none is recorded, or only one of another wording."""
        result = self.by_id.get(query.query_id) or self.by_text.get(_plain(query.text))
        if result is None and self.found_only:
            return RecordedResult(self.format, hits=())
        if result is None:
            raise TargetError("no recorded result")
        if result.query is not None and _plain(result.query) != _plain(query.text):
            raise TargetError("the recorded result is to an earlier wording of the question")
        if result.error:
            raise TargetError(f"the recorded request failed: {excerpt(result.error, 200)}")
        return result


def index(format_name: str, results: Iterable[RecordedResult], advice: str, draft: DatasetDraft) -> RecordedResults:
    """Index results by their questions. Another result for a question is a fault with this advice, unless it is equal."""
    by_id, by_text, known = dict[str, RecordedResult](), dict[str, RecordedResult](), list[RecordedResult]()
    for result in results:
        table, kind, name = (by_text, "question", _plain(result.query)) if result.query_id is None else (by_id, "id", result.query_id)
        earlier = table.setdefault(name, result)
        if (earlier.hits, earlier.answer, earlier.error) != (result.hits, result.answer, result.error):
            draft.fault(result.where, f"has another result for the {kind} {excerpt(name)!r} of {earlier.where}; {advice}")
        known.append(result)
    # An id that the application gave is not one of the dataset.
    for result in known:
        if result.query is not None:
            by_text.setdefault(_plain(result.query), result)
    return RecordedResults(format_name, by_id, by_text)


def _plain(text: str | None) -> str:
    return (text or "").strip()
