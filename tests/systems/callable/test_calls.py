"""How functions and objects are called."""

import asyncio
import functools
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.systems.callable.conftest import RESOURCES, answered, searched
from workbench.core.errors import RunError
from workbench.core.records import Document, Passage, Query
from workbench.systems.asking import TargetRequest, ask_target
from workbench.systems.base import TargetDownError, TargetError
from workbench.systems.callable.target import PythonTarget
from workbench.systems.callable.threads import left_running


def only_query(query):
    return [query]


def with_k(query, k):
    return [f"{query}{rank}" for rank in range(k)]


def with_top_k(question, *, top_k=1):
    return [f"{question}{rank}" for rank in range(top_k)]


def with_any_second(text, size):
    return [f"{text}{rank}" for rank in range(size)]


def yielding(query, k=1):
    yield from (f"{query}{rank}" for rank in range(k))


async def asynchronous(query, k):
    await asyncio.sleep(0)
    return [f"{query}{rank}" for rank in range(k)]


async def asynchronously_yielding(query, k):
    for rank in range(k):
        yield f"{query}{rank}"


def named_only(*, query, k):
    return [f"{query}{rank}" for rank in range(k)]


class Searcher:
    def search(self, query, k):
        return [f"{query}{rank}" for rank in range(k)]


class Called:
    async def __call__(self, query, k=1):
        return [f"{query}{rank}" for rank in range(k)]


@pytest.mark.parametrize(
    "system",
    [
        with_k,
        with_top_k,
        with_any_second,
        yielding,
        asynchronous,
        asynchronously_yielding,
        named_only,
        functools.partial(with_k, k=3),
        functools.partial(asynchronous, k=3),
        lambda *args: with_k(args[0], 3),
        Searcher,
        Searcher(),
        Searcher().search,
        Called(),
        lambda: Searcher(),
    ],
)
def test_a_question_and_the_number_of_hits_reach_every_kind_of_function(system: object) -> None:
    assert [hit.doc_id for hit in searched(PythonTarget(name="mine", search=system))] == ["leave0", "leave1", "leave2"]


def test_a_function_of_the_question_alone_is_called_with_it() -> None:
    assert [hit.doc_id for hit in searched(PythonTarget(name="mine", search=only_query))] == ["leave"]


def test_the_filter_of_a_question_reaches_a_function_that_takes_one() -> None:
    def found(search: object, where: dict[str, object]) -> list[str | None]:
        return [hit.doc_id for hit in searched(PythonTarget(name="mine", search=search), where=where)]

    hr = {"groups": "hr"}
    assert found(lambda query, where=None: [f"{query} {where}"], hr) == ["leave {'groups': 'hr'}"]
    assert found(lambda query, where: [f"{query} {where}"], {}) == ["leave {}"]
    # Without a filter, a default keeps its meaning.
    assert found(lambda query, where="title": [f"{query} {where}"], {}) == ["leave title"]
    assert found(only_query, hr) == ["leave"]
    answer = PythonTarget(name="mine", answer=lambda query, where=None: f"{query} {where}")
    assert answered(answer, where=hr).text == "leave {'groups': 'hr'}"


def test_a_context_reaches_a_function_as_texts_and_is_refused_by_one_that_takes_none() -> None:
    target = PythonTarget(name="mine", answer=lambda query, context=None: f"{query}: {context}", context=True)
    assert target.takes_context
    assert answered(target).text == "leave: None"
    assert answered(target, context=[Passage("d", 0, 2, "A.")]).text == "leave: ['A.']"
    with pytest.raises(TargetError, match="takes no context; set context: true"):
        answered(PythonTarget(name="mine", answer=str.upper), context=[])


def test_pieces_of_an_answer_are_joined() -> None:
    def pieces(query):
        yield query
        yield "."

    async def later(query):
        yield query
        yield "."

    assert answered(PythonTarget(name="mine", answer=pieces)).text == "leave."
    assert answered(PythonTarget(name="mine", answer=later)).text == "leave."


def test_one_object_of_a_class_serves_all_roles_and_is_closed() -> None:
    closed = []

    class Store:
        def __init__(self):
            self.texts = {}

        def ingest(self, documents):
            self.texts |= {document.doc_id: document.text for document in documents}

        def remove(self, doc_ids):
            for doc_id in doc_ids:
                del self.texts[doc_id]

        def search(self, query, k):
            return [doc_id for doc_id, text in self.texts.items() if query in text]

        def close(self):
            closed.append(self)

    target = PythonTarget(name="mine", search=Store, ingest=Store, remove=Store)

    async def run():
        async with target.session(RESOURCES) as session:
            await session.ingest([Document("a", "the taxi"), Document("b", "a taxi")])
            before = await session.search(Query("q", "taxi"), 5)
            await session.remove(["a"])
            return before, await session.search(Query("q", "taxi"), 5)

    before, after = asyncio.run(run())
    assert ([hit.doc_id for hit in before], [hit.doc_id for hit in after]) == (["a", "b"], ["b"])
    assert len(closed) == 1
    assert target.ingests


@pytest.mark.parametrize(
    "error", [KeyError("no\nsuch page"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), BaseException("odd")]
)
def test_whatever_a_function_raises_is_the_reason_of_its_question_and_the_next_is_asked(error: BaseException) -> None:
    def sometimes(query):
        if query == "bad":
            raise error
        return [query]

    async def sometimes_later(query):
        return sometimes(query)

    async def in_a_task(query):
        return await asyncio.create_task(sometimes_later(query))

    for function in (sometimes, sometimes_later, in_a_task):
        requests = [TargetRequest("search", Query(text, text), k=3) for text in ("bad", "good", "bad again")]
        replies = dict(ask_target(PythonTarget(name="mine", search=function), requests, RESOURCES))
        assert type(error).__name__ in replies[0].error
        assert "\n" not in replies[0].error
        assert [[hit.doc_id for hit in replies[place].hits] for place in (1, 2)] == [["good"], ["bad again"]]


def test_a_child_that_a_function_forks_ends_where_the_function_returns(tmp_path: Path) -> None:
    def forking(query):
        if (child := os.fork()) == 0:
            (tmp_path / query).touch()
            raise KeyError("in the child")
        return [query, str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))]

    async def forking_later(query):
        return forking(query)

    for function in (forking, forking_later):
        name = function.__name__
        assert [hit.doc_id for hit in searched(PythonTarget(name="mine", search=function), name)] == [name, "0"]
        assert (tmp_path / name).exists()


def test_coroutines_of_a_session_share_a_loop() -> None:
    class Client:
        def __init__(self):
            self.lock = asyncio.Lock()

        async def search(self, query):
            async with self.lock:
                await asyncio.sleep(0.01)
            return [query]

        async def aclose(self):
            self.closed = asyncio.get_running_loop() is self.lock._loop

    client = Client()
    target = PythonTarget(name="mine", search=lambda: client, concurrency=4)
    replies = dict(ask_target(target, [TargetRequest("search", Query(text, text), k=1) for text in "abcdef"], RESOURCES))
    assert [replies[place].hits[0].doc_id for place in range(6)] == list("abcdef")
    assert client.closed


def test_an_object_that_is_never_made_stops_everything_with_its_name() -> None:
    never = threading.Event()

    class Slow:
        def __init__(self):
            never.wait()

        def search(self, query):
            return [query]

    with pytest.raises(RunError, match=r"Slow was not made in 0.3 seconds \(ingest_timeout\); Slow is still running; check"):
        list(ask_target(PythonTarget(name="mine", search=Slow, ingest_timeout=0.3), [TargetRequest("search", Query("q", "x"))], RESOURCES))
    assert left_running() == ["1 call that took too long still runs in this process: Slow"]
    never.set()


def test_calls_one_after_the_other_are_made_by_one_thread() -> None:
    class Table:
        def __init__(self):
            self.rows = sqlite3.connect(":memory:")

        def search(self, query, k):
            return [str(row[0]) for row in self.rows.execute("select 7")]

    target = PythonTarget(name="mine", search=Table)

    async def ask():
        async with target.session(RESOURCES) as session:
            return [(await session.search(Query("q", text), 1))[0].doc_id for text in "ab"]

    assert asyncio.run(ask()) == ["7", "7"]


def test_calls_at_the_same_time_are_made_by_several_threads() -> None:
    meeting = threading.Barrier(2, timeout=30)

    def meet(query):
        meeting.wait()
        return [query]

    async def ask():
        async with PythonTarget(name="mine", search=meet, concurrency=2).session(RESOURCES) as session:
            return await asyncio.gather(*(session.search(Query("q", text), 1) for text in "ab"))

    assert [hits[0].doc_id for hits in asyncio.run(ask())] == ["a", "b"]


HANGING = """
import asyncio, sys, threading
from workbench.llm.session import CallResources
from workbench.core.records import Query
from workbench.systems.asking import TargetRequest, ask_target
from workbench.systems.base import TargetResources
from workbench.systems.callable.target import PythonTarget
from workbench.systems.callable.threads import left_running

never = threading.Event()

def search(query):
    if query == "hang":
        never.wait()
    return [query]

async def blocking(query):
    return search(query)

async def stubborn(query):
    while query == "hang":
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
    return [query]

async def pieces(query):
    yield (await blocking(query))[0]

async def threaded(query):
    return await asyncio.to_thread(search, query)

def returning(query):
    return blocking(query)

for function in (search, blocking, stubborn, pieces, threaded, returning):
    target = PythonTarget(name="mine", search=function, timeout=0.3)
    requests = [TargetRequest("search", Query(text, text), k=1) for text in ("hang", "next", "hang on")]
    replies = dict(ask_target(target, requests, TargetResources(CallResources())))
    print(function.__name__, [[hit.doc_id for hit in replies[place].hits] or replies[place].error for place in range(3)])
print(left_running())
"""
STILL = "no reply in 0.3 seconds; {} is still running"


def test_a_function_that_hangs_fails_its_question_alone_and_is_named_and_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=120)
    *lines, left = done.stdout.splitlines()
    names = ("search", "blocking", "stubborn", "pieces", "threaded", "returning")
    # The thread of `asyncio.to_thread` goes on, but the coroutine that waited for it has ended.
    errors = {name: STILL.format(name) for name in names} | {"threaded": "no reply in 0.3 seconds"}
    assert lines == [f"{name} {[errors[name], ['next'], ['hang on']]}" for name in names], done.stderr
    assert left == "['5 calls that took too long still run in this process: blocking, pieces, returning, search and stubborn']"
    assert (done.returncode, done.stderr) == (0, "")


def test_a_class_that_cannot_be_made_stops_everything_with_its_reason() -> None:
    class Broken:
        def __init__(self):
            raise OSError("no index here")

        def search(self, query):
            return []

    with pytest.raises(TargetDownError, match="Broken cannot be made: OSError: no index here"):
        searched(PythonTarget(name="mine", search=Broken))
    with pytest.raises(TargetDownError, match="is a dict, which cannot search"):
        searched(PythonTarget(name="mine", search=dict))


def test_a_function_that_does_not_fit_is_an_error_before_any_question(wording) -> None:
    cases = {
        "no function": {"search": 3},
        "a third parameter without a default": {"search": lambda query, k, user: [query, k, user]},
        "a method of a class": {"search": Searcher.search},
        "no parameter by position": {"search": lambda **named: list(named)},
        "context without a setting": {"answer": lambda query, context: query + context},
        "a setting without context": {"answer": lambda query: query, "context": True},
        "context without an answer": {"search": only_query, "context": True},
        "ingest alone": {"ingest": only_query},
    }
    wording(lambda arguments: PythonTarget(name="mine", **arguments), cases)
