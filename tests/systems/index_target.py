"""A target over an index of Workbench, which so returns what a sweep of its own configuration ranks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, Literal

from workbench.api.pipeline import Index
from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.systems.base import System, Target, TargetError, TargetResources

# How an index's hits are returned.
Form = Literal["text", "positions", "ids", "foreign"]


class IndexTarget(Target):
    """Searches the index in `indexes` and answers with the first hit. Questions with a word in `fails` fail."""

    indexes: ClassVar[dict[str, Index]] = {}

    kind: Literal["index"] = "index"
    index: str
    form: Form = "text"
    answering: bool = False
    given: bool = False
    names_sources: bool = True
    fails: str = ""

    @property
    def searches(self) -> bool:
        return True

    @property
    def answers(self) -> bool:
        return self.answering

    @property
    def takes_context(self) -> bool:
        return self.given

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        yield IndexSession(self)


class IndexSession(System):
    """Reads the index in this process."""

    def __init__(self, target: IndexTarget) -> None:
        self._target = target

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        if self._target.fails and self._target.fails in query.text:
            raise TargetError("the index is away")
        hits = self._target.indexes[self._target.index].search(query.text, k)
        found = [TargetHit(hit.doc_id, hit.text, hit.score) for hit in hits]
        match self._target.form:
            case "ids":
                return [TargetHit(hit.doc_id, score=hit.score) for hit in hits]
            case "positions":
                return [TargetHit(hit.doc_id, None, hit.score, hit.start, hit.end) for hit in hits]
            case "foreign":
                return [TargetHit("another-document", "A text that no document contains.", 100.0), *found][:k]
        return found

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        if context is not None:
            return Answer(context[0].text if context else "I do not know.")
        hits = await self.search(query, 3)
        (best,) = self._target.indexes[self._target.index].search(query.text, 1)
        return Answer(best.text, sources=tuple(hits) if self._target.names_sources else None)
