"""Check whether a target serves data that it should have forgotten."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.core.loop_thread import run_in_thread
from workbench.errors import InputError
from workbench.records import Document, Query
from workbench.targets.base import System, Target, TargetDownError, TargetError, TargetResources, late_reason
from workbench.targets.freshness.cases import FreshnessData, shortened
from workbench.targets.freshness.report import FreshnessReport
from workbench.targets.freshness.verdicts import FreshnessStage, ObservedReply, Shrunk, outcomes_of, seen

T = TypeVar("T")


def check_freshness(target: Target, data: FreshnessData, resources: TargetResources) -> FreshnessReport:
    """Let a target ingest, replace and delete documents, and ask it each time.

    All documents of `data` are deleted from the target at the end, and before if it has any of these ids.

    Parameters
    ----------
    data
        The documents in two versions, with the questions whose answer changed, such as `read_freshness(Path("experiments/handbook"))`.

    Raises
    ------
    InputError
        If the target takes no documents, or there is no case.
    TargetDownError
        If the target does not start, or breaks down.
    """
    if not target.ingests:
        raise InputError(f"the target {target.name} takes no documents", "check a target with ingest")
    if not data.cases:
        raise InputError("there is no case to check", "add a line to stale.jsonl")
    return run_in_thread("freshness", lambda: _checked(target, data, resources))


async def _checked(target: Target, data: FreshnessData, resources: TargetResources) -> FreshnessReport:
    """Check a target for stale data in one session."""
    async with target.session(resources) as session:
        check = _Check(session, target, data)
        try:
            await check.run()
        finally:
            leftover = await check.clear()
    return FreshnessReport(target.name, tuple(outcomes_of(data, check.stages, check.shrunk)), leftover)


@dataclass
class _Check:
    session: System
    target: Target
    data: FreshnessData
    stages: dict[str, FreshnessStage] = field(default_factory=dict)
    shrunk: list[Shrunk] = field(default_factory=list)

    async def run(self) -> None:
        self._free = asyncio.Semaphore(self.target.concurrency)
        first, updated, current = self.data.first, self.data.updated, self.data.current
        deleted = {document.doc_id for document in updated}
        await self._stage("earlier", self.session.ingest(first), first)
        await self._stage("update", self.session.ingest(updated), current)
        await self._stage("repeat", self.session.ingest(current), current)
        await self._shrink(updated)
        kept = [document for document in current if document.doc_id not in deleted]
        await self._stage("restored", self.session.ingest(updated), current)
        await self._stage("delete", self.session.remove(sorted(deleted)), kept)

    async def clear(self) -> str:
        """Delete the documents of the check. Return why that failed, or an empty text."""
        doc_ids = sorted({document.doc_id for document in (*self.data.earlier, *self.data.current)})
        try:
            return await self._change(self.session.remove(doc_ids))
        except TargetDownError as error:
            return str(error)

    async def _stage(self, name: str, change: Awaitable[None], held: Sequence[Document]) -> None:
        reason = await self._change(change)
        texts = {document.doc_id: document.text for document in held}
        replies = await self._ask({case.case_id: case.query for case in self.data.cases}, reason)
        hidden = [
            case for case in self.data.cases if not reason and not seen(replies[case.case_id].texts("chunks")[0], case.after, "chunks")
        ]
        probes = await self._ask({case.case_id: f"{case.query} {case.after.passage}" for case in hidden}) if name == "update" else {}
        self.stages[name] = FreshnessStage(texts, replies, probes)

    async def _ask(self, questions: Mapping[str, str], reason: str = "") -> dict[str, ObservedReply]:
        """Return the reply to each question, by its key."""
        return dict(zip(questions, await asyncio.gather(*(self._observe(text, reason) for text in questions.values())), strict=True))

    async def _shrink(self, documents: Sequence[Document]) -> None:
        """Search for the end of each document, before and after the document is cut to its first half."""
        pairs = [(short, lost) for short, lost in map(shortened, documents) if lost]
        before = await asyncio.gather(*(self._observe(lost) for _, lost in pairs))
        reason = await self._change(self.session.ingest([short for short, _ in pairs]))
        after = await asyncio.gather(*(self._observe(lost, reason) for _, lost in pairs))
        self.shrunk = [Shrunk(short.doc_id, lost, *both) for (short, lost), *both in zip(pairs, before, after, strict=True)]

    async def _change(self, change: Awaitable[None]) -> str:
        """Wait for an ingestion or a deletion. Return why it failed, or an empty text."""
        try:
            async with asyncio.timeout(self.target.ingest_timeout):
                await change
        except TargetDownError:
            raise
        except TargetError as error:
            return str(error)
        except TimeoutError as late:
            return late_reason(f"the documents were not taken or deleted within {self.target.ingest_timeout:g} s", late)
        return ""

    async def _observe(self, text: str, reason: str = "") -> ObservedReply:
        if reason:
            return ObservedReply(no_hits=reason, no_answer=reason)
        query = Query("freshness", text)
        hits, no_hits = await self._request(lambda: self.session.search(query, self.target.k))
        answer, no_answer = await self._request(lambda: self.session.answer(query))
        return ObservedReply(None if hits is None else tuple(hits), answer, no_hits, no_answer)

    async def _request(self, request: Callable[[], Coroutine[None, None, T]]) -> tuple[T | None, str]:
        """Return the reply of a request, or None and the error that prevented it."""
        async with self._free:
            try:
                async with asyncio.timeout(self.target.timeout):
                    return await request(), ""
            except TargetDownError:
                raise
            except TargetError as error:
                return None, str(error)
            except TimeoutError as late:
                return None, late_reason(f"no reply within {self.target.timeout:g} s", late)
