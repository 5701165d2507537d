"""Questions are put to a target at once, each reply is kept, and a failure is that of its question."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import ClassVar, Literal

import pytest

from workbench.core.errors import RunError
from workbench.core.records import Answer, Document, Passage, Query, SampledCall, TargetHit
from workbench.core.storage.call_cache import CallCache
from workbench.llm.session import CallResources
from workbench.systems.asking import TargetReply, TargetRequest, ask_target
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources


class EchoTarget(Target):
    """A target that finds the question itself. `fails` are words of questions on which it fails."""

    kind: Literal["echo"] = "echo"
    fails: tuple[str, ...] = ()
    takes_documents: bool = False
    slow: tuple[str, ...] = ()

    @property
    def searches(self) -> bool:
        return True

    @property
    def answers(self) -> bool:
        return True

    def secrets(self) -> tuple[str, ...]:
        return ('a "secret" key',)

    @property
    def ingests(self) -> bool:
        return self.takes_documents

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        if "start" in self.fails:
            raise TargetDownError("nothing listens there")
        yield EchoSession(self)


class EchoSession(System):
    """Counts the requests that are open."""

    opened: ClassVar[list[int]] = []
    asked: ClassVar[list[str]] = []

    def __init__(self, target: EchoTarget) -> None:
        self._target, self._open = target, 0

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        self._open += 1
        self.opened.append(self._open)
        self.asked.append(query.text)
        await asyncio.sleep(60 if any(word in query.text for word in self._target.slow) else 0.001)
        self._open -= 1
        if any(word in query.text for word in self._target.fails):
            raise TargetError(f"cannot find {query.text}")
        if "nested" in query.text:
            nested: list[object] = []
            for _ in range(100_000):
                nested = [nested]
            return [TargetHit("d", metadata={"deep": nested})]
        if "raises" in query.text:
            raise ZeroDivisionError("by zero")
        if "nan" in query.text:
            return [TargetHit("d", score=float("nan"), metadata={"x": float("inf")})]
        if "half" in query.text:
            raise TargetError(f"down {query.text}")
        return [] if "nothing" in query.text else [TargetHit(f"{query.text} {number}", metadata={"at": {1, 2}}) for number in range(k + 5)]

    async def ingest(self, documents: Sequence[Document]) -> None:
        self.asked.append(f"ingest {len(documents)}")
        if any("fail" in document.text for document in documents):
            raise TargetError("the disk is full")
        await asyncio.sleep(60 if any("slow" in document.text for document in documents) else 0)

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        if "empty" in query.text:
            return Answer(" ")
        if query.text == "huge":
            return Answer("x", input_tokens=10**30, output_tokens=7, cost=float("nan"))
        if query.text == "<think>":
            return Answer("<think>about")
        given = None if context is None else tuple(TargetHit(text=passage.text) for passage in context)
        return Answer(f"about {query.text}", sources=given, samples=(SampledCall("a prompt", "a reply"),), cost=0.5, model="m")


@pytest.fixture(autouse=True)
def counted() -> None:
    EchoSession.opened, EchoSession.asked = [], []


@pytest.fixture
def resources(tmp_path) -> TargetResources:
    return TargetResources(CallResources(CallCache(tmp_path / "calls.sqlite")))


@pytest.fixture
def ask(resources) -> Callable[..., list[TargetReply]]:
    def asked(target: Target, *texts: str) -> list[TargetReply]:
        requests = [TargetRequest("search", Query(text, text), k=2) for text in texts]
        replies = dict(ask_target(target, requests, resources))
        return [replies[place] for place in range(len(texts))]

    return asked


def test_each_question_gets_its_hits_and_at_most_k(ask):
    first, second = ask(EchoTarget(name="echo"), "one", "two")
    assert [hit.doc_id for hit in first.hits] == ["one 0", "one 1"]
    assert [hit.doc_id for hit in second.hits] == ["two 0", "two 1"]
    assert first.seconds > 0
    # What is not JSON has become a text, in this run as in the next one.
    assert first.hits[0].metadata == {"at": str({1, 2})}


def test_no_more_requests_are_open_than_the_target_allows(ask):
    ask(EchoTarget(name="echo", concurrency=3), *map(str, range(20)))
    assert max(EchoSession.opened) == 3


def test_a_failure_is_that_of_its_question_and_only_failures_are_asked_again(ask):
    target = EchoTarget(name="echo", fails=("two",))
    one, two, raising = ask(target, "one", "two", "raises")
    assert (one.error, two.error, raising.error) == ("", "cannot find two", "ZeroDivisionError: by zero")
    EchoSession.asked = []
    again = ask(target, "one", "two", "raises")
    assert sorted(EchoSession.asked) == ["raises", "two"]
    assert again[0].cached
    assert again[0].hits == one.hits


def test_settings_that_change_no_reply_ask_for_nothing_again_and_a_revision_asks_for_all(ask):
    ask(EchoTarget(name="echo"), "one")
    ask(EchoTarget(name="other", timeout=5, concurrency=1, match="id"), "one")
    assert EchoSession.asked == ["one"]
    ask(EchoTarget(name="echo", revision="2"), "one")
    assert EchoSession.asked == ["one", "one"]


def test_equal_questions_are_asked_once(ask):
    first, second = ask(EchoTarget(name="echo"), "one", "one")
    assert EchoSession.asked == ["one"]
    assert first == second


def test_a_request_that_takes_too_long_fails_alone(ask):
    quick, slow = ask(EchoTarget(name="echo", slow=("slow",), timeout=2), "quick", "slow")
    assert quick.hits
    assert slow.error == "no reply in 2 seconds"


def test_a_target_that_fails_at_first_is_asked_ten_questions(ask):
    with pytest.raises(RunError, match=r"the target echo failed: its first 10 requests all failed, first with: cannot find q0; check"):
        ask(EchoTarget(name="echo", fails=("q",), concurrency=1), *(f"q{number}" for number in range(50)))
    assert len(EchoSession.asked) == 10


def test_a_target_that_fails_on_the_only_questions_fails(ask):
    with pytest.raises(RunError, match="it failed on all of 2 requests, first with: cannot find q"):
        ask(EchoTarget(name="echo", fails=("q",), concurrency=1), "q1", "q2")


def test_a_target_that_cannot_be_reached_fails_in_one_line(ask):
    with pytest.raises(RunError, match="the target echo failed: nothing listens there; check that it runs"):
        ask(EchoTarget(name="echo", fails=("start",)), "one")


@pytest.mark.parametrize(("canary", "why"), [("nothing", "has no hit;"), ("two", "has no hit: cannot find two;")])
def test_a_canary_question_without_a_hit_stops_the_target(ask, canary, why):
    with pytest.raises(RunError, match=f"its canary question '{canary}' {why}"):
        ask(EchoTarget(name="echo", canary=canary, fails=("two",)), "one")
    assert EchoSession.asked == [canary]


def test_an_answer_keeps_its_sources_samples_and_cost(resources):
    request = TargetRequest("answer", Query("q", "one"), context=(Passage("d", 0, 4, "text"),))
    for cached in (False, True):
        ((_, reply),) = ask_target(EchoTarget(name="echo"), [request], resources)
        assert reply.answer == Answer(
            "about one", sources=(TargetHit(text="text"),), samples=(SampledCall("a prompt", "a reply"),), cost=0.5, model="m"
        )
        assert reply.cached is cached


def test_an_empty_answer_is_an_answer_and_repeats_are_asked_again(resources):
    empty, one, repeated = (
        TargetRequest("answer", Query(text, text), repeat=repeat) for text, repeat in (("empty", 0), ("one", 0), ("one", 1))
    )
    replies = dict(ask_target(EchoTarget(name="echo"), [empty, one, repeated], resources))
    assert (replies[0].error, replies[0].answer.text.strip()) == ("", "")
    assert not replies[2].cached
    stored = dict(ask_target(EchoTarget(name="echo"), [one, repeated], resources))
    assert stored[0].cached
    assert stored[1].cached


def test_reasoning_of_a_target_is_no_part_of_its_answer_and_alone_a_failure(resources):
    requests = [TargetRequest("answer", Query(text, text)) for text in ("think</think>\n\nit purrs", "<think>", "`</think>`")]
    for cached in (False, True):
        replies = dict(ask_target(EchoTarget(name="echo"), requests, resources))
        assert [replies[place].answer and replies[place].answer.text for place in (0, 2)] == ["it purrs", "about `</think>`"]
        assert [replies[place].cached for place in (0, 2)] == [cached, cached]
        assert replies[1].answer is None
        assert replies[1].error == "the reply is reasoning without an answer"


def test_a_caller_that_stops_ends_the_requests(resources):
    requests = [TargetRequest("search", Query(text, text), k=1) for text in ("quick", "slow")]
    replies = ask_target(EchoTarget(name="echo", slow=("slow",)), requests, resources)
    assert next(replies)[0] == 0
    replies.close()


def test_a_target_gets_the_documents_before_it_is_asked_and_again_when_they_change(resources):
    target, requests = EchoTarget(name="echo", takes_documents=True), [TargetRequest("search", Query("q", "one"), k=1)]
    for text in ("old", "old", "new"):
        list(ask_target(target, requests, replace(resources, documents=(Document("d", text),))))
    assert EchoSession.asked == ["ingest 1", "one", "ingest 1", "one"]
    EchoSession.asked = []
    list(ask_target(EchoTarget(name="echo", revision="2"), requests, replace(resources, documents=(Document("d", "old"),))))
    assert EchoSession.asked == ["one"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fail", "it did not take the documents: the disk is full"),
        ("slow", r"it did not take 1 documents in 0.2 seconds \(ingest_timeout\)"),
    ],
)
def test_a_target_that_does_not_take_the_documents_is_asked_nothing(resources, text, why):
    target = EchoTarget(name="echo", takes_documents=True, ingest_timeout=0.2)
    with pytest.raises(RunError, match=why):
        list(ask_target(target, [TargetRequest("search", Query("q", "one"))], replace(resources, documents=(Document("d", text),))))
    assert EchoSession.asked == ["ingest 1"]


@pytest.mark.parametrize("echo", ['a "secret" key', 'yek "terces" a', "a%20%22secret%22%20key", "YSAic2VjcmV0IiBrZX"])
def test_a_reply_or_an_error_that_repeats_a_secret_is_stored_without_it(ask, echo):
    for _ in range(2):
        (reply,) = ask(EchoTarget(name="echo"), echo)
        assert [hit.doc_id for hit in reply.hits] == ["… 0", "… 1"]
    with pytest.raises(RunError, match="first with: cannot find …;"):
        ask(EchoTarget(name="echo", fails=(echo,)), echo)


def test_numbers_that_no_table_has_are_none(ask, resources):
    for _ in range(2):
        (reply,) = ask(EchoTarget(name="echo"), "nan")
        assert reply.hits == (TargetHit("d", metadata={"x": None}),)
        ((_, reply),) = ask_target(EchoTarget(name="echo"), [TargetRequest("answer", Query("q", "huge"))], resources)
        assert (reply.answer.input_tokens, reply.answer.output_tokens, reply.answer.cost) == (None, 7, None)


def test_half_of_a_surrogate_pair_in_an_error_is_visible(ask):
    one, half = ask(EchoTarget(name="echo"), "one", "half \ud800\x1b")
    assert one.hits
    assert half.error == r"down half \ud800\x1b"


def test_a_reply_that_is_nested_too_deeply_fails_alone(ask):
    one, nested = ask(EchoTarget(name="echo", concurrency=1), "one", "nested")
    assert one.hits
    assert nested.error.startswith("RecursionError: ")


def test_a_question_with_another_filter_is_asked_again(resources):
    for where in ({"groups": "hr"}, {"groups": "finance"}, {"groups": "hr"}, {}):
        list(ask_target(EchoTarget(name="echo"), [TargetRequest("search", Query("q", "one", where=where), k=1)], resources))
    assert EchoSession.asked == ["one"] * 3


def test_a_target_is_asked_again_when_the_metadata_of_its_documents_change(resources):
    target, requests = EchoTarget(name="echo", takes_documents=True), [TargetRequest("search", Query("q", "one"), k=1)]
    for groups in ("hr", "finance"):
        list(ask_target(target, requests, replace(resources, documents=(Document("d", "text", "", {"groups": groups}),))))
    assert EchoSession.asked == ["ingest 1", "one"] * 2
