"""Log the JSON requests of an ASGI application, without changing a byte of them."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
from pydantic import Field, JsonValue

from workbench.core.errors import InputError
from workbench.monitor.log.capture import answer_fields, contained
from workbench.monitor.log.query_log import QueryLog
from workbench.systems.base import TargetError
from workbench.systems.callable.results import text_of
from workbench.systems.contents import identifier
from workbench.systems.replies import AnswerPaths, HitPaths, Paths, PathSettings, find, find_one

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
# The part of a request or a reply that is copied, and the events of a reply that are read, which blocks other requests.
COPIED_BYTES, MOST_EVENTS = 1_000_000, 5_000


class LoggedRoute(PathSettings):
    """Where the requests of a path have their question, and the replies their hits and answer, as in the settings of a `wb.HttpTarget`.

    Without paths of hits and answer, both are read under their usual names, as from the result of a function.
    """

    query: Paths = Field(default=("$.query", "$.question"), description="The question in the request.")
    user: Paths | None = Field(default=None, description="The user in the request.")
    session: Paths | None = Field(default=None, description="The conversation in the request.")
    id: Paths | None = Field(default=None, description="The id in the reply that later feedback names.")
    hits: HitPaths | None = Field(default=None, description="The hits in the reply.")
    answer: AnswerPaths | None = Field(default=None, description="The answer in the reply; the whole reply if it is plain text.")


class QueryLogMiddleware:
    """Log the questions of an ASGI application by path: `app.add_middleware(QueryLogMiddleware, log=log, routes={"/ask": LoggedRoute()})`.

    Requests and replies pass unchanged, streams part by part. At most 1 MB of each is copied and read, and at most 5,000 events. If the reply is longer or
    cannot be read, the question is logged without it and counted in `log.lost` as `reply`. A request whose question cannot be read is only counted, as
    `request`. Handlers can add fields: `log.current.set(user=…)`.
    """

    def __init__(self, app: Application, log: QueryLog, routes: Mapping[str, LoggedRoute]) -> None:
        right = isinstance(routes, Mapping) and all(
            str(path).startswith("/") and isinstance(route, LoggedRoute) for path, route in routes.items()
        )
        if not right:
            raise InputError("the routes are no LoggedRoute by path", 'give for example routes={"/ask": LoggedRoute()}')
        self._app, self._log, self._routes = app, log, dict(routes)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request by the application."""
        route = None
        with contained():  # the application refuses a wrong scope
            route = self._routes.get(scope["path"]) if scope["type"] == "http" else None
        if route is None:
            return await self._app(scope, receive, send)
        exchange = _Exchange(self._log, route)

        async def received() -> Message:
            message = await receive()
            exchange.copy(message)
            return message

        async def sent(message: Message) -> None:
            await send(message)
            exchange.copy(message)

        try:
            with exchange.question.active():
                await self._app(scope, received, sent)
        except BaseException as error:
            exchange.finish(error)
            raise
        return exchange.finish()


class _Exchange:
    """A request and its reply, which are logged when the last part of the reply was sent."""

    def __init__(self, log: QueryLog, route: LoggedRoute) -> None:
        self.question, self._log, self._route, self._finished = log.question(), log, route, False
        self._bodies = {"http.request": bytearray(), "http.response.body": bytearray()}
        self._whole, self._status, self._type = False, 0, ""

    def copy(self, message: Message) -> None:
        """Copy a message. A wrong one is refused by the server."""
        with contained():
            if message["type"] == "http.response.start":
                headers = {name.lower(): value for name, value in message.get("headers", ())}
                self._status, self._type = message["status"], headers.get(b"content-type", b"").partition(b";")[0].decode().strip().lower()
            elif (body := self._bodies.get(message["type"])) is not None and len(body) <= COPIED_BYTES:
                body += message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._whole = True
                self.finish()

    def finish(self, error: BaseException | None = None) -> None:
        """Log the question, once."""
        if self._finished:
            return
        self._finished = True
        if not self._read_request():
            return
        with contained(partial(self._log.lose, "reply")):  # too long, compressed, or no JSON
            try:
                if error is None:
                    self._read_reply(bytes(self._bodies["http.response.body"]))
            except TargetError as failure:
                self.question.set(error=str(failure))
        self.question.finish(error)

    def _read_request(self) -> bool:
        """Set the fields in the request. Return whether it has a question."""
        with contained(partial(self._log.lose, "request")):  # no question, too long, or no JSON
            body = orjson.loads(self._bodies["http.request"][:COPIED_BYTES])
            fields = {name: text for name in ("query", "user", "session") if (text := _text(getattr(self._route, name), body)) is not None}
            self.question.set(**{"query": fields["query"], **fields})
            return True
        return False

    def _read_reply(self, body: bytes) -> None:
        if self._status >= 400:
            return self.question.set(error=f"HTTP {self._status}")
        if not self._whole or len(body) > COPIED_BYTES:
            raise ValueError
        if self._type == "text/plain":
            return self.question.answer(body.decode())
        if self._type == "text/event-stream":
            events = [line[5:] for line in body.splitlines() if line.startswith((b"data: {", b"data:{"))]
            if len(events) > MOST_EVENTS:
                raise ValueError
            return self._read_events([*map(orjson.loads, events)])
        reply = orjson.loads(body)
        self._read_id([reply])
        if self._route.hits:
            self.question.hits(self._route.hits.read(reply))
        if self._route.answer:
            self.question.set(**answer_fields(self._route.answer.read(reply)))
        if self._reads_usual:
            self._add_usual(reply)
        return None

    @property
    def _reads_usual(self) -> bool:
        return self._route.hits is None and self._route.answer is None

    def _add_usual(self, reply: JsonValue) -> None:
        try:
            self.question.add_result(reply)
        except TargetError:
            self._log.lose("reply", "neither an answer nor hits under a usual name")

    def _read_events(self, events: list[JsonValue]) -> None:
        """Read a stream: the id and the hits from the first event that has them, the answer from all."""
        self._read_id(events)
        for event in events:
            with suppress(TargetError):
                if self._route.hits:
                    self.question.hits(self._route.hits.read(event))
                break
        if self._route.answer:
            found = [next(filter(None, (find(path, event) for path in self._route.answer.text)), []) for event in events]
            self.question.answer("".join(text for texts in found for text in texts if isinstance(text, str)))
        if self._reads_usual:
            self._add_usual("".join(text for event in events if (text := text_of(event))))

    def _read_id(self, replies: list[JsonValue]) -> None:
        if question_id := next(filter(None, (_text(self._route.id, reply) for reply in replies)), None):
            self.question.set(id=question_id)


def _text(paths: Paths | None, value: JsonValue) -> str | None:
    found = find_one(paths, value, identifier) if paths else None
    return found[0] if found else None
