"""Divide calls among processes that share a cache, so that each call is made by one of them."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from workbench.core import batching

if TYPE_CHECKING:
    from workbench.core.storage.call_cache import CallCache
    from workbench.core.storage.key_locks import KeyLocks

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class CallClaims:
    """Locks on the keys of calls. A claimed key is locked until it is released, or until this process ends.

    Keys are claimed in blocks, shortly before their calls, so that other processes get their share. Without a cache, every key is claimed.
    """

    _locks: "KeyLocks | None" = None

    def __init__(self, cache: "CallCache | None", block: int, longest_wait: float) -> None:
        self.cache, self._block, self._longest_wait = cache, block, longest_wait
        if cache is not None:
            from workbench.core.storage.key_locks import KeyLocks

            self._locks = KeyLocks(cache.path.with_suffix(".locks"))
        self._claimed: set[str] = set()

    def open(self) -> AbstractContextManager[None]:
        """Keep the cache's file open, since closing it after each commit waits for the disk."""
        return self.cache.open_connection() if self.cache is not None else nullcontext()

    def cached(self, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return the cached values of those keys that have one."""
        return self.cache.get(keys) if self.cache is not None else {}

    def keep(self, values: Mapping[str, Any]) -> None:
        """Commit values to the cache, and those that could not be committed before."""
        if self.cache is not None:
            self.cache.put(values)

    def release(self, key: str) -> None:
        """Free a key for other processes, once its value is in the cache or its call has failed."""
        if self._locks is not None and key in self._claimed:
            self._locks.unlock(key)
            self._claimed.remove(key)

    def release_all(self) -> None:
        """Free the keys whose calls were not made."""
        for key in list(self._claimed):
            self.release(key)

    async def claim(self, keys: Sequence[str]) -> AsyncIterator[tuple[str, Any]]:
        """Yield each key with the value that another process has cached meanwhile, or None if the key was claimed.

        Keys that other processes have come last: their values are awaited, or they are claimed once those processes fail or end.
        """
        elsewhere: list[str] = []
        for part in batching.blocks(len(keys), self._block):
            block = keys[part]
            claimed = [key for key in block if self._try(key)]
            elsewhere += [key for key in block if key not in claimed]
            async for item in self._looked_up(claimed):
                yield item
        pause, deadline = _FIRST_PAUSE, time.monotonic() + self._longest_wait
        while elsewhere:
            found = await asyncio.to_thread(self.cached, elsewhere)
            late = time.monotonic() > deadline
            # A process that was stopped has its locks for ever: its calls are made again.
            free = itertools.islice((key for key in elsewhere if key not in found and (late or self._try(key))), self._block)
            claimed = list(free)
            for key, value in found.items():
                yield key, value
            async for item in self._looked_up(claimed):
                yield item
            progress = {*found, *claimed}
            elsewhere = [key for key in elsewhere if key not in progress]
            pause = _FIRST_PAUSE if progress else min(pause * 2, _LONGEST_PAUSE)
            if progress:
                deadline = time.monotonic() + self._longest_wait
            elif elsewhere:
                await asyncio.sleep(pause)

    def _try(self, key: str) -> bool:
        if self._locks is None:
            return True
        if locked := self._locks.try_lock(key):
            self._claimed.add(key)
        return locked

    async def _looked_up(self, claimed: Sequence[str]) -> AsyncIterator[tuple[str, Any]]:
        """Yield claimed keys with the values that were cached before they were locked, which frees them, or None."""
        found = await asyncio.to_thread(self.cached, claimed) if self.cache is not None and claimed else {}
        for key in found:
            self.release(key)
        for key in claimed:
            yield key, found.get(key)
