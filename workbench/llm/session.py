"""Make many calls at once, within a budget, through the cache of calls."""

import asyncio
import hashlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from workbench.core import batching
from workbench.core.errors import InputError
from workbench.core.files import store_errors
from workbench.core.fingerprint import fingerprint
from workbench.core.loop_thread import LoopThread
from workbench.core.records import LostTries
from workbench.core.text.formatting import plural
from workbench.core.text.printable import environment_secrets, printable, without_secrets
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Reply
from workbench.llm.replies.answers import answered
from workbench.llm.tokens import count_of, most_prompt_tokens, most_tokens, name_of

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from workbench.core.storage.call_cache import CallCache

# The files of locks. Calls of one file wait for each other, which is rare while a few hundred calls are in flight.
_LOCK_FILES = 4_096
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class CallClaims:
    """Locks on the keys of calls. A claimed key is locked until it is released, or until this process ends.

    Keys are claimed in blocks, shortly before their calls, so that other processes get their share. Without a cache, every key is claimed.
    """

    def __init__(self, cache: "CallCache | None", block: int, longest_wait: float) -> None:
        self.cache, self._block, self._longest_wait = cache, block, longest_wait
        self._claimed: dict[str, BaseFileLock] = {}

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
        if lock := self._claimed.pop(key, None):
            lock.release()

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
            claimed = [key for key in block if self.try_claim(key)]
            elsewhere += [key for key in block if key not in claimed]
            async for item in self._looked_up(claimed):
                yield item
        pause, deadline = _FIRST_PAUSE, time.monotonic() + self._longest_wait
        while elsewhere:
            found = await asyncio.to_thread(self.cached, elsewhere)
            late = time.monotonic() > deadline
            # A process that was stopped has its locks for ever: its calls are made again.
            free = itertools.islice((key for key in elsewhere if key not in found and (late or self.try_claim(key))), self._block)
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

    def try_claim(self, key: str) -> bool:
        """Claim a key without waiting. Return False if a call of this or another process has its lock."""
        if self.cache is None:
            return True
        from filelock import FileLock, Timeout

        folder = self.cache.path.with_suffix(".claims")
        number = int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass")).digest()[:2]) % _LOCK_FILES
        with store_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{number:03x}.lock", timeout=0, thread_local=False)
            try:
                lock.acquire()
            except Timeout:
                return False
        self._claimed[key] = lock
        return True

    async def _looked_up(self, claimed: Sequence[str]) -> AsyncIterator[tuple[str, Any]]:
        """Yield claimed keys with the values that were cached before they were locked, which frees them, or None."""
        found = await asyncio.to_thread(self.cached, claimed) if self.cache is not None and claimed else {}
        for key in found:
            self.release(key)
        for key in claimed:
            yield key, found.get(key)


_FEWEST, _ROUNDS = 20, 3
_SIGNS = ("server", "timeout")

Outcome = Reply | CallFailure
# Raise it when the values of the cache change.
_LAYOUT = 1
# The seconds until a call that waits for the budget asks it again.
_PAUSE = 0.01
_CACHED = ("text", "finish_reason", "model", "input_tokens", "output_tokens", "logprobs", "dropped", "seconds")


@dataclass
class Outage:
    """Count of calls of a client that failed in a row, after all of their tries. After `limit` of them no further call starts."""

    limit: int
    failed: int = 0
    last: str = ""

    @classmethod
    def of(cls, concurrency: int, doubtful: bool = False) -> "Outage":
        """Return the state at the start of a session. After an outage, calls that start at once find out whether it is over."""
        limit = max(_FEWEST, _ROUNDS * concurrency)
        return cls(limit, limit - 1 if doubtful else 0)

    @property
    def lasts(self) -> bool:
        """True if the server is taken to be down."""
        return self.failed >= self.limit

    def failure(self) -> CallFailure | None:
        """Return why a call must not start, or None."""
        return CallFailure(f"not asked because the calls before it failed: {self.last}") if self.lasts else None

    def note(self, outcome: Reply | CallFailure) -> None:
        """Count a call that failed, or begin again after one that the server answered."""
        if isinstance(outcome, CallFailure) and outcome.kind in _SIGNS:
            self.failed, self.last = self.failed + 1, outcome.reason
        else:
            self.failed = 0


class OutageRecord:
    """The clients, by their identities, whose last session ended in an outage. Shared by the threads of a run."""

    def __init__(self) -> None:
        self._down: set[str] = set()
        self._guard = threading.Lock()

    def begin(self, client: str, concurrency: int) -> Outage:
        with self._guard:
            return Outage.of(concurrency, client in self._down)

    def end(self, client: str, outage: Outage) -> None:
        with self._guard:
            (self._down.add if outage.lasts else self._down.discard)(client)


@dataclass(frozen=True)
class CallLimits:
    """Limits on the calls of a run; None for no limit. A call with all its retries counts once, a cached reply not at all."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Spending:
    """Calls, tokens and money of a run, and what of them is of tries without a usable reply: the most that these can have cost."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    lost_tries: int = 0
    lost_usd: float = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(Spending)))


class CallBudget:
    """The budget of a run, shared by its threads. Once a limit is reached, no further call starts; those in flight are finished.

    A call waits while those in flight could spend what is left, so a limit is exceeded by one call with its retries at most. Where a server has sent
    more than it was asked for, calls are taken to spend as many times more.
    """

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._spent = Spending()
        # The most tokens and money of calls in flight.
        self._reserved: dict[int, tuple[int, float]] = {}
        # How many times more than its most a call has spent.
        self._excess = 1.0
        self._guard = threading.Lock()

    @property
    def spent(self) -> Spending:
        """Return the spending so far. A call counts from its start, its tokens and cost from its end."""
        with self._guard:
            return self._spent

    def start(self, call: int, tokens: int, usd: float) -> CallFailure | bool:
        """Count a call that starts now and can spend this much. Return False if it must wait, and a failure if it must not start at all."""
        with self._guard:
            spent, limits = self._spent, self.limits
            taken, money = (sum(amounts) for amounts in zip(*self._reserved.values(), strict=True)) if self._reserved else (0, 0.0)
            waits = False
            for limit, used, reserved, name in (
                (limits.calls, spent.calls, 0, plural(limits.calls or 0, "call")),
                (limits.tokens, spent.tokens, taken, plural(limits.tokens or 0, "token")),
                (limits.usd, spent.usd, money, f"{limits.usd or 0:g} USD"),
            ):
                if limit is not None and used >= limit:
                    return CallFailure(f"the budget of {name} is spent", kind="budget")
                waits = waits or (limit is not None and used + self._excess * reserved >= limit)
            if waits:
                return False
            self._reserved[call] = (tokens, usd)
            self._spent += Spending(calls=1)
            return True

    def finish(self, call: int, spent: Spending) -> None:
        """Add what a call that ended has spent, in place of what it could spend."""
        with self._guard:
            most = self._reserved.pop(call, (0, 0.0))
            self._excess = max(self._excess, *(used / limit for used, limit in zip((spent.tokens, spent.usd), most, strict=True) if limit))
            self._spent += spent


@dataclass(frozen=True)
class CallResources:
    """The cache of calls, None for none, the budget of the run, and the servers that were down."""

    cache: "CallCache | None" = None
    budget: CallBudget = field(default_factory=CallBudget)
    outages: OutageRecord = field(default_factory=OutageRecord)


def ask_all(
    client: ChatClient, calls: Sequence[ChatCall], resources: CallResources, stop: Future[None] | None = None
) -> Iterator[tuple[int, Reply | CallFailure]]:
    """Yield the outcome of each call with its place, as they finish; cached replies first. A reply is in the cache before it is yielded.

    A reply has the model's answer without its reasoning, and reasoning alone is a failure. The cache keeps what the model wrote. Equal calls are made once. Calls run in a thread while the caller works on outcomes, and end if the caller stops. Once a server has failed
    many calls in a row, with all their retries, it is taken to be down, and further calls fail at once.

    Raises
    ------
    StoppedError
        Once `stop` is done, from any thread. Calls in flight are cut off, and count as lost tries.
    ModelError
        For a fault that all calls share, such as a wrong key. Replies that were finished before are in the cache.
    InputError
        If the budget limits money, and the client has no prices.
    """
    if resources.budget.limits.usd is not None and client.billed and client.cost(0, 0) is None:
        fix = f"set {client.stage}.price_input and {client.stage}.price_output, in USD for a million tokens"
        raise InputError(f"the limit of {resources.budget.limits.usd:g} USD needs the prices of {client.label}", fix)
    indices: dict[str, list[int]] = {}
    identity = client.identity()
    for index, call in enumerate(calls):
        indices.setdefault(call_key(identity, call), []).append(index)
    claims = CallClaims(resources.cache, max(1, client.concurrency // 4), client.longest_call)
    cached = claims.cached(list(indices))
    for key, value in cached.items():
        outcome = answered(_reply_of(value, client, resources.cache))
        yield from ((index, outcome) for index in indices[key])
    if missing := {key: calls[spots[0]] for key, spots in indices.items() if key not in cached}:
        # Nothing is paid for while the replies that arrived before cannot be kept.
        claims.keep({})
        server = fingerprint(identity)
        outage = resources.outages.begin(server, client.concurrency)
        try:
            for key, outcome in _Session(client, missing, claims, resources.budget, outage).outcomes(stop):
                yield from ((index, answered(outcome)) for index in indices[key])
        finally:
            resources.outages.end(server, outage)


class _Session:
    """Calls by their keys that are made at once, on an event loop in a thread."""

    def __init__(self, client: ChatClient, calls: Mapping[str, ChatCall], claims: CallClaims, budget: CallBudget, outage: Outage) -> None:
        self._client, self._calls, self._claims, self._budget, self._outage = client, calls, claims, budget, outage
        # Read before the calls, whose keys may have changed in the environment when a reply comes.
        self._secrets = (*client.secrets(), *environment_secrets())
        # Outcomes that are not in the cache yet.
        self._finished: list[tuple[str, Outcome, asyncio.Event]] = []
        self._thread = LoopThread[tuple[str, Outcome]]("calls", claims.open())

    def outcomes(self, stop: Future[None] | None = None) -> Iterator[tuple[str, Outcome]]:
        """Yield the outcome of each key. However this ends, the thread has ended, and finished replies are cached."""
        return self._thread.items(self._make_all, stop)

    async def _make_all(self) -> None:
        workers = min(self._client.concurrency, len(self._calls))
        # Claimed calls wait here for a worker; None ends a worker.
        self._ready: asyncio.Queue[str | None] = asyncio.Queue(max(1, workers // 4))
        self._changed = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write())
                group.create_task(self._claim(workers))
                for _ in range(workers):
                    group.create_task(self._work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await self._end()

    async def _end(self) -> None:
        try:
            self._keep(self._finished)
            self._deliver(len(self._finished))
        finally:
            self._claims.release_all()
            await self._client.close()

    async def _claim(self, workers: int) -> None:
        async for key, value in self._claims.claim(list(self._calls)):
            if value is None:
                await self._ready.put(key)
            else:
                self._finish(key, _reply_of(value, self._client, self._claims.cache))
        for _ in range(workers):
            await self._ready.put(None)

    async def _work(self) -> None:
        while (key := await self._ready.get()) is not None:
            call = self._calls[key]
            outcome = self._outage.failure() or await self._asked(call)
            # A process that is killed loses no more replies than the calls that it makes at once, however slow the disk.
            await self._finish(key, outcome).wait()

    async def _asked(self, call: ChatCall) -> Outcome:
        """Make a call once the budget allows it."""
        client, mark, spent = self._client, object(), Spending()
        tokens = most_prompt_tokens(call), call.max_tokens
        most = client.most_tries * sum(tokens), client.most_tries * (client.cost(*tokens) or 0.0)
        while (started := self._budget.start(id(mark), *most)) is not True:
            if started:
                return started
            await asyncio.sleep(_PAUSE)
        try:
            outcome = _kept(await client.ask(call), call, self._secrets)
            outcome = replace(outcome, lost=_priced(outcome.lost, client))
            spent = _spent(call, outcome, client)
        except asyncio.CancelledError as cut:
            # It may have been sent, and a later session goes on with the budget.
            lost = next((argument for argument in cut.args if isinstance(argument, LostTries)), LostTries(1, *tokens))
            spent = _spent(call, CallFailure("", lost=_priced(lost, client)), client)
            raise
        finally:
            self._budget.finish(id(mark), spent)
        self._outage.note(outcome)
        return outcome

    def _finish(self, key: str, outcome: Outcome) -> asyncio.Event:
        """Hand an outcome to the writer. Return the event of its delivery."""
        self._finished.append((key, outcome, delivered := asyncio.Event()))
        self._changed.set()
        return delivered

    async def _write(self) -> None:
        """Commit finished replies, all that there are at once, and deliver them."""
        left = len(self._calls)
        while left:
            await self._changed.wait()
            self._changed.clear()
            batch = list(self._finished)
            await asyncio.to_thread(self._keep, batch)
            self._deliver(len(batch))
            left -= len(batch)

    def _keep(self, batch: Sequence[tuple[str, Outcome, asyncio.Event]]) -> None:
        fresh = [(key, outcome) for key, outcome, _ in batch if isinstance(outcome, Reply) and not outcome.cached]
        self._claims.keep({key: _value_of(reply) for key, reply in fresh if isinstance(answered(reply), Reply)})

    def _deliver(self, how_many: int) -> None:
        """Hand the first finished outcomes to the caller, and their keys to other processes."""
        for key, outcome, delivered in self._finished[:how_many]:
            self._claims.release(key)
            self._thread.deliver((key, outcome))
            delivered.set()
        del self._finished[:how_many]


def call_key(identity: Mapping[str, Any], call: ChatCall) -> str:
    """Return the key of a call to a client with this identity: a hash of provider, model, messages, parameters and repeat."""
    messages = [(message.role, message.content) for message in call.messages]
    parameters = [call.max_tokens, call.temperature, call.seed, call.schema, call.top_logprobs, call.repeat]
    return fingerprint(_LAYOUT, identity, messages, parameters)


def _kept(outcome: Outcome, call: ChatCall, secrets: Sequence[str]) -> Outcome:
    """Return an outcome that tables can contain: no text repeats a secret, and counts are those of tokens. Half of a surrogate pair is a failure."""
    outcome = replace(outcome, **{item.name: without_secrets(getattr(outcome, item.name), secrets) for item in fields(outcome)})
    if isinstance(outcome, CallFailure):
        return replace(outcome, reason=printable(outcome.reason))
    outcome = replace(
        outcome, model=name_of(outcome.model), input_tokens=count_of(outcome.input_tokens), output_tokens=count_of(outcome.output_tokens)
    )
    if not any("\ud800" <= character <= "\udfff" for character in outcome.text):
        return outcome
    lost = outcome.lost + LostTries(1, *_tokens(outcome, call))
    return CallFailure("the answer contains half of a surrogate pair, which is no text", "reply", lost)


def _tokens(reply: Reply, call: ChatCall) -> tuple[int, int]:
    """Return the tokens that a reply took, by a generous estimate where the server has not counted."""
    read = most_prompt_tokens(call) if reply.input_tokens is None else reply.input_tokens
    # Reasoning in a separate field is not in the text.
    written = max(most_tokens(reply.text), call.max_tokens if reply.reasoned else 0)
    return read, written if reply.output_tokens is None else reply.output_tokens


def _value_of(reply: Reply) -> dict[str, Any]:
    """Return a reply as a JSON value, without its cost, since prices are settings of the client."""
    lost = {"lost": [reply.lost.tries, reply.lost.input_tokens, reply.lost.output_tokens]} if reply.lost.tries else {}
    return {name: getattr(reply, name) for name in _CACHED} | lost


def _reply_of(value: Mapping[str, Any], client: ChatClient, cache: "CallCache | None") -> Reply:
    """Return a cached reply with its cost at the client's prices."""
    from workbench.core.storage.call_cache import own_form

    with own_form(cache):
        lost = _priced(LostTries(*value.get("lost", ())), client)
        reply = Reply(**{**{name: value[name] for name in _CACHED}, "dropped": tuple(value["dropped"]), "lost": lost}, cached=True)
        if not all(isinstance(text, str) for text in (reply.text, reply.finish_reason, reply.model)):
            raise TypeError
        return replace(reply, cost=client.cost(reply.input_tokens, reply.output_tokens))


def _priced(lost: LostTries, client: ChatClient) -> LostTries:
    return replace(lost, cost=client.cost(lost.input_tokens, lost.output_tokens)) if lost.tries else lost


def _spent(call: ChatCall, outcome: Outcome, client: ChatClient) -> Spending:
    """Return the tokens and the cost of a call with its lost tries, by a generous estimate where the server has not counted."""
    lost = outcome.lost
    money = lost.cost or 0.0
    spent = Spending(0, lost.input_tokens + lost.output_tokens, money, lost.tries, money)
    if isinstance(outcome, CallFailure):
        return spent
    read, written = _tokens(outcome, call)
    return spent + Spending(0, read + written, client.cost(read, written) or 0.0)
