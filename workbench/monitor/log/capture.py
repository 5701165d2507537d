"""Capture a question while it is answered: hits, timers, and the results and streams of functions."""

import functools
import inspect
import os
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial, partialmethod
from io import StringIO
from itertools import islice
from numbers import Real
from time import perf_counter
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from workbench.core.errors import error_line
from workbench.core.records import Answer, Hit, TargetHit
from workbench.systems.base import TargetError
from workbench.systems.callable.results import answer_of, hits_of, parameters_of, raise_reported, text_of
from workbench.systems.contents import CHUNK_IDS, DOC_IDS, ENDS, SCORES, SOURCES, STARTS, TEXTS, number, read

P = ParamSpec("P")
R = TypeVar("R")
CURRENT: ContextVar["LoggedQuestion | None"] = ContextVar("logged question", default=None)
_LONGEST_ERROR, _LONGEST_STREAM = 500, 1_000_000
_QUESTION = ("query", "question", "input", "text", "prompt")


@contextmanager
def contained(handle: Callable[[BaseException], object] = lambda _: None) -> Iterator[None]:
    """Handle the errors of hooks and of foreign values, also SystemExit: a log never fails its service.

    Errors that end the program, a task or a generator are raised.
    """
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit, CancelledError):
        raise
    except BaseException as error:
        handle(error)


def writable(value: Any) -> Any:
    """Return a value with question marks for halves of surrogate pairs, which UTF-8 does not have."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {writable(name): writable(item) for name, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list) else value


def new_id(given: object = None) -> str:
    """Return a given id as text, or a new one."""
    with suppress(ValueError):  # Python writes no number of more than 4,300 digits
        if type(given) in (str, int, UUID) and given != "":
            return str(writable(str(given)))
    return os.urandom(16).hex()


class LoggedQuestion:
    """A question that is being answered. It is logged at the end of its `with` block, with the error that ended it.

    `embedding()`, `retrieval()`, `reranking()` and `generation()` measure the time of a `with` block as that of a step. Blocks of a step add up.
    """

    def __init__(
        self, record: Callable[..., str], lose: Callable[[str, BaseException], None], query: str, fields: Mapping[str, Any]
    ) -> None:
        self._record, self._lose = record, lose
        self._fields: dict[str, Any] = {"query": query, "time": datetime.now(UTC), **fields, "id": new_id(fields.get("id"))}
        self._searches: list[tuple[list[dict[str, Any]], str | None]] = []
        self._started, self._timed, self._streamed = perf_counter(), dict[str, float](), StringIO()

    @property
    def id(self) -> str:
        """Return the id that later feedback names."""
        return str(self._fields["id"])

    def set(self, **fields: object) -> None:
        """Set fields of the line, such as `user`, `model` or `input_tokens`."""
        self._fields.update(fields | {"id": new_id(fields["id"])} if "id" in fields else fields)

    def answer(self, text: str, **fields: object) -> None:
        """Set the answer, and further fields."""
        self.set(answer=text, **fields)

    def hits(self, hits: object, query: str | None = None) -> None:
        """Add the hits of a retrieval, best first, and the text that was searched. Later retrievals are later hops."""
        with contained(partial(self._lose, "hits")):
            self._searches.append((hit_rows(hits), query))

    @contextmanager
    def _timer(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._timed[name] = self._timed.get(name, 0.0) + perf_counter() - started

    embedding = partialmethod(_timer, "embedding_seconds")
    retrieval = partialmethod(_timer, "retrieval_seconds")
    reranking = partialmethod(_timer, "reranking_seconds")
    generation = partialmethod(_timer, "generation_seconds")

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make it the current question of this thread or task, and of those that it starts with its context."""
        token = CURRENT.set(self)
        try:
            yield
        finally:
            with suppress(ValueError):  # ended in another context
                CURRENT.reset(token)

    def finish(self, error: BaseException | None = None) -> None:
        """Log the question."""
        fields = {"seconds": perf_counter() - self._started, **self._timed, **self._fields}
        if error is not None:
            with contained():  # the text of an error can fail, and its name
                fields["error"] = type(error).__name__
                fields["error"] = error_line(error)[:_LONGEST_ERROR]
        with contained(partial(self._lose, "invalid")):
            if len(self._searches) > 1 or any(query for _, query in self._searches):
                fields.setdefault("hops", [{"query": query} for _, query in self._searches])
            if self._searches:
                fields["hits"] = HitRows({"hop": hop, **row} for hop, (rows, _) in enumerate(self._searches) for row in rows)
            self._record(**fields)

    def add_part(self, part: object) -> None:
        """Add the text of a part of a streamed answer."""
        with contained():  # a part can be any object
            if self._streamed.tell() < _LONGEST_STREAM:
                self._streamed.write(text_of(part) or "")

    def finish_stream(self, ended: BaseException) -> None:
        """Log the question with the parts of its answer."""
        closed = "the stream was closed before its end" if isinstance(ended, GeneratorExit) else None
        self.set(answer=self._streamed.getvalue() or None, error=closed)
        self.finish(None if isinstance(ended, StopIteration | StopAsyncIteration | GeneratorExit) else ended)

    def finish_with(self, result: object) -> None:
        """Log the question with the result of a function."""
        with contained(partial(self._lose, "result")):
            self.set(**_result_fields(result))
        self.finish()

    def add_result(self, result: object) -> None:
        """Add the fields of a result that are not set, under usual names. Raises TargetError if it has neither an answer nor hits."""
        fields = _result_fields(result)
        if "error" in fields and read(result, "error") is None:
            raise TargetError(fields["error"])
        # Numbers by name are a ranking where a function returns them, and anything where a service does.
        if "hits" in fields and isinstance(result, dict) and not any(isinstance(value, list | dict) for value in result.values()):
            raise TargetError("the reply has no list of hits")
        if self._searches:
            fields.pop("hits", None)
        self.set(**{name: value for name, value in fields.items() if name not in self._fields})

    def __enter__(self) -> "LoggedQuestion":
        self._active = self.active()
        self._active.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._active.__exit__(None, None, None)
        self.finish(error)


def _result_fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Iterator):
        raise TargetError("an iterator, which the caller is to read")
    pair = type(value) is tuple and len(value) == 2 and number(value[1]) is None and text_of(value[0]) is not None
    is_answer = not isinstance(value, list | tuple) and (text_of(value) is not None or read(value, "refused") is True)
    try:
        if pair:
            return answer_fields(answer_of(value[0], "ids")) | {"sources": hit_rows(value[1])}
        if not is_answer:
            raise_reported(value)
        names = [name for name in SOURCES if not isinstance(value, str) and isinstance(read(value, name), list | tuple)]
        # Lists of a mapping are converted faster here.
        rest = (
            {name: field_value for name, field_value in value.items() if name not in names and not isinstance(field_value, Iterator)}
            if isinstance(value, dict)
            else value
        )
        fields = answer_fields(answer_of(rest, "ids", MOST_HITS + 1)) if is_answer else {}
    except TargetError as error:
        return {"error": str(error)}
    if not is_answer:
        return {} if value is None else {"hits": hit_rows(value)}
    if "hits" in names:
        fields["hits"] = hit_rows(read(value, "hits"))
    if names:
        fields["sources"] = hit_rows(read(value, names[0])) if names[0] != "hits" else None
    return fields


def answer_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer."""
    names = ("sources", "refused", "confidence", "truncated", "input_tokens", "output_tokens", "cost")
    fields = {"answer": answer.text, "model": answer.model or None, **{name: getattr(answer, name) for name in names}}
    return {name: value for name, value in fields.items() if value is not None}


def watched(begin: Callable[[Any], LoggedQuestion], function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function of a question, so that each call is logged. The question is its parameter `query` or similar, else its first."""
    parameters = list(parameters_of(function))
    names = [name for name in parameters if name not in ("self", "cls")]
    name = next((name for name in _QUESTION if name in names), names[0] if names else "")
    place = parameters.index(name) if name else 0

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> Any:
        value = given.get(name, args[place] if place < len(args) else "")
        query: Any = ""
        with contained():  # an argument can be any object
            query = read(value, *_QUESTION) if isinstance(value, Mapping) else value
        question = begin(query)
        try:
            with question.active():
                result: Any = function(*args, **given)
        except BaseException as error:
            question.finish(error)
            raise
        if later := _LATER.get(type(result)):
            return later(question, result)
        question.finish_with(result)
        return result

    @functools.wraps(function)
    async def call_async(*args: P.args, **given: P.kwargs) -> Any:
        return await call(*args, **given)

    # Servers ask whether a function is asynchronous.
    return cast(Callable[P, R], call_async if inspect.iscoroutinefunction(function) else call)


async def _awaited(question: LoggedQuestion, result: Coroutine[Any, Any, Any]) -> Any:
    try:
        with question.active():
            value = await result
    except BaseException as error:
        question.finish(error)
        raise
    question.finish_with(value)
    return value


def _stream(question: LoggedQuestion, stream: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    # As `yield from`, which cannot be used: the question is current only while the function runs.
    step: Callable[[Any], Any] = stream.send
    given: Any = None
    try:
        while True:
            with question.active():
                part = step(given)
            question.add_part(part)
            try:
                step, given = stream.send, (yield part)
            except GeneratorExit:
                raise
            except BaseException as thrown:
                step, given = stream.throw, thrown
    except BaseException as ended:
        try:
            stream.close()
        finally:
            question.finish_stream(ended)
        if not isinstance(ended, StopIteration):
            raise
        return ended.value


async def _async_stream(question: LoggedQuestion, stream: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    step: Callable[[Any], Any] = stream.asend
    given: Any = None
    try:
        while True:
            with question.active():
                part = await step(given)
            question.add_part(part)
            try:
                step, given = stream.asend, (yield part)
            except GeneratorExit:
                raise
            except BaseException as thrown:
                step, given = stream.athrow, thrown
    except BaseException as ended:
        try:
            await stream.aclose()
        finally:
            question.finish_stream(ended)
        if not isinstance(ended, StopAsyncIteration):
            raise


# How results that come later are logged.
_LATER: Mapping[type, Callable[[LoggedQuestion, Any], Any]] = {
    GeneratorType: _stream,
    AsyncGeneratorType: _async_stream,
    CoroutineType: _awaited,
}


# The fields of hits by their names and the types of values.
_USUAL: tuple[tuple[str, Collection[str], type], ...] = (
    ("doc_id", (*DOC_IDS, *CHUNK_IDS), str),
    ("text", TEXTS, str),
    ("score", SCORES, Real),
    ("start", STARTS, int),
    ("end", ENDS, int),
    ("hop", ("hop",), int),
    ("metadata", ("metadata",), dict),
)
# The hits of a question that are logged. More would block its caller, and an iterator may have no end.
MOST_HITS = 1_000
_DOCUMENT = ("id", "page_content", "metadata")
# The metadata that names a hit's document or its place, and the usual types of it.
_IN_METADATA = frozenset((*DOC_IDS, *STARTS, *ENDS))
_READ_HERE = {"doc_id": str, "start_index": int}


class HitRows(list[dict[str, Any]]):
    """Hits as rows of a log."""


def hit_rows(hits: object) -> HitRows:
    """Convert hits to rows of a log: the first 1,000, and one more if there are more. Raises TargetError for another shape."""
    if isinstance(hits, HitRows):
        return hits
    return HitRows(map(_row, islice(hits, MOST_HITS + 1) if isinstance(hits, list | tuple) else hits_of(hits, "ids", MOST_HITS + 1)))


def _row(hit: Any) -> dict[str, Any]:
    # The usual forms first: every question of a service passes here.
    if type(hit) is Hit:
        document, start, end = hit.document, hit.start, hit.end
        return {"doc_id": document.doc_id, "text": document.text[start:end], "score": hit.score, "start": start, "end": end}
    if type(hit) is tuple and len(hit) == 2 and (score := number(hit[1])) is not None:
        return {**_row(hit[0]), "score": score}
    if isinstance(hit, str):
        return {"text" if " " in hit else "doc_id": hit}
    fields = hit
    if "page_content" in (attributes := getattr(hit, "__dict__", {})):  # a Document of LangChain
        fields = {name: attributes[name] for name in _DOCUMENT if attributes.get(name) is not None}
    if type(fields) is dict and (names := _field_names(tuple(fields), tuple(map(type, fields.values())))):
        row = dict(zip(names, fields.values(), strict=True))
        if not (metadata := row.get("metadata")) or _IN_METADATA.isdisjoint(metadata):
            return row
        if all(type(metadata[name]) is _READ_HERE.get(name) for name in metadata.keys() & _IN_METADATA):
            if "doc_id" in metadata and "doc_id" not in fields:
                row["doc_id"] = metadata["doc_id"]
            if "start_index" in metadata and "text" in row and "start" not in row:
                row |= {"start": metadata["start_index"], "end": metadata["start_index"] + len(row["text"])}
            return row
    found = hit if isinstance(hit, TargetHit) else hits_of([fields], "ids")[0]
    return {name: value for name, value in vars(found).items() if value not in (None, {})}


@functools.lru_cache(1_000)
def _field_names(names: tuple[object, ...], kinds: tuple[type, ...]) -> tuple[str, ...]:
    """Return the fields of a hit with these names and types of values, or () if `hits_of` must convert it, which takes ten times as long."""
    fields = [
        next((field for field, known, usual in _USUAL if name in known and issubclass(kind, usual) and kind is not bool), "")
        for name, kind in zip(names, kinds, strict=True)
    ]
    usual = "" not in fields and len({*fields}) == len(fields) and ("start" in fields) == ("end" in fields)
    return tuple(fields) if usual and ("doc_id" in fields or "text" in fields) else ()
