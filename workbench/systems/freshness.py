"""Check whether a target serves stale data: ask it before and after each change of its documents, and decide each case."""

import asyncio
import re
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import pandas as pd

from workbench.core.errors import DatasetError, InputError
from workbench.core.loop_thread import run_in_thread
from workbench.core.records import Document, Query, TargetHit
from workbench.core.text.display import table_html
from workbench.core.text.formatting import aligned
from workbench.core.text.words import folded, terms, whole
from workbench.data.draft import DatasetDraft
from workbench.data.formats.documents import read_documents
from workbench.data.lines import json_lines
from workbench.systems.asking import TargetReply, TargetRequest, reply_of
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources, late_reason

CASES, EARLIER, DOCUMENTS = "stale.jsonl", "earlier", "documents"
_SIDES = ("before", "after")
# Few enough to be in one chunk.
_LOST_WORDS = 20
_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Stated:
    """A value, and the text of a document that states it. Without a text, the value itself."""

    value: str
    text: str = ""

    @property
    def passage(self) -> str:
        """Return the text that states the value."""
        return self.text or self.value


@dataclass(frozen=True)
class StaleCase:
    """A question whose answer changed from one version of a document to the next."""

    case_id: str
    doc_id: str
    query: str
    before: Stated
    after: Stated


@dataclass(frozen=True)
class FreshnessData:
    """The `current` documents, the `earlier` versions of those that changed, under the same ids, and the cases."""

    earlier: tuple[Document, ...]
    current: tuple[Document, ...]
    cases: tuple[StaleCase, ...]

    def __post_init__(self) -> None:
        """Raise DatasetError if a case names a document that lacks one of the versions, or a value that its version does not contain."""
        versions, faults = [{document.doc_id: document.text for document in documents} for documents in (self.earlier, self.current)], []
        for case in self.cases:
            for side, texts, stated in zip(_SIDES, versions, (case.before, case.after), strict=True):
                if case.doc_id not in texts:
                    faults.append(f"{case.case_id} has no version {side} of the document {case.doc_id!r}")
                elif stated.passage not in texts[case.doc_id]:
                    faults.append(f"{case.case_id}: {stated.passage[:60]!r} is not in the version {side} of {case.doc_id!r}")
        if faults:
            raise DatasetError("stale cases", faults)

    @property
    def first(self) -> tuple[Document, ...]:
        """Return all documents as they were: the earlier versions, and the current ones of documents that did not change."""
        earlier = {document.doc_id: document for document in self.earlier}
        rest = tuple(document for document in self.current if document.doc_id not in earlier)
        return self.earlier + rest

    @property
    def updated(self) -> tuple[Document, ...]:
        """Return the current versions of the documents that changed."""
        changed = {document.doc_id for document in self.earlier}
        return tuple(document for document in self.current if document.doc_id in changed)

    def only(self, doc_ids: Sequence[str]) -> "FreshnessData":
        """Return the documents with these ids, and the cases about them."""
        wanted = set(doc_ids)
        return FreshnessData(
            tuple(document for document in self.earlier if document.doc_id in wanted),
            tuple(document for document in self.current if document.doc_id in wanted),
            tuple(case for case in self.cases if case.doc_id in wanted),
        )


def shortened(document: Document) -> tuple[Document, str]:
    """Return the first half of a document and its last words, which it has lost. Empty if they are in the first half too."""
    middle = len(document.text) // 2
    # Between paragraphs, if there are several.
    cut = min(
        (found.start() for found in _PARAGRAPH.finditer(document.text.rstrip())), key=lambda start: abs(start - middle), default=middle
    )
    kept, lost = document.text[:cut], " ".join(document.text.split()[-_LOST_WORDS:])
    return Document(document.doc_id, kept, document.title, document.metadata), "" if lost in " ".join(kept.split()) else lost


def read_freshness(folder: str | Path) -> FreshnessData:
    """Read `documents`, `earlier` and `stale.jsonl` of a folder, as in experiments/handbook. Raises DatasetError with every fault.

    Examples
    --------
    >>> import workbench as wb
    >>> len(wb.read_freshness("experiments/handbook").cases)
    70
    """
    folder = Path(folder)
    documents, earlier = (_documents(folder / name) for name in (DOCUMENTS, EARLIER))
    draft = DatasetDraft(folder.name)
    cases = [case for row, where in json_lines(folder / CASES, draft) if (case := _case(row, where, draft))]
    if draft.faults:
        raise DatasetError(str(folder / CASES), draft.faults)
    return FreshnessData(earlier, documents, tuple(cases))


def _documents(folder: Path) -> tuple[Document, ...]:
    draft = DatasetDraft(folder.name)
    read_documents(folder, draft)
    if draft.faults:
        raise DatasetError(str(folder), draft.faults)
    return tuple(document for document, _ in draft.documents)


def _case(row: dict[str, Any], where: str, draft: DatasetDraft) -> StaleCase | None:
    """Return the case of a row, or None with a fault."""
    texts = [row.get(name) for name in ("stale_id", "doc_id", "query")]
    sides = [row.get(name) for name in _SIDES]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        draft.fault(where, "lacks one of 'stale_id', 'doc_id' and 'query'; add it as a text")
        return None
    if not all(isinstance(side, dict) and isinstance(side.get("answer"), str) and side["answer"].strip() for side in sides):
        draft.fault(where, "lacks the 'answer' in 'before' or 'after'; add the value as a text")
        return None
    before, after = (Stated(side["answer"], str(side.get("text") or "")) for side in sides if side)
    return StaleCase(str(texts[0]), str(texts[1]), str(texts[2]), before, after)


Check = Literal["update", "repeat", "shrink", "delete"]
Part = Literal["chunks", "answer"]
State = Literal["passed", "failed", "unscored"]
_STATES: tuple[State, ...] = ("passed", "failed", "unscored")

CHECKS: Mapping[Check, str] = {
    "update": "after the update, the new value and not the old one",
    "repeat": "the same documents again change nothing",
    "shrink": "what a shorter version has lost is not found",
    "delete": "after the deletion, neither value",
}


@dataclass(frozen=True)
class FreshnessOutcome:
    """The outcome of one check of a case, or of a document for `shrink`, with what was seen or the reason why it is unscored."""

    check: Check
    part: Part
    case_id: str
    doc_id: str
    state: State
    seen: str


@dataclass(frozen=True)
class FreshnessReport:
    """The result of a check for stale data.

    `leftover` is the reason why the documents of the check are still in the target, empty if they were deleted.
    """

    target: str
    outcomes: tuple[FreshnessOutcome, ...]
    leftover: str = ""

    @property
    def verdict(self) -> State:
        """Return `failed` if a case failed, `passed` if none did and the update was seen in at least one case, otherwise `unscored`."""
        if self.count("failed"):
            return "failed"
        return "passed" if self.count("passed", "update") else "unscored"

    def count(self, state: State, check: Check | None = None, part: Part | None = None) -> int:
        """Return how many outcomes have a state, of one check or part if it is given."""
        chosen = (each for each in self.outcomes if check in (None, each.check) and part in (None, each.part))
        return sum(each.state == state for each in chosen)

    def frame(self) -> pd.DataFrame:
        """Return a row for each outcome: check, part, case_id, doc_id, state, seen."""
        return pd.DataFrame([vars(each) for each in self.outcomes], columns=["check", "part", "case_id", "doc_id", "state", "seen"])

    def rows(self) -> list[dict[str, str]]:
        """Return a row for each check and part, with counts and the first failure, or the first reason if nothing was scored."""
        rows = list[dict[str, str]]()
        for check, part in product(CHECKS, get_args(Part)):
            if chosen := [outcome for outcome in self.outcomes if (outcome.check, outcome.part) == (check, part)]:
                counts: dict[str, str] = {state: str(self.count(state, check, part)) for state in _STATES}
                first = min(chosen, key=lambda outcome: ("failed", "unscored", "passed").index(outcome.state))
                seen = "" if first.state == "passed" else f"{first.case_id}: {first.seen}"
                rows.append({"check": check, "part": part, **counts, "first": seen})
        return rows

    def lines(self) -> list[str]:
        """Return the report as a table of text."""
        header = ("check", "part", "passed", "failed", "unscored", "first failure, or why unscored")
        table = [header, *(tuple(row.values()) for row in self.rows())]
        left = [f"the documents of the check are still in the target: {self.leftover}"] if self.leftover else []
        return [f"{self.target}: {self.verdict}", *aligned(table), *left]

    def _repr_html_(self) -> str:
        return table_html(f"{self.target}: {self.verdict}", self.rows(), self.leftover)


# The replies to one question: of a search, and of an answer.
CaseReplies = Mapping[Part, TargetReply]


def texts_of(reply: TargetReply) -> tuple[list[str], str]:
    """Return the texts of hits or of an answer, or the reason why there are none."""
    if reply.answer:
        return [reply.answer.text], ""
    texts = [hit.text for hit in reply.hits if hit.text]
    return texts, reply.error or ("the hits have no text" if reply.hits and not texts else "")


def seen(texts: Sequence[str], stated: Stated, part: str) -> str:
    """Return the words by which texts state a value, or an empty text.

    They are the passage that states it in the document. An answer can use other words, so the value alone is enough in its text.
    """
    phrases = (stated.passage, stated.value) if part == "answer" else (stated.passage,)
    return next((phrase for phrase in phrases if any(contains(text, phrase) for text in texts)), "")


def has_words(texts: Sequence[str], phrase: str) -> bool:
    """Return True if texts have all words and numbers of a phrase, each in any of them."""
    return set(terms(phrase)) <= {term for text in texts for term in terms(text)}


def contained(phrase: str, documents: Collection[str]) -> bool:
    """Return True if one of the documents contains a phrase."""
    return any(contains(text, phrase) for text in documents)


def contains(text: str, phrase: str) -> bool:
    """Return True if a text contains a phrase as whole words and numbers, in any case and with any blanks between the words.

    Examples
    --------
    >>> contains("after 14  days", "14 days"), contains("114 days", "14 days"), contains("a factor of 1.25", "1.2"), contains("3,180", "180")
    (True, False, False, False)
    """
    words, folded = _folded(phrase), _folded(text)
    # The pattern is slow, and most texts do not contain the phrase at all.
    return bool(words) and words in folded and whole(words).search(folded) is not None


@lru_cache(maxsize=1024)
def _folded(text: str) -> str:
    return folded(" ".join(text.split()))


def hit_keys(hits: Sequence[TargetHit]) -> list[tuple[str, str, int, int]]:
    """Return the identities of hits, sorted, so that hits of equal scores can be in any order."""
    return sorted(
        (hit.doc_id or "", hit.text or "", -1 if hit.start is None else hit.start, -1 if hit.end is None else hit.end) for hit in hits
    )


PARTS: tuple[Part, ...] = get_args(Part)
Decision = tuple[State, str]


@dataclass(frozen=True)
class FreshnessStage:
    """The documents that the target should have after a change, by their ids, and its reply to the question of each case.

    `probes` are the replies to question and passage together, for the cases whose new value was not in the hits of the question.
    """

    held: Mapping[str, str]
    replies: Mapping[str, CaseReplies]
    probes: Mapping[str, CaseReplies] = field(default_factory=dict)


@dataclass(frozen=True)
class Shrunk:
    """The end that a document lost, and the replies to it as a question, before and after."""

    doc_id: str
    lost: str
    before: CaseReplies
    after: CaseReplies


def outcomes_of(data: FreshnessData, stages: Mapping[str, FreshnessStage], shrunk: list[Shrunk]) -> Iterator[FreshnessOutcome]:
    """Yield the outcome of each check of each case."""
    for case in data.cases:
        for part in PARTS:
            yield FreshnessOutcome("update", part, case.case_id, case.doc_id, *_updated(case, stages, part))
    for case in data.cases:
        before, after = (stages[name].replies[case.case_id]["chunks"] for name in ("update", "repeat"))
        yield FreshnessOutcome("repeat", "chunks", case.case_id, case.doc_id, *_repeated(before, after))
    for each in shrunk:
        yield FreshnessOutcome("shrink", "chunks", each.doc_id, each.doc_id, *_lost(each))
    for case in data.cases:
        for part in PARTS:
            yield FreshnessOutcome("delete", part, case.case_id, case.doc_id, *_deleted(case, stages, part))


def _updated(case: StaleCase, stages: Mapping[str, FreshnessStage], part: Part) -> Decision:
    before, reason = texts_of(stages["earlier"].replies[case.case_id][part])
    texts, later = texts_of(stages["update"].replies[case.case_id][part])
    if reason or later:
        return "unscored", reason or later
    if not seen(before, case.before, part):
        return "unscored", f"the old value was not seen before the update: {case.before.value}"
    old, new = seen(texts, case.before, part), seen(texts, case.after, part)
    if decision := _stale(old, case.before.value, stages["update"], bool(new)):
        return decision
    return ("passed", case.after.value) if new else _missing(case, stages["update"], part)


def _missing(case: StaleCase, stage: FreshnessStage, part: Part) -> Decision:
    """Return the decision about a reply with neither value: the update was lost, unless the new value is found in another way."""
    value = case.after.value
    if part == "answer" and seen(texts_of(stage.replies[case.case_id]["chunks"])[0], case.after, "chunks"):
        return "unscored", f"the answer names neither value, and the chunks have the new one: {value}"
    if (probe := stage.probes.get(case.case_id)) and seen(texts_of(probe["chunks"])[0], case.after, "chunks"):
        return "unscored", f"the question does not find the new value, but its own words do: {value}"
    if probe and has_words(texts_of(probe["chunks"])[0], case.after.passage):
        return "unscored", f"no chunk has all of the new statement, which a boundary may cut: {value}"
    return "failed", f"the new value is missing: {value}"


def _stale(phrase: str, value: str, stage: FreshnessStage, new: bool) -> Decision | None:
    """Return the decision about a phrase that must not be in a reply, or None if it is not."""
    if not phrase:
        return None
    if contained(phrase, stage.held.values()):
        return "unscored", f"{value!r} is in other places too, so that nobody can say where it is from"
    return "failed", f"still there: {value}" + (", beside the new value" if new else "")


def _repeated(before: TargetReply, after: TargetReply) -> Decision:
    if before.error or after.error:
        return "unscored", before.error or after.error
    first, second = hit_keys(before.hits), hit_keys(after.hits)
    if not first and not second:
        return "unscored", "there are no hits"
    if copies := len(second) - len(set(second)) - (len(first) - len(set(first))):
        return "failed", f"{copies} of {len(second)} hits are copies of others"
    if first != second:
        return "failed", f"{len(set(second) - set(first))} of {len(second)} hits are not those before"
    return "passed", f"the same {len(second)} hits"


def _lost(shrunk: Shrunk) -> Decision:
    before, reason = texts_of(shrunk.before["chunks"])
    after, later = texts_of(shrunk.after["chunks"])
    if reason or later:
        return "unscored", reason or later
    if not any(contains(text, shrunk.lost) for text in before):
        return "unscored", "its end was not found before it was cut"
    kept = any(contains(text, shrunk.lost) for text in after)
    return ("failed", "its end is still found") if kept else ("passed", "its end is not found any more")


def _deleted(case: StaleCase, stages: Mapping[str, FreshnessStage], part: Part) -> Decision:
    before, reason = texts_of(stages["restored"].replies[case.case_id][part])
    texts, later = texts_of(stages["delete"].replies[case.case_id][part])
    if reason or later:
        return "unscored", reason or later
    if not seen(before, case.after, part):
        return "unscored", f"the value was not seen before the deletion: {case.after.value}"
    found = [(stated.value, phrase) for stated in (case.before, case.after) if (phrase := seen(texts, stated, part))]
    decisions = [decision for value, phrase in found if (decision := _stale(phrase, value, stages["delete"], new=False))]
    return min(decisions, default=("passed", "neither value"))


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

    async def checked() -> FreshnessReport:
        async with target.session(resources) as session:
            check = _Check(session, target, data)
            try:
                await check.run()
            finally:
                leftover = await check.clear()
        return FreshnessReport(target.name, tuple(outcomes_of(data, check.stages, check.shrunk)), leftover)

    return run_in_thread("freshness", checked)


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
            case for case in self.data.cases if not reason and not seen(texts_of(replies[case.case_id]["chunks"])[0], case.after, "chunks")
        ]
        probes = await self._ask({case.case_id: f"{case.query} {case.after.passage}" for case in hidden}) if name == "update" else {}
        self.stages[name] = FreshnessStage(texts, replies, probes)

    async def _ask(self, questions: Mapping[str, str], reason: str = "") -> dict[str, CaseReplies]:
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
        return (await _limited(change, self.target.ingest_timeout, "the documents were not taken or deleted"))[1]

    async def _observe(self, text: str, reason: str = "") -> CaseReplies:
        query = Query("freshness", text)
        requests = {"chunks": TargetRequest("search", query, self.target.k), "answer": TargetRequest("answer", query)}
        return {part: TargetReply(error=reason) if reason else await self._reply(requests[part]) for part in PARTS}

    async def _reply(self, request: TargetRequest) -> TargetReply:
        async with self._free:
            reply, error = await _limited(reply_of(self.session, request), self.target.timeout, "no reply")
        return reply or TargetReply(error=error)


async def _limited(work: Awaitable[T], seconds: float, what: str) -> tuple[T | None, str]:
    """Return the result of a request, or None and the error that prevented it."""
    try:
        async with asyncio.timeout(seconds):
            return await work, ""
    except TargetDownError:
        raise
    except TargetError as error:
        return None, str(error)
    except TimeoutError as late:
        return None, late_reason(f"{what} within {seconds:g} s", late)
