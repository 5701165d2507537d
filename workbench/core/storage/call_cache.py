"""Cache the replies of chat models in one SQLite file, keyed by everything that determines a reply."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from workbench.core.errors import StoreError
from workbench.core.storage.sqlite_cache import KEY_BYTES, CacheFormat, SqliteCache
from workbench.core.text.formatting import plural


def _value_faults(values: Sequence[bytes]) -> dict[int, str]:
    faults: dict[int, str] = {}
    for place, value in enumerate(values):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            faults[place] = "its reply is no JSON"
    return faults


CALLS = CacheFormat("call cache", "reply", "replies", "requested again", "replies", 1, _value_faults, "checked_vectors")


class CallCache(SqliteCache):
    """JSON values by keys of any text, safe for many processes and threads.

    Each batch is one commit, so a killed run leaves only complete batches. Every row has a digest, which each read checks. A damaged row is
    named on stderr and deleted, so that its call is made again. Values that cannot be committed, as on a full disk, wait for the next batch.

    Examples
    --------
    >>> import tempfile; from pathlib import Path
    >>> cache = CallCache(Path(tempfile.mkdtemp()) / "calls.sqlite")
    >>> cache.put({"a key": {"text": "an answer"}})
    >>> cache.get(["a key", "another"])
    {'a key': {'text': 'an answer'}}
    """

    format: ClassVar[CacheFormat] = CALLS

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._waiting: dict[bytes, bytes] = {}

    def put(self, rows: Mapping[str, Any]) -> None:
        """Commit JSON values by their keys, and those that wait, in one transaction. A key keeps its first value.

        Raises ValueError for NaN and infinity, and StoreError if the values cannot be committed. Put nothing to find out before a call is made.
        """
        # ASCII, because the texts of models can contain half of a surrogate pair, which UTF-8 cannot encode.
        given = {row_key(key): json.dumps(value, allow_nan=False, separators=(",", ":")).encode() for key, value in rows.items()}
        batch = self._waiting | given
        try:
            self._insert(batch.items())
        except StoreError as error:
            self._waiting |= given
            if not self._waiting:
                raise
            lost = plural(len(self._waiting), "reply that arrived is not kept", "replies that arrived are not kept")
            raise StoreError(f"{error.what}, and {lost}", error.fix) from error
        self._waiting = {key: value for key, value in self._waiting.items() if key not in batch}

    def present(self, keys: Sequence[str]) -> set[str]:
        key_of = {row_key(key): key for key in keys}
        return {key_of[key] for key in self._present(list(key_of))}

    def get(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the values of those keys that have one. Damaged rows are named on stderr and deleted."""
        key_of = {row_key(key): key for key in keys}
        values: dict[str, Any] = {}
        faults: dict[Any, str] = {}
        for rows in self._rows(list(key_of)):
            damaged = self.format.faults(rows)
            faults |= {rows[place][0]: fault for place, fault in damaged.items()}
            values |= {key_of[key]: json.loads(value) for place, (key, value, _) in enumerate(rows) if place not in damaged}
        if faults:
            self._delete(faults)
        return values


@contextmanager
def own_form(cache: CallCache | None) -> Iterator[None]:
    """Turn errors of reading a value of the cache into one line. Such a row is intact, so it is kept for the version that wrote it."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"the call cache {cache.path if cache else ''} has a reply in a form that this Workbench does not write"
        raise StoreError(what, "move the file away, or choose another --outputs: calls are then made again") from error


def row_key(key: str) -> bytes:
    """Return the key of a row: 16 bytes of BLAKE2b."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
