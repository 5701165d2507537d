"""The check for stale data: an index that replaces passes, and those that only add or overwrite fail."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from workbench.core.errors import InputError
from workbench.core.records import Answer, Document, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources
from workbench.systems.freshness import CHECKS, FreshnessData, FreshnessReport, StaleCase, Stated, check_freshness, read_freshness
from workbench.systems.pipeline import PipelineTarget

HANDBOOK = Path(__file__).parents[3] / "experiments" / "handbook"
RESOURCES = TargetResources(CallResources())
EXTRACTIVE = {"kind": "extractive"}


@pytest.fixture(scope="module")
def data() -> FreshnessData:
    """Three documents of the handbook that changed, and two that did not."""
    whole = read_freshness(HANDBOOK)
    changed = [document.doc_id for document in whole.earlier][:3]
    others = [document.doc_id for document in whole.current if document.doc_id not in {old.doc_id for old in whole.earlier}][:2]
    return whole.only([*changed, *others])


@pytest.fixture(scope="module")
def replaced(data: FreshnessData) -> FreshnessReport:
    return check_freshness(PipelineTarget(name="ours", answering=EXTRACTIVE), data, RESOURCES)


@pytest.fixture(scope="module")
def appended(data: FreshnessData) -> FreshnessReport:
    return check_freshness(PipelineTarget(name="ours", answering=EXTRACTIVE, mode="append"), data, RESOURCES)


@pytest.mark.slow
def test_an_index_that_replaces_documents_passes_every_check(replaced: FreshnessReport, data: FreshnessData) -> None:
    assert replaced.verdict == "passed"
    assert len(data.cases) >= 15
    for check in ("update", "repeat", "delete"):
        assert replaced.count("passed", check, "chunks") == len(data.cases)
    assert replaced.count("passed", "shrink") == 3
    assert replaced.count("passed", "update", "answer") >= len(data.cases) // 2
    assert replaced.leftover == ""


@pytest.mark.slow
def test_an_index_that_only_adds_fails_every_check(appended: FreshnessReport, data: FreshnessData) -> None:
    assert appended.verdict == "failed"
    # A question whose hits are full of copies can find neither version.
    assert appended.count("failed", "update", "chunks") >= len(data.cases) - 1
    assert appended.count("passed", "update", "chunks") == 0
    assert appended.count("failed", "update", "answer") >= len(data.cases) // 2
    assert appended.count("failed", "repeat") == len(data.cases)
    assert appended.count("failed", "shrink") == 3
    assert appended.count("failed", "delete", "chunks") >= len(data.cases) // 2
    assert appended.count("passed", "delete", "chunks") == 0


def test_an_index_that_overwrites_numbered_chunks_leaves_those_beyond_a_shorter_version(data: FreshnessData) -> None:
    report = check_freshness(PipelineTarget(name="ours", embedder={"kind": "hashed"}, mode="upsert"), data, RESOURCES)
    assert report.verdict == "failed"
    assert {each.check for each in report.outcomes if each.state == "failed"} == {"shrink"}
    assert report.count("failed", "shrink") == 3
    # It does not answer, and says so.
    assert {each.seen for each in report.outcomes if each.part == "answer"} == {"the target does not answer"}


@pytest.mark.slow
def test_every_case_has_an_outcome_with_what_was_seen(replaced: FreshnessReport, appended: FreshnessReport, data: FreshnessData) -> None:
    for report in (replaced, appended):
        expected = {(check, part, case.case_id) for case in data.cases for check in ("update", "delete") for part in ("chunks", "answer")}
        expected |= {("repeat", "chunks", case.case_id) for case in data.cases}
        expected |= {("shrink", "chunks", document.doc_id) for document in data.earlier}
        assert {(each.check, each.part, each.case_id) for each in report.outcomes} == expected
        assert all(each.seen for each in report.outcomes)
        assert list(report.frame().columns) == ["check", "part", "case_id", "doc_id", "state", "seen"]
        assert len(report.frame()) == len(expected)
    first = next(each for each in appended.outcomes if each.state == "failed")
    assert first.seen == f"still there: {data.cases[0].before.value}, beside the new value"


@pytest.mark.slow
def test_the_report_is_a_table_of_text(appended: FreshnessReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    title, header, *rows = appended.lines()
    assert title == "ours: failed"
    assert header.split()[:5] == ["check", "part", "passed", "failed", "unscored"]
    assert [tuple(row.split()[:2]) for row in rows[:6]] == [
        ("update", "chunks"),
        ("update", "answer"),
        ("repeat", "chunks"),
        ("shrink", "chunks"),
        ("delete", "chunks"),
        ("delete", "answer"),
    ]
    # The index deletes nothing and does not notice, so that the check cannot notice either.
    assert len(rows) == 6
    assert "<table" in appended._repr_html_()
    assert set(CHECKS) == {row["check"] for row in appended.rows()}


OLD = Document("leave", "Staff get 20 days of leave a year.\n\nAsk early, before the end of May.")
NEW = Document("leave", "Staff get 25 days of leave a year.\n\nAsk early, before the end of June.")
OTHER = Document("pay", "Salaries are paid on day 20 of the month.")
CASE = StaleCase("c1", "leave", "how many days of leave", Stated("20 days"), Stated("25 days"))
SMALL = FreshnessData((OLD,), (NEW, OTHER), (CASE,))


class ShelfTarget(Target):
    """A target that returns all documents that it has, whatever is asked, with a fault."""

    kind: Literal["shelf"] = "shelf"
    fault: str = ""

    @property
    def searches(self) -> bool:
        return True

    @property
    def answers(self) -> bool:
        return True

    @property
    def ingests(self) -> bool:
        return self.fault != "closed"

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        yield Shelf(self.fault)


@dataclass
class Shelf(System):
    fault: str
    texts: dict[str, str] = field(default_factory=dict)
    ingestions: int = 0

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        if self.fault == "slow":
            await asyncio.sleep(60)
        if self.fault == "raises":
            raise TargetError("the index is being rebuilt")
        if self.fault == "shy" and self.ingestions == 2 and "25 days" not in query.text:
            return [TargetHit("pay", self.texts["pay"])]
        return [TargetHit(doc_id, None if self.fault == "ids" else text) for doc_id, text in self.texts.items()][:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        if self.fault == "mixed":
            return Answer(text="Once 20 days, now 25 days.")
        if self.fault == "mute" and self.ingestions > 1:
            return Answer(text="Ask early.")
        if self.fault == "shy" and self.ingestions == 2:
            return Answer(text="I do not know.")
        return Answer(text=" ".join(self.texts.values()))

    async def ingest(self, documents: Sequence[Document]) -> None:
        self.ingestions += 1
        if self.fault == "down":
            raise TargetDownError("the process ended")
        if self.fault == "once" and self.ingestions > 1:
            raise TargetError("the quota is spent")
        self.texts |= {document.doc_id: document.text for document in documents if self.fault != "drops" or self.ingestions == 1}
        if self.fault == "drops" and self.ingestions == 2:
            del self.texts["leave"]

    async def remove(self, doc_ids: Sequence[str]) -> None:
        if self.fault == "keeps":
            raise TargetError("the target deletes no documents")
        for doc_id in doc_ids:
            self.texts.pop(doc_id, None)


def small(fault: str = "", data: FreshnessData = SMALL) -> FreshnessReport:
    return check_freshness(ShelfTarget(name="shelf", fault=fault), data, RESOURCES)


def states(report: FreshnessReport, part: str = "chunks") -> dict[str, tuple[str, str]]:
    return {each.check: (each.state, each.seen) for each in report.outcomes if each.part == part}


def test_a_target_without_a_fault_passes() -> None:
    report = small()
    assert report.verdict == "passed"
    assert states(report) == {
        "update": ("passed", "25 days"),
        "repeat": ("passed", "the same 2 hits"),
        "shrink": ("passed", "its end is not found any more"),
        "delete": ("passed", "neither value"),
    }


def test_a_target_that_loses_an_updated_document_fails() -> None:
    assert states(small("drops"))["update"] == ("failed", "the new value is missing: 25 days")


def test_a_new_value_that_only_its_own_words_find_is_unscored() -> None:
    reason = "the question does not find the new value, but its own words do: 25 days"
    assert states(small("shy"))["update"] == ("unscored", reason)


def test_an_answer_with_neither_value_is_unscored_where_the_chunks_have_the_new_one() -> None:
    report = small("mute")
    assert states(report)["update"][0] == "passed"
    reason = "the answer names neither value, and the chunks have the new one: 25 days"
    assert states(report, "answer")["update"] == ("unscored", reason)


def test_a_target_that_deletes_nothing_is_unscored_there_and_keeps_the_documents() -> None:
    report = small("keeps")
    assert states(report)["update"][0] == "passed"
    assert states(report)["delete"] == ("unscored", "the target deletes no documents")
    assert report.verdict == "passed"
    assert report.leftover == "the target deletes no documents"
    assert report.lines()[-1] == "the documents of the check are still in the target: the target deletes no documents"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raises", "the index is being rebuilt"),
        ("ids", "the hits have no text"),
        ("once", "the quota is spent"),
    ],
)
def test_what_cannot_be_seen_is_unscored_with_its_reason(fault: str, reason: str) -> None:
    report = small(fault)
    assert states(report)["update"] == ("unscored", reason)


def test_a_request_that_hangs_is_unscored() -> None:
    report = check_freshness(ShelfTarget(name="shelf", fault="slow", timeout=0.5), SMALL, RESOURCES)
    assert states(report)["update"] == ("unscored", "no reply within 0.5 s")
    assert states(report, "answer")["update"] == ("passed", "25 days")


def test_a_target_that_breaks_down_ends_the_check() -> None:
    with pytest.raises(TargetDownError, match="the process ended"):
        small("down")


def test_an_old_value_that_is_also_elsewhere_is_not_taken_for_stale() -> None:
    other = Document("notice", "The notice period is 20 days.")
    report = small(data=FreshnessData((OLD,), (NEW, other), (CASE,)))
    reason = "'20 days' is in other places too, so that nobody can say where it is from"
    assert states(report)["update"] == ("unscored", reason)
    assert report.count("failed") == 0


def test_an_answer_with_both_values_is_stale() -> None:
    assert states(small("mixed"), "answer")["update"] == ("failed", "still there: 20 days, beside the new value")


def test_a_target_that_takes_no_documents_is_refused() -> None:
    with pytest.raises(InputError, match="the target shelf takes no documents"):
        small("closed")
    with pytest.raises(InputError, match="there is no case"):
        small(data=FreshnessData((OLD,), (NEW,), ()))
