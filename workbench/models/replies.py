"""Limit the size of a server's replies, which clients read into memory as a whole."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from httpx2 import AsyncByteStream, Response, SyncByteStream

# Vectors of 2,048 texts have about half of this.
LARGEST_REPLY = 128 * 2**20
# A reply of 10 MB is no answer: the longest that models write have less than 1 MB.
LARGEST_ANSWER = 8 * 2**20


class ReplyTooLargeError(OSError):
    """A reply is larger than its limit in bytes."""

    def __init__(self, limit: int = LARGEST_REPLY) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        """State the limit."""
        return f"more than {self.limit // 2**20} MB in one reply"


class CompressedReplyError(OSError):
    """A reply is compressed although the request refused that."""

    def __str__(self) -> str:
        """Name the fault."""
        return "a compressed reply"


class _Limited(SyncByteStream):
    def __init__(self, stream: SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for part in self._stream:
            received += len(part)
            if received > LARGEST_REPLY:
                raise ReplyTooLargeError
            yield part

    def close(self) -> None:
        self._stream.close()


class _LimitedAnswer(AsyncByteStream):
    def __init__(self, stream: AsyncByteStream, largest: int) -> None:
        self._stream, self._largest = stream, largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for part in self._stream:
            received += len(part)
            if received > self._largest:
                raise ReplyTooLargeError(self._largest)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def limit(response: Response) -> None:
    """Let reading a reply raise ReplyTooLargeError after `LARGEST_REPLY` bytes. For a client's event hook `response`."""
    assert isinstance(response.stream, SyncByteStream)
    response.stream = _Limited(response.stream)


def answer_limit(largest: int = LARGEST_ANSWER) -> Callable[[Response], Awaitable[None]]:
    """Return an asynchronous client's event hook `response` that lets reading a reply raise ReplyTooLargeError after `largest` bytes."""

    async def limit_answer(response: Response) -> None:
        assert isinstance(response.stream, AsyncByteStream)
        # A compressed reply of a few bytes could unpack to gigabytes.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise CompressedReplyError
        response.stream = _LimitedAnswer(response.stream, largest)

    return limit_answer
