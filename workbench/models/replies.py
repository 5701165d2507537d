"""Limit the size of a server's replies, which clients read into memory as a whole."""

from collections.abc import Iterator

from httpx2 import Response, SyncByteStream

# Vectors of 2,048 texts have about half of this.
LARGEST_REPLY = 128 * 2**20


class ReplyTooLargeError(OSError):
    """A reply is larger than `LARGEST_REPLY`."""

    def __str__(self) -> str:
        """State the limit."""
        return f"more than {LARGEST_REPLY // 2**20} MB in one reply"


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


def limit(response: Response) -> None:
    """Let reading a reply raise ReplyTooLargeError after `LARGEST_REPLY` bytes. For a client's event hook `response`."""
    assert isinstance(response.stream, SyncByteStream)
    response.stream = _Limited(response.stream)
