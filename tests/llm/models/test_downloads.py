"""Downloads of model files: checked, resumed, and one line for each way in which they fail."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from workbench.core.errors import InputError, ModelError, RunError
from workbench.llm.models.downloads import PUBLISHED, PublishedFile, download

CONTENT = bytes(range(256)) * 12_000
FILE = PublishedFile("tiny.gguf", "someone/tiny", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "MIT")


class FileServer(ThreadingHTTPServer):
    """Serves CONTENT, or redirects to `location`. `cut` ends an answer after so many bytes, `ranges` says whether parts are served, `status` is
    that of an error."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FileHandler)
        self.content, self.cut, self.ranges, self.status, self.location = CONTENT, 0, True, 0, ""
        self.asked: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/tiny.gguf"


class FileHandler(BaseHTTPRequestHandler):
    server: FileServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("range")
        self.server.asked.append(wanted)
        if self.server.status:
            self.send_error(self.server.status)
            return
        if self.server.location:
            self.send_response(302)
            self.send_header("location", self.server.location)
            self.end_headers()
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.server.ranges else 0
        content = self.server.content
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("content-range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("content-length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : self.server.cut or None])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running = FileServer()
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def fetched(source: str, folder: Path, advance: Callable[[int], object] = lambda _: None) -> Path:
    return download(FILE, source, folder, advance)


def test_a_file_is_downloaded_and_has_its_name_once_it_is_verified(server: FileServer, tmp_path: Path) -> None:
    advanced: list[int] = []
    place = fetched(server.address, tmp_path / "new" / "models", advanced.append)
    assert place == tmp_path / "new" / "models" / "tiny.gguf"
    assert place.read_bytes() == CONTENT
    assert sum(advanced) == len(CONTENT)
    assert [path.name for path in place.parent.iterdir()] == ["tiny.gguf"]


def test_a_file_that_is_there_is_not_downloaded_again(server: FileServer, tmp_path: Path) -> None:
    fetched(server.address, tmp_path)
    fetched(server.address, tmp_path)
    assert len(server.asked) == 1


def test_an_interrupted_download_resumes(server: FileServer, tmp_path: Path) -> None:
    server.cut = 1_500_000
    with pytest.raises(RunError, match=r"ended after 1,500,000 of 3,072,000 bytes; run the same command again, which resumes"):
        fetched(server.address, tmp_path)
    assert not (tmp_path / "tiny.gguf").exists()
    server.cut = 0
    assert fetched(server.address, tmp_path).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1500000-"]


def test_a_server_that_does_not_resume_sends_all_of_it_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(b"x" * 1000)
    server.ranges = False
    assert fetched(server.address, tmp_path).read_bytes() == CONTENT


def test_another_content_is_removed(server: FileServer, tmp_path: Path) -> None:
    server.content = CONTENT[:-1] + b"x"
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:\d+/tiny.gguf is not the published tiny.gguf: its sha256 is another; name"):
        fetched(f"{server.address}?token=secret", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_longer_content_is_not_read_to_its_end(server: FileServer, tmp_path: Path) -> None:
    server.content = CONTENT * 3
    advanced: list[int] = []
    with pytest.raises(ModelError, match="is not the published"):
        fetched(server.address, tmp_path, advanced.append)
    assert sum(advanced) == len(CONTENT) + 1


def test_a_part_of_something_else_is_found_by_its_checksum_and_the_next_download_succeeds(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(b"x" * 1000)
    with pytest.raises(ModelError, match="its sha256 is another"):
        fetched(server.address, tmp_path)
    assert fetched(server.address, tmp_path).read_bytes() == CONTENT


def test_a_server_with_an_error_is_one_line(server: FileServer, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(RunError, match=r"could not be read to its end \(404 Not Found\); run the same"):
        fetched(server.address, tmp_path)


def test_no_server_is_one_line(server: FileServer, tmp_path: Path) -> None:
    address = server.address
    server.server_close()
    with pytest.raises(RunError, match=r"could not be read to its end \(Connection (refused|reset by peer)\)"):
        fetched(address, tmp_path)


@pytest.mark.reaches("huggingface.co", "cdn.hf.co")
@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("https://huggingface.co/a", "tests may not reach huggingface.co"),
        ("https://cdn.hf.co/a", "tests may not reach cdn.hf.co"),
        ("http://hf.co/a", "status 302 redirects to http://hf.co/a, which is not followed"),
        ("https://hf.co.example/a", "status 302 redirects to https://hf.co.example/a, which is not followed"),
    ],
)
def test_a_redirect_to_a_server_of_the_hub_is_followed_encrypted(server: FileServer, tmp_path: Path, location: str, reason: str) -> None:
    server.location = location
    with pytest.raises(RunError, match=re.escape(f"could not be read to its end ({reason})")):
        fetched(server.address, tmp_path)


def test_a_local_file_is_copied_and_verified(tmp_path: Path) -> None:
    mine = tmp_path / "mine.bin"
    mine.write_bytes(CONTENT)
    assert fetched(str(mine), tmp_path / "models").read_bytes() == CONTENT
    mine.write_bytes(b"short")
    with pytest.raises(ModelError, match=r"mine.bin is not the published tiny.gguf"):
        fetched(str(mine), tmp_path / "other")
    with pytest.raises(
        InputError, match=r"nowhere.gguf is neither an address .* nor a file that can be read \(No such file or directory\)"
    ):
        fetched(str(tmp_path / "nowhere.gguf"), tmp_path / "other")


def test_another_file_of_the_same_name_is_left_alone(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"mine")
    with pytest.raises(InputError, match="exists and is not the published file; remove it, or name another folder with --to"):
        fetched(server.address, tmp_path)
    assert (tmp_path / "tiny.gguf").read_bytes() == b"mine"


def test_a_folder_that_cannot_be_written_is_one_line(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(RunError, match=r"tiny.gguf could not be written to .*models \(.*\); free some space, or name another"):
        fetched(server.address, tmp_path / "models")


def test_the_official_addresses_are_those_of_the_hub() -> None:
    names = {key: file.address for key, file in PUBLISHED.items()}
    hub = "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    assert names["qwen2.5-1.5b"] == hub
    assert all(re.fullmatch(r"[0-9a-f]{64}", file.sha256) for file in PUBLISHED.values())
