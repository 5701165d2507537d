"""Questions that are captured while they are answered: `with log.question(...)` and functions under `log.watch`."""

import asyncio
import inspect
import itertools
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import workbench as wb
from tests.monitor.written_log import rows
from workbench.monitor.log.fields import row_fault


@pytest.fixture
def log(tmp_path: Path) -> wb.QueryLog:
    return wb.QueryLog(tmp_path)


def written(log: wb.QueryLog, folder: Path) -> list[dict[str, Any]]:
    log.close()
    found = rows(folder)
    assert [row_fault(row) for row in found] == [""] * len(found)
    return found


def test_a_question_is_logged_at_the_end_of_its_block(log: wb.QueryLog, tmp_path: Path) -> None:
    hits = [{"doc_id": "d1", "text": "a"}]
    with log.question("who pays?", user="ann") as question:
        with question.embedding():
            time.sleep(0.01)
        for _ in range(2):
            with question.retrieval():
                time.sleep(0.01)
        with question.reranking(), question.generation():
            pass
        question.hits(hits)
        hits[0]["text"] = "changed later"
        question.answer("we do", model="m")
        question.set(turn=1)
        log.feedback(question.id, value=1)
    (row,) = written(log, tmp_path)
    assert row["id"] == question.id
    assert row["hits"] == [{"hop": 0, "doc_id": "d1", "text": "a"}]
    assert (row["query"], row["user"], row["answer"], row["model"], row["turn"]) == ("who pays?", "ann", "we do", "m", 1)
    assert row["embedding_seconds"] >= 0.01
    assert row["retrieval_seconds"] >= 0.02
    assert row["seconds"] >= row["embedding_seconds"] + row["retrieval_seconds"]
    assert {"reranking_seconds", "generation_seconds"} <= row.keys()
    assert "hops" not in row


def test_several_retrievals_are_hops(log: wb.QueryLog, tmp_path: Path) -> None:
    with log.question("who pays?") as question:
        question.hits(["d1", "d2"], query="payer")
        question.hits([])
        question.hits(["d1"], query="taxi")
    (row,) = written(log, tmp_path)
    assert row["hits"] == [{"hop": 0, "doc_id": "d1"}, {"hop": 0, "doc_id": "d2"}, {"hop": 2, "doc_id": "d1"}]
    assert row["hops"] == [{"query": "payer"}, {"query": None}, {"query": "taxi"}]


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [ValueError("no index"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), StopIteration(1)])
def test_an_error_is_recorded_and_raised_unchanged(log: wb.QueryLog, tmp_path: Path, error: BaseException) -> None:
    @log.watch
    def answer(query: str) -> str:  # noqa: ARG001
        raise error

    with pytest.raises(type(error)) as seen, log.question("first"):
        raise error
    assert seen.value is error
    with pytest.raises(type(error)) as seen:
        answer("second")
    assert seen.value is error
    assert error.__cause__ is None
    assert [row["error"] for row in written(log, tmp_path)] == [f"{type(error).__name__}: {error}".strip()] * 2


def test_an_error_without_a_text_and_wrong_hits_are_counted(log: wb.QueryLog, tmp_path: Path) -> None:
    with pytest.raises(UnprintableError), log.question("q"):
        raise UnprintableError
    with log.question("q") as question:
        question.hits(7)
    first, _ = written(log, tmp_path)
    assert first["error"] == "UnprintableError"
    assert log.lost == {"hits": 1}


ANSWERED: dict[str, tuple[Any, dict[str, Any]]] = {
    "a text": ("we do", {"answer": "we do"}),
    "a text and its sources": (("we do", ["d1"]), {"answer": "we do", "sources": [{"doc_id": "d1"}]}),
    "an answer with hits": (
        {"answer": "we do", "hits": [("d1", 0.5)], "confidence": 0.5},
        {"answer": "we do", "hits": [{"doc_id": "d1", "score": 0.5}], "confidence": 0.5},
    ),
    "an answer with hits and sources": (
        {"answer": "we do", "hits": ["d1", "d2"], "sources": ["d1"], "input_tokens": 7},
        {"answer": "we do", "hits": [{"doc_id": "d1"}, {"doc_id": "d2"}], "sources": [{"doc_id": "d1"}], "input_tokens": 7},
    ),
    "an object": (
        SimpleNamespace(response="we do", source_nodes=[SimpleNamespace(text="a b")]),
        {"answer": "we do", "sources": [{"text": "a b"}]},
    ),
    "a refusal": ({"answer": "", "refused": True}, {"answer": "", "refused": True}),
    "ids": (["d1", "d2"], {"hits": [{"doc_id": "d1"}, {"doc_id": "d2"}]}),
    "pairs": ([("d1", 0.5)], {"hits": [{"doc_id": "d1", "score": 0.5}]}),
    "two pairs in a tuple": ((("d1", 0.5), ("d2", 0.25)), {"hits": [{"doc_id": "d1", "score": 0.5}, {"doc_id": "d2", "score": 0.25}]}),
    "scores by id": ({"d1": 0.5}, {"hits": [{"doc_id": "d1", "score": 0.5}]}),
    "results": ({"results": [{"id": "d1"}]}, {"hits": [{"doc_id": "d1"}]}),
    "nothing found": ([], {"hits": []}),
    "nothing": (None, {}),
    "an error": ({"error": "no index"}, {"error": "the result is an error: no index"}),
}


@pytest.mark.parametrize("case", ANSWERED)
def test_the_result_of_a_function_is_logged_and_returned_as_it_is(log: wb.QueryLog, tmp_path: Path, case: str) -> None:
    result, wanted = ANSWERED[case]

    @log.watch
    def answer(query: str, k: int = 5) -> Any:  # noqa: ARG001
        log.current.set(user="ann")
        return result

    @log.watch
    async def answer_later(query: str) -> Any:  # noqa: ARG001
        await asyncio.sleep(0)
        log.current.set(user="ann")
        return result

    assert answer("who pays?", k=3) is result
    assert answer(query="who pays?") is result
    assert inspect.iscoroutinefunction(answer_later)
    assert asyncio.run(answer_later("who pays?")) is result
    found = written(log, tmp_path)
    for row in found:
        assert row["query"] == "who pays?"
        assert row["user"] == "ann"
        assert {name: value for name, value in row.items() if name not in ("id", "time", "seconds", "query", "user")} == wanted
    assert len(found) == 3
    assert log.lost == {}


def test_a_result_of_another_form_is_counted_and_returned(log: wb.QueryLog, tmp_path: Path) -> None:
    assert log.watch(lambda _: 7)("q") == 7
    assert len(written(log, tmp_path)) == 1
    assert log.lost == {"result": 1}


class Service:
    def __init__(self, log: wb.QueryLog) -> None:
        self.ask = log.watch(self.answer)

    def answer(self, k: int, *, question: str) -> str:
        return question.upper()


def test_the_question_is_the_parameter_of_its_name_or_the_first(log: wb.QueryLog, tmp_path: Path) -> None:
    class Chain:
        @log.watch
        def invoke(self, given: dict[str, str]) -> str:
            """Answer."""
            return "a"

    Service(log).ask(3, question="by name")
    Chain().invoke({"input": "in a mapping"})
    log.watch(lambda: "a")()
    log.watch(lambda _: "a")(5)
    assert [row["query"] for row in written(log, tmp_path)] == ["by name", "in a mapping"]
    assert log.lost == {"invalid": 2}
    assert Chain.invoke.__doc__ == "Answer."


def test_questions_of_threads_and_tasks_are_kept_apart(log: wb.QueryLog, tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    @log.watch
    def answer(query: str) -> str:
        barrier.wait(20)
        log.current.set(user=query)
        return query

    @log.watch
    async def answer_later(query: str) -> str:
        await asyncio.sleep(0.001)
        await asyncio.to_thread(lambda: log.current.set(user=query))
        return query

    async def gather() -> None:
        await asyncio.gather(*(answer_later(f"task {number}") for number in range(20)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(answer, (f"thread {number}" for number in range(20))))
    asyncio.run(gather())
    found = written(log, tmp_path)
    assert len(found) == 40
    assert all(row["query"] == row["user"] == row["answer"] for row in found)
    log.current.set(user="outside of all questions")


def test_a_stream_is_passed_on_and_logged_at_its_end(log: wb.QueryLog, tmp_path: Path) -> None:
    @log.watch
    def stream(query: str) -> Iterator[str]:  # noqa: ARG001
        log.current.hits(["d1"])
        yield "we "
        log.current.set(user="ann")
        yield "do"
        return "ended"

    parts = stream("who pays?")
    assert next(parts) == "we "
    assert log.current.id != ""
    with log.question("another") as other:
        assert next(parts) == "do"
        assert log.current is other
    with pytest.raises(StopIteration, match="ended"):
        next(parts)
    other_row, row = written(log, tmp_path)
    assert "user" not in other_row
    assert (row["answer"], row["hits"], row["user"]) == ("we do", [{"hop": 0, "doc_id": "d1"}], "ann")
    assert "error" not in row


def test_an_asynchronous_stream_is_passed_on_and_logged_at_its_end(log: wb.QueryLog, tmp_path: Path) -> None:
    @log.watch
    async def stream(query: str) -> AsyncIterator[Any]:
        yield "we "
        await asyncio.sleep(0.001)
        log.current.set(user=query)
        yield {"content": "do"}
        yield object()

    async def read(query: str) -> list[Any]:
        return [part async for part in stream(query)]

    async def gather() -> list[list[Any]]:
        return await asyncio.gather(*(read(f"q{number}") for number in range(5)))

    for parts in asyncio.run(gather()):
        assert parts[:2] == ["we ", {"content": "do"}]
        assert len(parts) == 3
    found = written(log, tmp_path)
    assert [row["answer"] for row in found] == ["we do"] * 5
    assert all(row["user"] == row["query"] for row in found)


def broken(query: str) -> Generator[str, None, None]:
    try:
        yield "we "
        raise ValueError("no model")
    finally:
        CLOSED.append(query)


async def broken_later(query: str) -> AsyncGenerator[str, None]:
    for part in broken(query):
        yield part


CLOSED: list[str] = []


def test_streams_that_break_or_are_closed_keep_what_was_read(log: wb.QueryLog, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no model"):
        list(log.watch(broken)("breaks"))
    stream = broken("closed")
    closed = log.watch(lambda query: stream if query else None)("closed")
    next(closed)
    closed.close()
    assert stream.gi_frame is None
    assert CLOSED == ["breaks", "closed"]

    async def read() -> None:
        with pytest.raises(ValueError, match="no model"):
            async for _ in log.watch(broken_later)("breaks later"):
                pass
        stream = broken_later("closed later")
        closed = log.watch(lambda query: stream if query else None)("closed later")
        await anext(closed)
        await closed.aclose()
        assert stream.ag_frame is None

    asyncio.run(read())
    assert [(row["query"], row["answer"], row["error"].partition(":")[0]) for row in written(log, tmp_path)] == [
        ("breaks", "we ", "ValueError"),
        ("closed", "we ", "the stream was closed before its end"),
        ("breaks later", "we ", "ValueError"),
        ("closed later", "we ", "the stream was closed before its end"),
    ]


def test_a_long_stream_is_passed_on_whole_and_logged_in_part(log: wb.QueryLog, tmp_path: Path) -> None:
    part = "word " * 20_000
    assert sum(map(len, log.watch(lambda _: (part for _ in range(50)))("q"))) == 5_000_000
    (row,) = written(log, tmp_path)
    assert len(row["answer"]) == 1_000_000


def test_a_cancelled_task_is_logged(log: wb.QueryLog, tmp_path: Path) -> None:
    @log.watch
    async def answer(query: str) -> str:  # noqa: ARG001
        await asyncio.sleep(30)
        return "never"

    async def cancel() -> None:
        task = asyncio.create_task(answer("q"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    (row,) = written(log, tmp_path)
    assert row["error"].startswith("CancelledError")


def test_a_closed_log_does_not_fail_the_function(log: wb.QueryLog) -> None:
    log.close()
    assert log.watch(lambda _: "a")("q") == "a"
    with log.question("q"):
        pass
    assert log.lost == {"closed": 2}


class PanicException(BaseException):
    """As extensions written with PyO3 raise it."""


class Hostile:
    """A value each of whose attributes raises an error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        raise object.__getattribute__(self, "_error")


ENDS = [SystemExit(3), PanicException("out of range")]


@pytest.mark.parametrize("error", ENDS)
def test_a_hook_or_a_value_that_wants_to_exit_does_not_end_the_service(error: BaseException, tmp_path: Path) -> None:
    def hook(_: dict[str, Any]) -> Any:
        raise error

    value = Hostile(error)
    for place, settings in enumerate(({"redact": hook}, {"head": 0.5, "tail": hook}, {})):
        log = wb.QueryLog(tmp_path / str(place), **settings)
        assert log.record("why?", hits=[{"text": "a b"}])
        log.record("why?", hits=[value])
        log.record("why?", answer="a", user=value)
        log.feedback("q", value=value)
        with log.question("why?") as question:
            question.hits([value])
        assert log.watch(lambda _: value)("why?") is value
        assert [*log.watch(lambda _: (part for part in [value]))("why?")] == [value]
        log.close()
        assert sum(log.lost.values()) >= 3 or settings.get("head")


def test_an_interrupt_of_a_hook_is_passed_on(tmp_path: Path) -> None:
    def hook(_: dict[str, Any]) -> Any:
        raise KeyboardInterrupt

    log = wb.QueryLog(tmp_path, redact=hook)
    with pytest.raises(KeyboardInterrupt):
        log.record("why?")
    log.close()


def test_of_hits_without_an_end_the_first_are_logged(log: wb.QueryLog, tmp_path: Path) -> None:
    log.record("why?", hits=({"doc_id": f"d{number}"} for number in itertools.count()))
    (row,) = written(log, tmp_path)
    assert [hit["doc_id"] for hit in row["hits"]] == [f"d{number}" for number in range(1_000)]


class HostileMapping(Mapping[str, str]):
    def __getitem__(self, name: str) -> str:
        raise SystemExit(3)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        raise RuntimeError("no length")


class HostileClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class NoNumber(BaseModel):
    number: int


class HostileModel:
    def __getattr__(self, name: str) -> Any:
        NoNumber(number=name)  # type: ignore[arg-type]


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class NamelessError(Exception, metaclass=Nameless):
    pass


class HostileError:
    def __getattr__(self, name: str) -> Any:
        raise NamelessError


@pytest.mark.parametrize("kind", [HostileMapping, HostileClass, HostileModel, HostileError])
def test_a_hostile_argument_or_result_does_not_fail_a_watched_function(log: wb.QueryLog, tmp_path: Path, kind: type) -> None:
    value = kind()
    assert log.watch(lambda _: "a")(value) == "a"
    assert log.watch(lambda _: value)("q") is value
    assert log.record("q", hits=[value])
    assert len(written(log, tmp_path)) == 1
    assert log.lost == {"invalid": 2, "result": 1}


def test_an_iterator_that_a_function_returns_is_left_to_the_caller(log: wb.QueryLog, tmp_path: Path) -> None:
    assert [*log.watch(lambda _: iter(["d1", "d2"]))("q")] == ["d1", "d2"]
    assert [*log.watch(lambda _: {"answer": "a", "sources": iter(["d1"])})("q")["sources"]] == ["d1"]
    assert [row.get("answer") for row in written(log, tmp_path)] == [None, "a"]
    assert log.lost == {"result": 1}


def test_what_is_sent_and_thrown_into_a_stream_reaches_the_function(log: wb.QueryLog, tmp_path: Path) -> None:
    def stream(query: str) -> Generator[str, str, str]:
        try:
            query += yield query
        except ValueError as error:
            query += str(error)
        query += yield query
        return query

    async def stream_later(query: str) -> AsyncGenerator[str, str]:
        try:
            query += yield query
        except ValueError as error:
            query += str(error)
        query += yield query
        yield query

    def read(parts: Generator[str, str, str]) -> tuple[str, ...]:
        seen = next(parts), parts.throw(ValueError(" thrown"))
        with pytest.raises(StopIteration) as ended:
            parts.send(" sent")
        return (*seen, ended.value.value)

    async def read_later(parts: AsyncGenerator[str, str]) -> tuple[str, ...]:
        seen = await anext(parts), await parts.athrow(ValueError(" thrown")), await parts.asend(" sent")
        assert [part async for part in parts] == []
        return seen

    expected = ("q", "q thrown", "q thrown sent")
    assert read(stream("q")) == read(log.watch(stream)("q")) == expected
    assert asyncio.run(read_later(stream_later("q"))) == asyncio.run(read_later(log.watch(stream_later)("q"))) == expected
    parts = log.watch(stream)("q")
    next(parts)
    with pytest.raises(KeyError):
        parts.throw(KeyError("k"))
    assert [row.get("error") for row in written(log, tmp_path)] == [None, None, "KeyError: 'k'"]


def test_a_stream_that_cannot_be_closed_is_logged(log: wb.QueryLog, tmp_path: Path) -> None:
    def stream(_: str) -> Iterator[str]:
        try:
            yield "a"
        finally:
            raise ValueError("not closed")

    parts = log.watch(stream)("q")
    next(parts)
    with pytest.raises(ValueError, match="not closed"):
        parts.close()
    (row,) = written(log, tmp_path)
    assert row["answer"] == "a"


def test_no_error_in_a_log_repeats_a_key(log: wb.QueryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", secret := "k-9f8e7d6c5b4a")

    @log.watch
    def raised(query: str) -> str:  # noqa: ARG001
        raise ValueError(f"wrong key {secret}")

    @log.watch
    def returned(query: str) -> dict[str, str]:  # noqa: ARG001
        return {"error": f"wrong key {secret}"}

    with pytest.raises(ValueError, match="wrong key"):
        raised("why?")
    returned("why?")
    log.record("why?", error=f"wrong key {secret}")
    assert [row["error"].partition("wrong")[2] for row in written(log, tmp_path)] == [" key …"] * 3
