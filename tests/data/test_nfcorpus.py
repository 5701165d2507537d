"""The download against a real server on loopback, with an archive made from the set itself."""

import hashlib
import http.server
import io
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.core.errors import InputError
from workbench.data.sources import NfcorpusSource

LOAD = "from workbench.data.sources import NfcorpusSource; print(len(NfcorpusSource().load().documents))"


class Archive(http.server.ThreadingHTTPServer):
    """Serves `body`; says that it has `length` bytes; stops for ever after `stall` of them."""

    daemon_threads = True
    body = b""
    status = 200
    length: int | None = None
    stall: int | None = None
    requests = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.stalled, self.over = threading.Event(), threading.Event()


class Answer(http.server.BaseHTTPRequestHandler):
    server: Archive

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.length or len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body[: self.server.stall])
        if self.server.stall is not None:
            self.server.stalled.set()
            self.server.over.wait(60)

    def log_message(self, *_: object) -> None:
        pass


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(f"nfcorpus/{name}", content)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def files(big_data: Callable[[str], Path]) -> dict[str, bytes]:
    folder = big_data("nfcorpus")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def good(files: dict[str, bytes]) -> bytes:
    return packed(files)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path: Path, cache: Path, good: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    """The archive's server, and no other place where the set could be found."""
    archive = Archive()
    archive.body = good
    thread = threading.Thread(target=archive.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "no data"))
    monkeypatch.setenv("WORKBENCH_CACHE", str(cache))
    monkeypatch.setenv("WORKBENCH_NFCORPUS_URL", f"http://127.0.0.1:{archive.server_port}/nfcorpus.zip")
    yield archive
    archive.over.set()
    archive.shutdown()
    archive.server_close()
    thread.join()


def refusal(cache: Path) -> str:
    """The one line that a failed load says; it must leave nothing that a later load would believe."""
    with pytest.raises(InputError) as caught:
        NfcorpusSource().load()
    assert not (cache / "nfcorpus").exists()
    assert not (cache / "nfcorpus.zip").exists()
    assert not list(cache.glob("*.part"))
    (line,) = caught.value.lines
    return line


def test_a_download_is_checked_recorded_and_needed_once(server: Archive, cache: Path, good: bytes) -> None:
    assert len(NfcorpusSource().load().documents) == 3_633
    assert (cache / "nfcorpus.zip.sha256").read_text() == f"{hashlib.sha256(good).hexdigest()}  nfcorpus.zip\n"
    server.status = 500
    assert len(NfcorpusSource(split="dev").load().queries) == 324
    assert server.requests == 1
    assert {path.name for path in cache.iterdir()} <= {"nfcorpus", "nfcorpus.zip", "nfcorpus.zip.sha256", "nfcorpus.lock"}


def test_an_archive_that_ends_early_is_refused(server: Archive, cache: Path, good: bytes) -> None:
    server.body = good[: len(good) // 2]
    assert "NFCorpus could not be fetched" in refusal(cache)
    server.length = len(good)
    assert "NFCorpus could not be fetched" in refusal(cache)


def test_an_archive_damaged_inside_is_refused(server: Archive, cache: Path, good: bytes) -> None:
    for place in (len(good) // 4, len(good) // 2):
        server.body = good[:place] + bytes(64) + good[place + 64 :]
        assert "NFCorpus could not be fetched" in refusal(cache)


def test_a_page_in_place_of_the_archive_is_refused(server: Archive, cache: Path) -> None:
    server.body = b"<html>moved</html>"
    assert "NFCorpus could not be fetched" in refusal(cache)
    server.status = 404
    line = refusal(cache)
    assert "(DownloadError: 404 " in line
    assert line.endswith("give dataset.path a folder that contains it, or set WORKBENCH_DATA to the folder above it")


@pytest.mark.usefixtures("server")
def test_no_server_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_NFCORPUS_URL", "http://127.0.0.1:9/nfcorpus.zip")
    assert "(DownloadError: Connection refused)" in refusal(cache)


def test_an_archive_with_other_counts_is_refused(server: Archive, cache: Path, files: dict[str, bytes]) -> None:
    server.body = packed(files | {"corpus.jsonl": files["corpus.jsonl"].rstrip(b"\n").rpartition(b"\n")[0]})
    assert "the downloaded NFCorpus has {'documents': 3632, 'queries': 3237, 'test judgements': 12334}" in refusal(cache)
    server.body = packed({name: content for name, content in files.items() if name != "queries.jsonl"})
    assert "has no queries; expected queries.jsonl" in refusal(cache)
    assert not (cache / "nfcorpus.zip.sha256").exists()


def test_an_archive_that_changed_since_it_was_recorded_is_refused(
    server: Archive, cache: Path, good: bytes, files: dict[str, bytes]
) -> None:
    cache.mkdir()
    record = cache / "nfcorpus.zip.sha256"
    record.write_text(f"{hashlib.sha256(good).hexdigest()}  nfcorpus.zip\n")
    server.body = packed(files | {"README": b"new"})
    assert refusal(cache).endswith(f"differs from the one recorded in {record}; delete {record} if the change is known")
    server.body = good
    assert len(NfcorpusSource().load().documents) == 3_633


def test_a_killed_download_leaves_nothing_that_is_believed(server: Archive, cache: Path, good: bytes, fork: Callable) -> None:
    server.stall = len(good) // 2
    child = fork(LOAD)
    assert server.stalled.wait(60)
    while not list(cache.rglob("nfcorpus.zip")):
        assert child.poll() is None
    child.kill()
    child.wait()
    assert not (cache / "nfcorpus").exists()
    server.stall = None
    assert fork(LOAD).output() == "3633"
    assert not list(cache.glob("*.part"))


def test_processes_that_need_it_at_once_fetch_it_once(server: Archive, fork: Callable) -> None:
    children = [fork(LOAD) for _ in range(2)]
    answers = [child.communicate(timeout=60) for child in children]
    assert [out.strip() for out, _ in answers] == ["3633", "3633"], answers
    assert server.requests == 1


@pytest.mark.usefixtures("server")
def test_a_cache_that_cannot_be_written_is_one_line(cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(InputError, match=r"could not be fetched into .* \(FileExistsError: File exists\)"):
        NfcorpusSource().load()


@pytest.mark.usefixtures("server")
def test_a_full_disk_is_one_line(cache: Path, fork: Callable) -> None:
    script = """
import resource, signal
from workbench.data.sources import NfcorpusSource
from workbench.core.errors import InputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    NfcorpusSource().load()
except InputError as error:
    print(*error.lines)
"""
    assert "(OSError: File too large); give dataset.path" in fork(script).output()
    assert os.listdir(cache) in (["nfcorpus.lock"], [])
