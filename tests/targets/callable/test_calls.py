"""How functions and objects are called."""

import asyncio
import functools
import sqlite3
import subprocess
import sys
import threading

import pytest

from tests.targets.callable.conftest import RESOURCES, answered, searched
from workbench.records import Document, Passage, Query
from workbench.targets.base import TargetDownError, TargetError
from workbench.targets.callable.live import PythonTarget


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


def test_an_error_of_a_function_is_the_reason_of_its_question_and_the_next_is_asked() -> None:
    def sometimes(query):
        if query == "bad":
            raise KeyError("no\nsuch page")
        if query == "exit":
            sys.exit(3)
        return [query]

    async def sometimes_later(query):
        return sometimes(query)

    async def ask(function):
        reasons = []
        async with PythonTarget(name="mine", search=function).session(RESOURCES) as session:
            for text in ("bad", "exit"):
                with pytest.raises(TargetError) as caught:
                    await session.search(Query("q", text), 3)
                reasons.append(str(caught.value))
            return reasons, [hit.doc_id for hit in await session.search(Query("q", "good"), 3)]

    for function in (sometimes, sometimes_later):
        reasons, hits = asyncio.run(ask(function))
        assert reasons[0].startswith("KeyError: 'no")
        assert "SystemExit" in reasons[1]
        assert not any("\n" in reason for reason in reasons)
        assert hits == ["good"]


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
import asyncio, threading
from workbench.llm.session import CallResources
from workbench.records import Query
from workbench.targets.base import TargetResources
from workbench.targets.callable.live import PythonTarget

def search(query):
    if query == "hang":
        threading.Event().wait()
    return [query]

async def ask():
    async with PythonTarget(name="mine", search=search).session(TargetResources(CallResources())) as session:
        try:
            await asyncio.wait_for(session.search(Query("q", "hang"), 1), 0.2)
        except TimeoutError:
            print("timeout")
        print((await session.search(Query("q", "next"), 1))[0].doc_id)

asyncio.run(ask())
"""


def test_a_function_that_hangs_neither_blocks_the_next_question_nor_the_end_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["timeout", "next"]), done.stderr


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
