"""A store under a URL, on a real FTP server: a process of its own on loopback."""

import itertools
import json
import re
import shutil
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote, urlsplit

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractFileSystem

from workbench.core.errors import InputError, StoreError
from workbench.core.storage.layout import mark_text
from workbench.core.storage.remote_store import RemoteStore, is_url, mirror_of
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.core.storage.stored_files import EntryManifest


@pytest.fixture
def machine(server, tmp_path: Path) -> Callable[[str], RemoteStore]:
    """The store as a machine of this name has it, with a copy of its own."""
    return lambda name: RemoteStore(server.url, tmp_path / name)


def fill(writer: ResultWriter) -> None:
    writer.array("numbers", np.arange(50_000))
    writer.values("about", {"of": "numbers"})


def refuse(_: ResultWriter) -> None:
    raise AssertionError("it was computed again")


def check(entry: StoredResult) -> None:
    np.testing.assert_array_equal(entry.array("numbers"), np.arange(50_000))
    assert entry.values("about") == {"of": "numbers"}


def test_what_one_machine_computes_another_one_reads(machine, server):
    one, other = machine("one"), machine("other")
    assert not other.has("kind", "key")
    assert one.obtain("kind", "key", fill).computed
    assert other.has("kind", "key")
    found = other.obtain("kind", "key", refuse)
    assert not found.computed
    check(found)
    assert len(server.files()) == 4
    assert "store.json" in server.files()
    # Now from the copy: the server is not asked.
    shutil.rmtree(server.folder)
    check(other.obtain("kind", "key", refuse))


def test_an_upload_that_broke_off_is_never_believed(machine, server):
    machine("one").obtain("kind", "key", fill)
    (manifest,) = server.folder.rglob("entry.json")
    whole = manifest.read_bytes()
    for rest in (None, b"", whole[: len(whole) // 2], whole[:-1]):
        manifest.unlink(missing_ok=True)
        if rest is not None:
            manifest.write_bytes(rest)
        assert not machine("other").has("kind", "key")
        assert machine("other").get("kind", "key") is None
    # Who computes it makes it whole again.
    assert machine("other").obtain("kind", "key", fill).computed
    check(machine("third").obtain("kind", "key", refuse))


def test_a_damaged_or_missing_file_is_reported_with_its_place_and_without_the_password(machine, server):
    machine("one").obtain("kind", "key", fill)
    (path,) = server.folder.rglob("*numbers.npy")
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + b"changed!")
    with pytest.raises(StoreError, match=r"the store entry ftp://127.0.0.1:\d+/shared/kind/key is corrupt \(numbers.npy\); delete ftp"):
        machine("other").get("kind", "key")
    path.unlink()
    with pytest.raises(StoreError, match=r"ftp://127.0.0.1:\d+/shared/kind/key is corrupt \(numbers.npy\); delete ftp") as found:
        machine("third").get("kind", "key")
    assert "secret" not in str(found.value)
    assert not (machine("third").root / "kind" / "key").exists()


def test_an_entry_put_under_anothers_key_is_not_believed(machine, server):
    machine("one").obtain("kind", "key", fill)
    shutil.copytree(server.folder / "kind" / "key", server.folder / "kind" / "wanted")
    with pytest.raises(StoreError, match=r"kind/wanted is corrupt \(it is kind/key\); delete ftp"):
        machine("other").get("kind", "wanted")
    assert not (machine("other").root / "kind" / "wanted").exists()


def test_a_manifest_cannot_name_files_outside_its_entry(machine, server):
    machine("one").obtain("kind", "key", fill)
    path = server.folder / "kind" / "key" / "entry.json"
    files = EntryManifest.read(path.read_bytes()).files
    path.write_text(EntryManifest.of("kind", "key", 1, files | {"../../../escaped": (1, "0" * 128)}).model_dump_json())
    with pytest.raises(StoreError, match=r"corrupt \(entry.json names the file '../../../escaped'\)"):
        machine("other").get("kind", "key")


def test_a_damaged_entry_is_not_uploaded(machine, server):
    def compute(writer: ResultWriter) -> None:
        fill(writer)
        server.end()

    one = machine("one")
    with pytest.raises(StoreError, match="cannot be used"):
        one.obtain("kind", "key", compute)
    (one.root / "kind" / "key" / "about.json").write_text("{}")
    server.begin()
    with pytest.raises(StoreError, match=r"about\.json has changed"):
        one.get("kind", "key")
    assert server.files() == []


def test_a_store_of_another_layout_under_a_url_is_refused_by_name(machine, server):
    machine("one").obtain("kind", "key", fill)
    (server.folder / "store.json").write_text(mark_text(9))
    with pytest.raises(
        StoreError, match=r"the store ftp://127.0.0.1:\d+/shared was written by another version .*\(layout 9; this one uses 1\)"
    ):
        machine("other").get("kind", "key")


def test_a_damaged_mark_under_a_url_can_be_deleted_and_is_written_again(machine, server):
    machine("one").obtain("kind", "key", fill)
    mark = server.folder / "store.json"
    whole = mark.read_text()
    mark.write_text(whole.replace('"layout":1', '"layout":3'))
    with pytest.raises(StoreError, match=r"is corrupt \(store.json cannot be read\); delete ftp://.*/shared/store.json and run again"):
        machine("other").get("kind", "key")
    mark.unlink()
    machine("other").obtain("kind", "second", fill)
    assert mark.read_text() == whole


def test_a_mark_that_another_machine_is_writing_is_waited_for(machine, server):
    machine("one").obtain("kind", "key", fill)
    mark = server.folder / "store.json"
    whole = mark.read_text()
    mark.write_text(whole[:5])
    writer = threading.Timer(0.1, mark.write_text, [whole])
    writer.start()
    check(machine("other").obtain("kind", "key", refuse))
    writer.join()


def test_two_that_upload_the_same_entry_leave_one_that_is_whole(machine, server):
    def another(writer: ResultWriter) -> None:
        writer.array("numbers", np.arange(50_000)[::-1])
        writer.values("about", {"of": "numbers"})

    one, other = machine("one"), machine("other")
    one.obtain("kind", "key", fill)
    first = {path: path.read_bytes() for path in server.folder.rglob("*") if path.is_file()}
    shutil.rmtree(server.folder)
    other.obtain("kind", "key", another)
    # The files of both lie there, in whatever order they came; each manifest names its own.
    for path, content in first.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name != "entry.json":
            path.write_bytes(content)
    np.testing.assert_array_equal(machine("third").get("kind", "key").array("numbers"), np.arange(50_000)[::-1])
    next(server.folder.rglob("entry.json")).write_bytes(next(content for path, content in first.items() if path.name == "entry.json"))
    check(machine("fourth").get("kind", "key"))


def test_what_was_computed_while_the_server_was_away_is_kept_and_uploaded_later(machine, server):
    def compute(writer: ResultWriter) -> None:
        fill(writer)
        server.end()

    with pytest.raises(StoreError, match=r"the store ftp://127.0.0.1:\d+/shared cannot be used .*check that it can be reached") as found:
        machine("one").obtain("kind", "key", compute)
    assert "secret" not in str(found.value)
    with pytest.raises(StoreError, match="cannot be used"):
        machine("other").get("kind", "key")
    server.begin()
    check(machine("one").obtain("kind", "key", refuse))
    check(machine("other").obtain("kind", "key", refuse))


def test_urls_are_known_from_paths_and_a_password_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    assert is_url("s3://bucket/store")
    assert not is_url("/a/path")
    assert not is_url("C:/a/path")
    assert mirror_of("ftp://user:word@host/store") == mirror_of("ftp://host/store")
    assert mirror_of("ftp://host/store") != mirror_of("ftp://host/other")


def test_an_unknown_protocol_is_reported_in_one_line(tmp_path):
    with pytest.raises((InputError, StoreError), match="nonsense"):
        RemoteStore("nonsense://host/store", tmp_path).has("kind", "key")


class TalkativeFileSystem(AbstractFileSystem):
    """A file system whose errors repeat what it was given, as those of GitHub and others do."""

    protocol = "talkative"

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, str]:
        return {"given": path}

    def cat_file(self, path: str, **_: object) -> bytes:
        parts = urlsplit(self.storage_options["given"])
        raise ConnectionError(f"no answer to /{parts.username}/{parts.password}/{quote(parts.password or '')}?{parts.query} of {path}")


@pytest.mark.parametrize("password", ["hunter2", "b", "pa%20ss"])
def test_a_password_that_a_file_system_repeats_is_not_in_its_error_and_its_traceback(tmp_path, password):
    fsspec.register_implementation("talkative", TalkativeFileSystem, clobber=True)
    with pytest.raises(StoreError) as caught:
        RemoteStore(f"talkative://a:{password}@host/x?versionId=7&token=t0k", tmp_path).has("kind", "key")
    text = "".join(traceback.format_exception(caught.value))
    assert "talkative://host/x?versionId=7&token=… cannot be used (ConnectionError: no answer to /a/…/…?versionId=7&token=… of" in text
    # The file system's own error, which has the password, is not a part of the traceback.
    assert text.count("no answer to") == 1
    assert not re.search(rf"\b({re.escape(password)}|{quote(password)}|{unquote(password)}|t0k)\b", text.split("StoreError: ")[1])


class FailingFileSystem(MemoryFileSystem):
    """A file system in memory, of which one operation, or each from that one on, raises an error. A write then leaves half of the bytes."""

    protocol = "failing"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    done, failing, lasting = 0, -1, False
    error: Exception = OSError()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix("failing:/"))

    @classmethod
    def operation(cls) -> bool:
        """Count an operation and return whether it fails."""
        number, cls.done = cls.done, cls.done + 1
        return number == cls.failing or (cls.lasting and -1 < cls.failing < number)

    def cat_file(self, path: str, *arguments: Any, **options: Any) -> bytes:
        if self.operation():
            raise self.error
        return super().cat_file(path, *arguments, **options)

    def pipe_file(self, path: str, value: bytes, *arguments: Any, **options: Any) -> None:
        fails = self.operation()
        super().pipe_file(path, value[: len(value) // 2] if fails else value, *arguments, **options)
        if fails:
            raise self.error

    def put_file(self, lpath: str, rpath: str, *_: Any, **__: Any) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def get_file(self, rpath: str, lpath: str, *_: Any, **__: Any) -> None:
        Path(lpath).write_bytes(self.cat_file(rpath))

    def exists(self, path: str, **options: Any) -> bool:
        if self.operation():
            raise self.error
        return super().exists(path, **options)

    def rm_file(self, path: str) -> None:
        if self.operation():
            raise self.error
        super().rm_file(path)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("error", [ConnectionResetError("reset"), FileNotFoundError("The specified bucket does not exist"), EOFError()])
def test_an_error_of_any_operation_of_a_file_system_is_one_line_and_the_next_run_repairs_it(error, lasting, tmp_path, monkeypatch):
    fsspec.register_implementation("failing", FailingFileSystem, clobber=True)
    monkeypatch.setattr("workbench.core.storage.remote_store._WAITS", (0.0, 0.0, 0.0))
    monkeypatch.setattr(FailingFileSystem, "error", error)

    def share(folder: Path) -> None:
        one, other = (RemoteStore("failing://shared", folder / name) for name in ("one", "other"))
        one.put_mark("sweep")
        for writer, reader, key in ((one, other, "key"), (other, one, "second")):
            check(writer.obtain("kind", key, fill))
            check(reader.obtain("kind", key, fill))
        one.take_mark("sweep")

    lines: list[str] = []
    for failing in itertools.count():
        FailingFileSystem.store.clear()
        FailingFileSystem.done, FailingFileSystem.failing, FailingFileSystem.lasting = 0, failing, lasting
        try:
            share(tmp_path / str(failing))
        except StoreError as found:
            lines.append(str(found))
        if FailingFileSystem.done <= failing:
            break
        FailingFileSystem.failing = -1
        share(tmp_path / str(failing))
        assert json.loads(FailingFileSystem().cat_file("/shared/store.json")) == json.loads(mark_text())
    assert failing > 20
    assert any(type(error).__name__ in line for line in lines)
    assert not any("\n" in line for line in lines)


@pytest.mark.slow
def test_a_sweep_into_a_store_under_a_url_is_found_there_by_another_machine(server, tmp_path, handbook_few, fork):
    """The same experiment twice, with outputs and copy of their own: the second computes nothing but its index."""
    script = (
        "import json, sys\nfrom pathlib import Path\n"
        "from workbench.runner.execution.outputs import write_outputs\nfrom workbench.runner.execution.local import run_experiment\n"
        "from workbench.runner.experiment.read import experiment_of\n"
        "dataset = {'kind': 'golden', 'path': sys.argv[1], 'split': 'dev'}\n"
        "settings = {'name': 'small', 'dataset': dataset, 'pipeline': {'embedding': {'kind': 'hashed'}}}\n"
        "said = []\noutcome = run_experiment(experiment_of(settings, 'test'), Path(sys.argv[2]), said.append)\n"
        "write_outputs(outcome)\nassert not outcome.failures, outcome.failures\nprint(json.dumps(said))"
    )
    said, tables = [], []
    for name in ("one", "other"):
        environment = {"WORKBENCH_STORE": server.url, "WORKBENCH_CACHE": str(tmp_path / name / "cache")}
        said += json.loads(fork(script, handbook_few, tmp_path / name / "outputs", env=environment).output())
        tables.append((tmp_path / name / "outputs" / "small" / "metrics.parquet").read_bytes())
        # Only the times of this machine stay in its outputs.
        assert [each.name for each in (tmp_path / name / "outputs" / ".store").iterdir() if each.is_dir()] == ["latency"]
    first, second = (line for line in said if line.startswith("[1/1]"))
    assert first.endswith(" s")
    # The index is rebuilt on each machine.
    assert second.endswith(" s")
    assert tables[0] == tables[1]
