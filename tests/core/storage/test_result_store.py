import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import InputError, StoreError
from workbench.core.files import write_atomically, write_text
from workbench.core.fingerprint import file_digest
from workbench.core.storage.folder_check import FolderCheck
from workbench.core.storage.layout import MARK, mark_text
from workbench.core.storage.result_store import MANIFEST, ResultWriter, Store
from workbench.core.storage.stored_files import EntryManifest, entry_fault

# Computes an entry; each computation leaves a mark, waits for a line on stdin if told to, and writes 100,000 numbers.
OBTAIN = """
import os, sys, time, uuid
from pathlib import Path
import numpy as np
from workbench.core.storage.result_store import Store
root, marks, wait = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
def compute(writer):
    writer.array("numbers", np.arange(100_000))
    (marks / uuid.uuid4().hex).touch()
    print("computing", flush=True)
    if wait == "for ever":
        time.sleep(600)
    time.sleep(0.2)
entry = Store(root).obtain("kind", "key", compute)
print(entry.computed, int(entry.array("numbers").sum()))
"""
# Runs a statement where no file may grow beyond 4,096 bytes, as on a full disk, and prints the StoreError.
FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
import pandas as pd
from workbench.core.errors import StoreError
from workbench.core.files import write_text
from workbench.core.storage.result_store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
root = Path(sys.argv[1])
try:
    {statement}
except StoreError as error:
    print(*error.lines)
"""


def fill(writer: ResultWriter) -> None:
    writer.table("rows", pd.DataFrame({"query": [0, 1], "text": ["a", "é😀"]}))
    writer.array("vectors", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.values("about", {"n": 2, "name": "é"})


def refuse(_: ResultWriter) -> None:
    raise AssertionError("computed again")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_an_entry_gives_back_what_was_put_in_and_is_computed_once(store: Store) -> None:
    made = store.obtain("kind", "key", fill)
    found = Store(store.root).obtain("kind", "key", refuse)
    assert (made.computed, found.computed) == (True, False)
    assert found.seconds == made.seconds >= 0
    for entry in (made, found):
        pd.testing.assert_frame_equal(entry.table("rows"), pd.DataFrame({"query": [0, 1], "text": ["a", "é😀"]}))
        np.testing.assert_array_equal(entry.array("vectors"), np.arange(6, dtype=np.float32).reshape(2, 3))
        assert entry.array("vectors").dtype == np.float32
        assert entry.values("about") == {"n": 2, "name": "é"}
    with pytest.raises(ValueError, match="read-only"):
        found.array("vectors")[0, 0] = 1


def test_keys_and_kinds_do_not_share_entries(store: Store) -> None:
    store.obtain("kind", "key", fill)
    assert store.get("kind", "other") is None
    assert store.get("other", "key") is None
    assert store.has("kind", "key")
    assert not store.has("kind", "other")


def test_a_computation_that_fails_leaves_nothing_and_can_be_tried_again(store: Store) -> None:
    def fail(writer: ResultWriter) -> None:
        fill(writer)
        raise InputError("the input says the disk is full of cats")

    with pytest.raises(InputError, match="cats"):
        store.obtain("kind", "key", fail)
    assert not store.has("kind", "key")
    assert [path.name for path in (store.root / "kind").iterdir() if path.is_dir()] == []
    assert store.obtain("kind", "key", fill).computed


def test_what_is_no_number_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        store.obtain("kind", "key", lambda writer: writer.values("about", {"x": float("nan")}))
    with pytest.raises(ValueError, match="Object arrays"):
        store.obtain("kind", "key", lambda writer: writer.array("about", np.array([{}], dtype=object)))
    assert not store.has("kind", "key")


def _flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / MANIFEST).read_text()))


def rewrite(folder: Path, **changes: object) -> None:
    (folder / MANIFEST).write_text(json.dumps(manifest_of(folder) | changes))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "one bit": lambda folder: _flip(folder / "vectors.npy"),
    "a file gone": lambda folder: (folder / "rows.parquet").unlink(),
    "a file cut": lambda folder: (folder / "about.json").write_text(""),
    "no manifest but text": lambda folder: (folder / MANIFEST).write_text("{"),
    "another manifest": lambda folder: (folder / MANIFEST).write_text("[]"),
    "an odd manifest": lambda folder: (folder / MANIFEST).write_text('{"files": [], "seconds": 1}'),
    "an empty manifest": lambda folder: (folder / MANIFEST).write_text("{}"),
    "another entry": lambda folder: rewrite(folder, key="other"),
    "another kind": lambda folder: rewrite(folder, kind="other"),
    "no files": lambda folder: rewrite(folder, files={}),
    "no files and no digest": lambda folder: rewrite(folder, files={}, digest=None),
    "fewer files": lambda folder: rewrite(folder, files={"about.json": manifest_of(folder)["files"]["about.json"]}),
    "other seconds": lambda folder: rewrite(folder, seconds=1e9),
    "seconds as a text": lambda folder: rewrite(folder, seconds="1.5", digest=None),
    "seconds in words": lambda folder: rewrite(folder, seconds="soon", digest=None),
    "no number of seconds": lambda folder: rewrite(folder, seconds=float("nan"), digest=None),
    "negative seconds": lambda folder: rewrite(folder, seconds=-1, digest=None),
    "a file of another folder": lambda folder: rewrite(folder, files={"../other": [0, ""]}, digest=None),
}


def test_a_damaged_entry_names_its_folder_and_the_fix_which_works(store: Store, wording) -> None:
    def damaged(damage: Callable[[Path], object]) -> str:
        folder = store.obtain("kind", "key", fill).folder
        damage(folder)
        with pytest.raises(StoreError) as caught:
            store.obtain("kind", "key", refuse)
        # A deletion that was interrupted counts: what has no manifest is no entry.
        (folder / MANIFEST).unlink()
        assert store.obtain("kind", "key", fill).computed
        assert store.obtain("kind", "key", refuse).values("about") == {"n": 2, "name": "é"}
        return str(caught.value)

    wording(damaged, DAMAGES, None)


@pytest.mark.parametrize(("kind", "key"), [("kind", "other"), ("sort", "key")])
def test_an_entry_replaced_by_another_ones_is_named(store: Store, kind: str, key: str) -> None:
    other = store.obtain(kind, key, lambda writer: writer.values("about", {"n": 3})).folder
    folder = store.obtain("kind", "key", fill).folder
    shutil.rmtree(folder)
    shutil.copytree(other, folder)
    with pytest.raises(
        StoreError, match=rf"the store entry \S+kind/key is corrupt \(it is {kind}/{key}\); run workbench doctor, or delete the folder"
    ):
        store.get("kind", "key")


def test_a_manifest_that_names_an_intact_file_outside_the_entry_is_refused(store: Store) -> None:
    folder = store.obtain("kind", "key", fill).folder
    outside = folder.with_name("outside.json")
    outside.write_text("1")
    manifest = EntryManifest.read((folder / MANIFEST).read_bytes())
    named = {"../outside.json": (1, file_digest(outside, "blake2b"))}
    (folder / MANIFEST).write_text(EntryManifest.of("kind", "key", 1, manifest.files | named).model_dump_json())
    with pytest.raises(StoreError, match=r"kind/key is corrupt \(entry\.json names the file '\.\./outside\.json'\)"):
        store.get("kind", "key")


def test_a_file_that_the_manifest_does_not_list_is_not_read(store: Store) -> None:
    folder = store.obtain("kind", "key", fill).folder
    (folder / "added.json").write_text("1")
    entry = store.get("kind", "key")
    assert entry is not None
    for read in (lambda: entry.values("added"), lambda: entry.table("rows2"), lambda: entry.array("x"), lambda: entry.file("report.html")):
        with pytest.raises(StoreError, match=r"kind/key is corrupt \(\S+ is missing\); run workbench doctor, or delete the folder"):
            read()


def test_a_file_that_is_no_table_is_one_line(store: Store) -> None:
    entry = store.obtain("kind", "key", lambda writer: (writer.folder / "rows.parquet").write_text("no table"))
    with pytest.raises(StoreError, match=r"kind/key is corrupt \(rows.parquet: ArrowInvalid\)"):
        entry.table("rows")


def test_entries_of_an_earlier_version_without_a_digest_are_read(store: Store) -> None:
    folder = store.obtain("kind", "key", fill).folder
    manifest = manifest_of(folder)
    del manifest["digest"]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    (store.root / MARK).write_text('{"layout":1}')
    assert Store(store.root).obtain("kind", "key", refuse).values("about") == {"n": 2, "name": "é"}
    (store.root / MARK).unlink()
    assert Store(store.root).obtain("kind", "key", refuse).values("about") == {"n": 2, "name": "é"}
    Store(store.root).obtain("kind", "other", fill)
    assert (store.root / MARK).is_file()


def test_a_store_of_another_layout_is_refused_by_name(store: Store, wording) -> None:
    def use(mark: str) -> None:
        (store.root / MARK).write_text(mark)
        with pytest.raises(StoreError) as caught:
            Store(store.root).get("kind", "key")
        with pytest.raises(StoreError, match=re.escape(str(caught.value))):
            Store(store.root).obtain("kind", "other", fill)
        assert not store.has("kind", "other")
        raise caught.value

    store.obtain("kind", "key", fill)
    marks = [mark_text(2), "", "{}", '{"layout":"1"}', '{"layout":3}', '{"mayout":1}', mark_text().replace('"layout":1', '"layout":3')]
    wording(use, marks, StoreError)


def test_a_killed_computation_is_never_seen_and_does_not_block_the_next(tmp_path: Path, fork: Callable) -> None:
    root, marks = tmp_path / "store", tmp_path / "marks"
    marks.mkdir()
    child = fork(OBTAIN, root, marks, "for ever")
    assert child.stdout.readline() == "computing\n"
    assert list((root / "kind").rglob("numbers.npy"))
    assert Store(root).get("kind", "key") is None
    child.kill()
    child.wait()
    assert Store(root).get("kind", "key") is None
    made = Store(root).obtain("kind", "key", fill)
    assert made.computed
    assert sorted(path.name for path in made.folder.iterdir()) == ["about.json", MANIFEST, "rows.parquet", "vectors.npy"]
    assert [path.name for path in (root / "kind").iterdir() if path.is_dir()] == ["key"]


def test_of_several_processes_one_computes_and_all_get_it(tmp_path: Path, fork: Callable) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    children = [fork(OBTAIN, tmp_path / "store", marks, "no") for _ in range(4)]
    last = [child.communicate(timeout=60)[0].splitlines()[-1] for child in children]
    assert sorted(last) == ["False 4999950000"] * 3 + ["True 4999950000"]
    assert len(list(marks.iterdir())) == 1


@pytest.mark.parametrize(
    "statement",
    [
        'Store(root).obtain("kind", "key", lambda writer: writer.array("numbers", np.zeros(10_000)))',
        'Store(root).obtain("kind", "key", lambda writer: writer.table("rows", pd.DataFrame({"x": np.arange(10_000)})))',
        'Store(root).obtain("kind", "key", lambda writer: writer.values("text", "x" * 10_000))',
        'write_text(root / "report.html", "x" * 10_000)',
    ],
    ids=["array", "table", "values", "file"],
)
def test_a_full_disk_is_one_line_with_its_fix_and_leaves_nothing(tmp_path: Path, fork: Callable, statement: str) -> None:
    line = fork(FULL.replace("{statement}", statement), tmp_path).output()
    assert line == f"the disk is full at {tmp_path}; free space and run again: finished results are kept"
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARK and not path.name.endswith(".lock")]
    assert left == []


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match=r"file/kind cannot be written; choose another folder"):
        Store(tmp_path / "file").obtain("kind", "key", fill)
    with pytest.raises(StoreError, match=r"file cannot be written"):
        write_text(tmp_path / "file" / "report.html", "x")


def test_writing_atomically_replaces_the_file(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "report.txt", "one")
    write_text(tmp_path / "new" / "report.txt", "twö")
    assert (tmp_path / "new" / "report.txt").read_bytes() == "twö".encode()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report.txt"]


def test_writing_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    write_text(path, "old")

    def fail(aside: Path) -> None:
        aside.write_text("half of the n")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_killed_half_way_keeps_the_old_file(tmp_path: Path, fork: Callable) -> None:
    path = tmp_path / "report.txt"
    write_text(path, "old")
    script = """
import sys, time
from pathlib import Path
from workbench.core.files import write_atomically
def write(aside):
    aside.write_text("half of the n")
    print("half", flush=True)
    time.sleep(600)
write_atomically(Path(sys.argv[1]), write)
"""
    child = fork(script, path)
    assert child.stdout.readline() == "half\n"
    child.kill()
    child.wait()
    assert path.read_text() == "old"


def test_the_manifest_tells_size_and_digest_of_every_file(store: Store) -> None:
    folder = store.obtain("kind", "key", fill).folder
    manifest = json.loads((folder / MANIFEST).read_text())
    assert {name: size for name, (size, _) in manifest["files"].items()} == {
        path.name: path.stat().st_size for path in folder.iterdir() if path.name != MANIFEST
    }


def test_a_forged_file_with_its_digest_is_believed(store: Store) -> None:
    """Digests detect damage. Whoever can write to a store is trusted."""
    folder = store.obtain("kind", "key", fill).folder
    manifest = EntryManifest.read((folder / MANIFEST).read_bytes())
    name = next(iter(manifest.files))
    forged = (folder / name).read_bytes() + b" "
    (folder / name).write_bytes(forged)
    assert entry_fault(folder, "kind", "key")
    files = {**manifest.files, name: (len(forged), file_digest(folder / name, "blake2b"))}
    (folder / MANIFEST).write_text(EntryManifest.of("kind", "key", manifest.seconds, files).model_dump_json())
    assert not entry_fault(folder, "kind", "key")


def test_a_table_in_parts_is_read_as_one(store: Store) -> None:
    rows = pd.DataFrame({"doc": np.arange(9), "header": pd.array(["", "é", ""] * 3, dtype="str")})
    parts = [rows.iloc[:4], rows.iloc[4:4], rows.iloc[4:]]
    entry = store.obtain("kind", "key", lambda writer: writer.tables("rows", parts))
    pd.testing.assert_frame_equal(entry.table("rows"), rows)


@pytest.mark.parametrize("shape", [(3, 2), (0, 5), (4, 0)])
def test_an_array_is_written_where_it_lies(store: Store, shape: tuple[int, int]) -> None:
    numbers = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)

    def compute(writer: ResultWriter) -> None:
        array = writer.mapped("vectors", shape)
        array[: shape[0] // 2] = numbers[: shape[0] // 2]
        array[shape[0] // 2 :] = numbers[shape[0] // 2 :]

    store.obtain("kind", "key", compute)
    # Another look checks its digest too.
    np.testing.assert_array_equal(store.get("kind", "key").array("vectors"), numbers)


def test_an_array_that_the_disk_cannot_hold_is_one_line_and_not_a_killed_process(tmp_path: Path, fork: Callable) -> None:
    statement = 'Store(root).obtain("kind", "key", lambda writer: writer.mapped("vectors", (1_000, 384)))'
    line = fork(FULL.format(statement=statement), tmp_path).output()
    assert line == f"the disk is full at {tmp_path}; free space and run again: finished results are kept"
    assert not list(tmp_path.rglob("*.npy"))


def test_a_copy_that_is_not_complete_does_not_replace_the_last_one(store: Store, tmp_path: Path) -> None:
    entry, target = store.obtain("kind", "key", fill), tmp_path / "about.json"
    entry.copy("about.json", target)
    whole = target.read_bytes()
    assert whole == (entry.folder / "about.json").read_bytes()
    (entry.folder / "about.json").write_bytes(whole[:-1])
    with pytest.raises(StoreError, match=r"kind/key is corrupt \(about.json cannot be read as it was written\); run workbench doctor"):
        entry.copy("about.json", target)
    assert target.read_bytes() == whole
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_entry_that_the_disk_cannot_read_is_not_called_corrupt_and_doctor_keeps_it(store: Store) -> None:
    folder, key = store.obtain("kind", "a" * 32, fill).folder, "a" * 32
    (folder / "about.json").unlink()
    # A file of Linux whose size is 0 and whose first bytes cannot be read.
    (folder / "about.json").symlink_to("/proc/self/mem")
    files = manifest_of(folder)["files"] | {"about.json": (0, "")}
    files = {name: (size, digest) for name, (size, digest) in files.items()}
    (folder / MANIFEST).write_text(EntryManifest.of("kind", key, 1.0, files).model_dump_json())
    with pytest.raises(StoreError, match=rf"{key} cannot be read \(OSError: .*Input/output error\); check the disk"):
        store.get("kind", key)
    check = FolderCheck(folder.parent, "store entry", MANIFEST, lambda path: entry_fault(path, "kind", key))
    assert [finding.state for finding in check.findings(repair=True)] == ["stuck"]
    assert folder.is_dir()


def test_an_incomplete_entry_stays_readable_while_another_process_replaces_it(tmp_path: Path) -> None:
    def partly(writer: ResultWriter) -> None:
        fill(writer)
        writer.mark_incomplete()

    incomplete = Store(tmp_path).obtain("kind", "key", partly)
    again = Store(tmp_path).obtain("kind", "key", lambda writer: writer.table("rows", pd.DataFrame({"query": [7], "text": ["new"]})))
    assert (incomplete.complete, again.complete) == (False, True)
    assert incomplete.table("rows")["query"].tolist() == [0, 1]
    assert incomplete.array("vectors").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert incomplete.values("about") == {"n": 2, "name": "é"}
    assert again.table("rows")["query"].tolist() == [7]


def test_an_entry_is_replaced_by_names_so_that_a_check_never_sees_a_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted, delete = list[str](), shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda path, **options: [deleted.append(Path(path).name), delete(path, **options)])
    for _ in range(2):
        Store(tmp_path).obtain("kind", "key", lambda writer: [fill(writer), writer.mark_incomplete()])
    assert "key" not in deleted
    assert {path.name for path in (tmp_path / "kind").iterdir()} == {"key", "key.lock"}
