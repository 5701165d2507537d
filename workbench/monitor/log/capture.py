"""Capture a question while it is answered: hits as rows of a log, timers, and the results and streams of functions."""

import functools
import inspect
import os
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from io import StringIO
from numbers import Real
from time import perf_counter
from types import NoneType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from workbench.errors import error_line
from workbench.records import Hit
from workbench.targets.base import TargetAnswer, TargetError, TargetHit
from workbench.targets.callable.answers import answer_of, text_of
from workbench.targets.callable.hits import ENDS, IDS, LATER_IDS, SCORES, SOURCES, STARTS, TEXTS, hits_of, raise_reported
from workbench.targets.callable.interfaces import parameters_of
from workbench.targets.callable.values import number, read

P = ParamSpec("P")
R = TypeVar("R")
CURRENT: ContextVar["LoggedQuestion | None"] = ContextVar("logged question", default=None)
_LONGEST_ERROR, _LONGEST_STREAM = 500, 1_000_000
_QUESTION = ("query", "question", "input", "text", "prompt")
# The fields of hits by their names and types, in the order in which they are looked for.
_USUAL: tuple[tuple[str, Collection[str], type], ...] = (
    ("doc_id", (*IDS, *LATER_IDS), str),
    ("text", TEXTS, str),
    ("score", SCORES, Real),
    ("start", STARTS, int),
    ("end", ENDS, int),
    ("hop", ("hop",), int),
    ("metadata", ("metadata",), dict),
)
_EXACT = {field: (usual, NoneType) for field, _, usual in _USUAL} | {"score": (float, int, NoneType)}
_NAMES = ("doc_id", "text", "score", "start", "end", "metadata")
_PLACES = frozenset((*STARTS, *ENDS)) - {"start_index"}
_IN_METADATA = frozenset((*IDS, *STARTS, *ENDS))


def new_id(given: object = None) -> str:
    """Return a given id as text, or a new one."""
    return str(given) if type(given) in (str, int, UUID) and given != "" else os.urandom(16).hex()


class HitRows(list[dict[str, Any]]):
    """Hits as rows of a log."""


def hit_rows(hits: object) -> HitRows:
    """Convert hits to rows of a log. Raises TargetError for another shape."""
    return hits if isinstance(hits, HitRows) else HitRows(map(_row, hits if isinstance(hits, list | tuple) else hits_of(hits, "ids")))


def _row(hit: Any) -> dict[str, Any]:
    # The usual forms first: every question of a service passes here.
    if type(hit) is Hit:
        document, start, end = hit.document, hit.start, hit.end
        return {"doc_id": document.doc_id, "text": document.text[start:end], "score": hit.score, "start": start, "end": end}
    if type(hit) is tuple and len(hit) == 2 and (score := number(hit[1])) is not None:
        return {**_row(hit[0]), "score": score}
    if isinstance(hit, str):
        return {"text" if " " in hit else "doc_id": hit}
    if type(hit) is dict or "page_content" in getattr(hit, "__dict__", ()):
        fields = hit if type(hit) is dict else hit.__dict__
        if row := _placed(_renamed(fields, fields is not hit), fields):
            return row
    found = hit if isinstance(hit, TargetHit) else hits_of([hit], "ids")[0]
    return {name: value for name in _NAMES if (value := getattr(found, name)) not in (None, {})}


def _renamed(fields: dict[str, Any], is_document: bool) -> dict[str, Any]:
    """Return the row of a hit's fields, which is empty if `hits_of` must convert the hit."""
    for name, value in fields.items():
        if type(value) not in _EXACT.get(name, ()):
            names = _field_names(tuple(fields), tuple(map(type, fields.values())), is_document)
            row = dict(zip(names, fields.values(), strict=False))
            row.pop("", None)
            return row
    return fields.copy()


@functools.lru_cache(1_000)
def _field_names(names: tuple[object, ...], kinds: tuple[type, ...], is_document: bool) -> tuple[str, ...]:
    """Return the fields of a hit's values, "" for those without one, or () if `hits_of` must convert the hit."""
    fields = list[str]()
    for name, kind in zip(names, kinds, strict=True):
        field = next((field for field, known, usual in _USUAL if name in known and issubclass(kind, usual) and kind is not bool), "")
        if (field and field in fields) or not (field or kind is NoneType or (is_document and name == "type")):
            return ()
        fields.append(field)
    return tuple(fields)


def _placed(row: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Add what the metadata says of a hit's document, as `hits_of` does. Returns None if that must convert the hit."""
    get = row.get
    if (metadata := get("metadata")) and not _IN_METADATA.isdisjoint(metadata):
        doc_id, start = next(filter(None, map(metadata.get, IDS)), None), metadata.get("start_index")
        if get("start") is not None or not (
            isinstance(doc_id, str | None) and type(start) in (int, NoneType) and _PLACES.isdisjoint(metadata)
        ):
            return None
        if doc_id and not any(map(fields.get, IDS)):
            row["doc_id"] = doc_id
        if start is not None:
            row["start"] = start
    if get("start") is not None and get("end") is None and get("text") is not None:
        row["end"] = row["start"] + len(row["text"])
    whole = (get("start") is None) == (get("end") is None)
    return row if whole and (get("doc_id") or get("text") is not None) else None


class LoggedQuestion:
    """A question that is being answered. It is logged at the end of its `with` block, with the error that ended it."""

    def __init__(self, record: Callable[..., str], lose: Callable[[str, str], None], query: str, fields: Mapping[str, Any]) -> None:
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
        self._fields.update(fields)

    def answer(self, text: str, **fields: object) -> None:
        """Set the answer, and further fields."""
        self.set(answer=text, **fields)

    def hits(self, hits: object, query: str | None = None) -> None:
        """Add the hits of a retrieval, best first, and the text that was searched. Later retrievals are later hops."""
        try:
            self._searches.append((hit_rows(hits), query))
        except Exception as error:  # a log never fails its service
            self._lose("hits", type(error).__name__)

    def embedding(self) -> AbstractContextManager[None]:
        """Measure the time of a `with` block as that of embedding the question. Blocks add up."""
        return self._timer("embedding_seconds")

    def retrieval(self) -> AbstractContextManager[None]:
        """Measure the time of a search."""
        return self._timer("retrieval_seconds")

    def reranking(self) -> AbstractContextManager[None]:
        """Measure the time of reranking."""
        return self._timer("reranking_seconds")

    def generation(self) -> AbstractContextManager[None]:
        """Measure the time of the model."""
        return self._timer("generation_seconds")

    @contextmanager
    def _timer(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._timed[name] = self._timed.get(name, 0.0) + perf_counter() - started

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
            fields["error"] = type(error).__name__
            with suppress(Exception):  # the text of an error can fail
                fields["error"] = error_line(error)[:_LONGEST_ERROR]
        try:
            if len(self._searches) > 1 or any(query for _, query in self._searches):
                fields.setdefault("hops", [{"query": query} for _, query in self._searches])
            if self._searches:
                fields["hits"] = HitRows({"hop": hop, **row} for hop, (rows, _) in enumerate(self._searches) for row in rows)
            self._record(**fields)
        except Exception as failure:  # a log never fails its service
            self._lose("invalid", type(failure).__name__)

    def add_part(self, part: object) -> None:
        """Add the text of a part of a streamed answer."""
        with suppress(Exception):  # a part can be any object
            if self._streamed.tell() < _LONGEST_STREAM:
                self._streamed.write(text_of(part) or "")

    def finish_stream(self, ended: BaseException) -> None:
        """Log the question with the parts of its answer."""
        closed = "the stream was closed before its end" if isinstance(ended, GeneratorExit) else None
        self.set(answer=self._streamed.getvalue() or None, error=closed)
        self.finish(None if isinstance(ended, StopIteration | StopAsyncIteration | GeneratorExit) else ended)

    def finish_with(self, result: object) -> None:
        """Log the question with the result of a function."""
        try:
            self.set(**_result_fields(result))
        except Exception as error:  # a log never fails its service
            self._lose("result", type(error).__name__)
        self.finish()

    def __enter__(self) -> "LoggedQuestion":
        self._active = self.active()
        self._active.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._active.__exit__(None, None, None)
        self.finish(error)


def _result_fields(value: Any) -> dict[str, Any]:
    pair = type(value) is tuple and len(value) == 2 and number(value[1]) is None and text_of(value[0]) is not None
    is_answer = pair or (not isinstance(value, list | tuple) and (text_of(value) is not None or read(value, "refused") is True))
    try:
        if pair:
            return answer_fields(answer_of(value[0], "ids")) | {"sources": hit_rows(value[1])}
        if is_answer:
            return _answer_fields(value)
        raise_reported(value)
    except TargetError as error:
        return {"error": str(error)}
    return {} if value is None else {"hits": hit_rows(value)}


def _answer_fields(value: Any) -> dict[str, Any]:
    lists = {} if isinstance(value, str) else {name: found for name in SOURCES if isinstance(found := read(value, name), list | tuple)}
    # Lists are converted faster here.
    rest = {name: found for name, found in value.items() if name not in lists} if isinstance(value, dict) else value
    fields = answer_fields(answer_of(rest, "ids"))
    if lists:
        first = next(iter(lists))
        fields |= {"sources": hit_rows(lists[first]), "hits": hit_rows(lists["hits"]) if "hits" in lists else None}
        if first == "hits":
            del fields["sources"]
    return fields


def answer_fields(answer: TargetAnswer) -> dict[str, Any]:
    """Return the fields of an answer."""
    names = ("sources", "refused", "confidence", "truncated", "input_tokens", "output_tokens", "cost")
    fields = {"answer": answer.text, "model": answer.model or None, **{name: getattr(answer, name) for name in names}}
    return {name: value for name, value in fields.items() if value is not None}


def watched(question: Callable[[Any], LoggedQuestion], function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function of a question, so that each call is logged. The question is its parameter `query` or similar, else its first."""
    parameters = list(parameters_of(function))
    names = [name for name in parameters if name not in ("self", "cls")]
    name = next((name for name in _QUESTION if name in names), names[0] if names else "")
    place = parameters.index(name) if name else 0

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> Any:
        value = given.get(name, args[place] if place < len(args) else "")
        asked = question(read(value, *_QUESTION) if isinstance(value, Mapping) else value)
        try:
            with asked.active():
                result: Any = function(*args, **given)
        except BaseException as error:
            asked.finish(error)
            raise
        for is_kind, later in ((inspect.isgenerator, _stream), (inspect.isasyncgen, _async_stream), (inspect.iscoroutine, _awaited)):
            if is_kind(result):
                return later(asked, result)
        asked.finish_with(result)
        return result

    @functools.wraps(function)
    async def call_async(*args: P.args, **given: P.kwargs) -> Any:
        return await call(*args, **given)

    # Servers ask whether a function is asynchronous.
    return cast(Callable[P, R], call_async if inspect.iscoroutinefunction(function) else call)


async def _awaited(asked: LoggedQuestion, result: Coroutine[Any, Any, Any]) -> Any:
    try:
        with asked.active():
            value = await result
    except BaseException as error:
        asked.finish(error)
        raise
    asked.finish_with(value)
    return value


def _stream(asked: LoggedQuestion, stream: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    try:
        while True:
            with asked.active():
                part = next(stream)
            asked.add_part(part)
            yield part
    except BaseException as ended:
        stream.close()
        asked.finish_stream(ended)
        if not isinstance(ended, StopIteration):
            raise
        return ended.value


async def _async_stream(asked: LoggedQuestion, stream: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, None]:
    try:
        while True:
            with asked.active():
                part = await anext(stream)
            asked.add_part(part)
            yield part
    except BaseException as ended:
        await stream.aclose()
        asked.finish_stream(ended)
        if not isinstance(ended, StopAsyncIteration):
            raise
