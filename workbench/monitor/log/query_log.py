"""The log of a production service: a line for each question, written without blocking or failing the service."""

import logging
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import orjson

from workbench.core.files import require_folder
from workbench.errors import InputError
from workbench.monitor.log.capture import CURRENT, LoggedQuestion, hit_rows, new_id, watched
from workbench.monitor.log.fields import FIELDS, NAMES, feedback_fault, is_time, row_fault
from workbench.monitor.log.log_writer import LogWriter, utc_now
from workbench.targets.callable.values import identifier, plain

P = ParamSpec("P")
R = TypeVar("R")
Row = dict[str, Any]
_LOGGER = logging.getLogger(__name__)
# The exact types of values that need no further check: every question of a service passes it.
_TYPES = {"text": (str,), "number": (float, int), "integer": (int,), "flag": (bool,), "time": (str,)}
_USUAL = {field.name: _TYPES[field.kind] for field in FIELDS if field.kind in _TYPES and field.name != "probability"}
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE


class QueryLog:
    """A log of questions, hits, answers and feedback: a folder of JSON Lines, to which any number of processes write.

    Nothing of it blocks or raises into the service. Records that cannot be written are counted in `lost` and in the log. A killed process
    loses at most the last `flush_seconds`. Make one in each process, or before forking.

    Parameters
    ----------
    path: the folder.
    segment_bytes: the size after which the next file begins.
    flush_seconds: the time within which a record is in its file. It is flushed to disk then.
    memory_bytes: the size of the records that wait to be written. More are dropped.
    salt: a secret with which `user` and `session` are hashed.
    redact: a function that returns a row (also of feedback) without its secrets, or None to leave it out. If it fails, the row is left out.
    head: the probability with which a question is logged, that of its session if it has one: a conversation is kept or left out as a whole.
    tail: a function of a row: whether it is kept in any case. `probability` is then 1, else `head`.
    versions: versions by name, such as `index`, `embedder`, `prompt`, `release`.
    configuration: the name of the configuration.

    Raises
    ------
    InputError: a setting is wrong.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        segment_bytes: int = 64_000_000,
        flush_seconds: float = 0.2,
        memory_bytes: int = 64_000_000,
        salt: str | bytes | None = None,
        redact: Callable[[Row], Mapping[str, Any] | None] | None = None,
        head: float = 1.0,
        tail: Callable[[Row], object] | None = None,
        versions: Mapping[str, str] | None = None,
        configuration: str = "",
    ) -> None:
        if not 0 < head <= 1:
            raise InputError(f"head is {head!r}, which is no probability", "give a number above 0 and at most 1")
        if min(segment_bytes, flush_seconds, memory_bytes) <= 0:
            raise InputError("segment_bytes, flush_seconds or memory_bytes is not above 0", "leave it out for the default")
        if salt is not None and not salt:
            raise InputError("the salt is empty", "give a secret text, or leave it out to log users and sessions as they are")
        self._key = blake2b(salt.encode() if isinstance(salt, str) else salt).digest() if salt else b""
        self._redact, self._head, self._tail, self._versions = (
            redact,
            head,
            tail,
            {name: str(value) for name, value in (versions or {}).items()},
        )
        self._configuration, self._warned = configuration or None, set[str]()
        self._writer = LogWriter(require_folder(Path(path), "the log"), segment_bytes, flush_seconds, memory_bytes)

    @property
    def lost(self) -> Mapping[str, int]:
        """Return how many records this process has lost, by reason."""
        return self._writer.lost

    @property
    def current(self) -> LoggedQuestion:
        """Return the question that this code helps to answer, or one that is not logged."""
        return CURRENT.get() or LoggedQuestion(lambda **_: "", self.lose, "", {})

    def record(self, query: str = "", hits: object = None, answer: str | None = None, **fields: object) -> str:
        """Log a question with further fields of a log, and return its id. Hits are of any form that `wb.evaluate` takes of functions.

        A hit that is a text is an id, or a passage if it has a space. What the caller changes afterwards does not change the log.
        """
        question_id = new_id(fields.get("id"))
        try:
            given = {"time": utc_now(), "query": query, "answer": answer, "configuration": self._configuration, **fields}
            self._add({"id": question_id, **{name: value for name, value in given.items() if value is not None and name != "id"}}, hits)
        except Exception as error:  # a log never fails its service
            self.lose("invalid", type(error).__name__)
        return question_id

    def feedback(self, question_id: str, kind: str = "thumb", value: float | None = None, text: str | None = None) -> None:
        """Log feedback to a question: `thumb` with 1 or -1, `edit` with the corrected text, `follow_up` with the next question, or another kind."""
        try:
            row = {"id": question_id, "feedback": [{"kind": kind, "value": value, "text": text, "time": utc_now()}]}
            if fault := feedback_fault(row):
                self.lose("invalid", fault)
            else:
                self._put(row, feedback_fault)
        except Exception as error:  # a log never fails its service
            self.lose("invalid", type(error).__name__)

    def question(self, query: str = "", **fields: object) -> LoggedQuestion:
        """Begin a question, which is logged at the end of its `with` block."""
        return LoggedQuestion(self.record, self.lose, query, fields)

    def watch(self, function: Callable[P, R]) -> Callable[P, R]:
        """Log each call of a function of a question, also an asynchronous one. Its result is an answer or hits as for `wb.evaluate`.

        The texts of a generator are passed on and logged at its end. The function can add fields: `log.current.set(user=…)`.
        """
        return watched(self.question, function)

    def close(self) -> None:
        """Write what waits and end the log. It is done when Python exits, except by SIGKILL, an unhandled SIGTERM or `os._exit`."""
        self._writer.close()

    def lose(self, reason: str, detail: str = "") -> None:
        """Count a record, or a part of one, that could not be logged."""
        self._writer.lose(reason, detail)

    def _add(self, row: Row, hits: object) -> None:
        lists = {name: hit_rows(value) for name, value in (("hits", hits), ("sources", row.pop("sources", None))) if value is not None}
        for name in ("user", "session"):
            if name in row and (text := identifier(row[name])):
                row[name] = blake2b(text.encode(), key=self._key, digest_size=16).hexdigest() if self._key else text
        if "versions" in row:
            row["versions"] = {**self._versions, **row["versions"]}
        usual = row["query"] and is_time(row["time"]) and all(type(value) in _USUAL.get(name, ()) for name, value in row.items())
        if not usual and row_fault(row) and (fault := row_fault(row := plain(row))):
            return self.lose("invalid", fault)
        if not NAMES.issuperset(row):
            self._warn("fields", f"{min(row.keys() - NAMES)} is no field that a reader knows")
        row |= lists
        if self._versions:
            row.setdefault("versions", self._versions)
        if self._head < 1:
            row["probability"] = 1.0 if self._is_tail(row) else self._head
            if row["probability"] < 1 and self._draw(row.get("session") or row["id"]) >= self._head:
                return None
        return self._put(row, row_fault)

    def _is_tail(self, row: Row) -> bool:
        try:
            return self._tail is not None and bool(self._tail(row))
        except Exception as error:  # the row is kept for certain, so its probability is right
            self._warn("tail", f"tail failed with {type(error).__name__}; its rows are kept")
            return True

    def _draw(self, key: str) -> float:
        """Return a number in [0, 1) that is the same for all questions of a session, in every process."""
        return int.from_bytes(blake2b(key.encode(), key=self._key, digest_size=8, person=b"sample").digest()) / 2**64

    def _put(self, row: Row, fault_of: Callable[[Mapping[str, Any]], str]) -> None:
        try:
            line = orjson.dumps(row, option=_JSON)
        except Exception:  # JSON has no such value
            line = orjson.dumps(plain(row), option=_JSON)
        if self._redact is not None:
            try:
                # A copy: the hook can change it, and sees nothing but what would be written.
                redacted = self._redact(orjson.loads(line))
                if redacted is None:
                    return self.lose("redacted")
                if fault := fault_of(redacted):
                    return self.lose("redaction", fault)
                line = orjson.dumps(redacted, option=_JSON)
            except Exception as error:  # a secret must not be written, or named by a message
                return self.lose("redaction", type(error).__name__)
        return self._writer.put(line)

    def _warn(self, of: str, message: str) -> None:
        if of not in self._warned:
            self._warned.add(of)
            _LOGGER.warning("the query log: %s; said once", message)
