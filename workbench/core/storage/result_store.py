"""Store results by content: a stored result is never recomputed, and an incomplete one is never visible.

An entry is a folder `<root>/<kind>/<key>/` of parquet, npy and JSON files with `entry.json`, which names the entry, lists each file's
size and BLAKE2b, and has a digest itself. It is written under a temporary name, flushed to disk and renamed, with one lock per key: if
several processes need the same entry, one computes it and the others wait.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from workbench.core.errors import StoreError, error_line
from workbench.core.files import store_errors, write_atomically, write_text
from workbench.core.operating_system import move, reserve, sync
from workbench.core.storage.layout import MARK, check_mark, mark_text
from workbench.core.storage.stored_files import MANIFEST, EntryManifest, StoredFiles, digest, verified_manifest, write_through

__all__ = ["MANIFEST", "ResultWriter", "Store", "StoredResult"]

# The file of an entry that lacks something, such as the answer of a failed call. It serves its own run, and is computed again by the next.
_INCOMPLETE = "incomplete.json"


@dataclass(frozen=True)
class StoredResult:
    """A finished result. `computed` says whether this process just made it, `seconds` how long that took. Only its `files` are read.

    `contents` are the files of an incomplete result, which another process may replace meanwhile.
    """

    folder: Path
    seconds: float
    computed: bool
    files: StoredFiles = field(default_factory=dict, hash=False)
    contents: Mapping[str, bytes] = field(default_factory=dict, hash=False, repr=False)

    @property
    def complete(self) -> bool:
        return _INCOMPLETE not in self.files

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of the entry."""
        # pandas.read_parquet takes a millisecond more, to look for a folder of files.
        with self._reading(f"{name}.parquet") as source, pq.ParquetFile(source) as file:
            table: pd.DataFrame = file.read().to_pandas()
            return table

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """Map an array of the entry from disk, read-only."""
        with self._reading(f"{name}.npy") as source:
            loaded: np.ndarray[Any, Any] = np.load(source, mmap_mode="r" if isinstance(source, Path) else None, allow_pickle=False)
            return loaded

    def values(self, name: str) -> Any:
        """Read a JSON document of the entry."""
        with self._reading(f"{name}.json") as source:
            return json.loads(source.read_bytes() if isinstance(source, Path) else source.read())

    def file(self, name: str) -> Path:
        """Return the path of a file of the entry. Raises StoreError if its manifest does not list the file."""
        if name not in self.files:
            raise _corrupt(self.folder, f"{name} is missing")
        return self.folder / name

    def copy(self, name: str, target: Path) -> None:
        """Copy a file of the entry atomically. Raises StoreError unless all of it arrives."""

        def write(aside: Path) -> None:
            shutil.copyfile(self.file(name), aside)
            if digest(aside) != self.files[name][1]:
                raise _corrupt(self.folder, f"{name} cannot be read as it was written")

        write_atomically(target, write)

    @contextmanager
    def _reading(self, name: str) -> Iterator[Path | BytesIO]:
        try:
            yield BytesIO(self.contents[name]) if name in self.contents else self.file(name)
        except (OSError, ValueError) as error:
            raise _corrupt(self.folder, f"{name}: {type(error).__name__}") from error


@dataclass(frozen=True)
class ResultWriter:
    """An entry being written: a folder that no other process reads."""

    folder: Path

    def table(self, name: str, table: pd.DataFrame) -> None:
        table.to_parquet(self.folder / f"{name}.parquet", index=False)

    def tables(self, name: str, parts: Iterable[pd.DataFrame]) -> None:
        """Add a table of one or more parts, writing each part immediately."""
        with ExitStack() as stack:
            writer = None
            for part in parts:
                rows = pa.Table.from_pandas(part, preserve_index=False)
                writer = writer or stack.enter_context(pq.ParquetWriter(self.folder / f"{name}.parquet", rows.schema))
                writer.write_table(rows)

    def array(self, name: str, array: np.ndarray[Any, Any]) -> None:
        np.save(self.folder / f"{name}.npy", array, allow_pickle=False)

    def mapped(self, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Add a memory-mapped float32 array for the caller to fill."""
        path = self.folder / f"{name}.npy"
        if not all(shape):
            self.array(name, np.zeros(shape, dtype=np.float32))
            return np.zeros(shape, dtype=np.float32)
        array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        # A full disk is an error here: writing to a mapped page without space would kill the process.
        reserve(path)
        return array

    def mark_incomplete(self) -> None:
        """Let the next run compute the entry again."""
        (self.folder / _INCOMPLETE).write_bytes(b"{}")

    def values(self, name: str, values: Any) -> None:
        """Add a JSON document. NaN is refused."""
        (self.folder / f"{name}.json").write_bytes(json.dumps(values, ensure_ascii=False, allow_nan=False).encode())


class Store:
    """The results under one outputs folder, shared by all its experiments and safe for many processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._layout_known = False

    def has(self, kind: str, key: str) -> bool:
        """Return True if the store has the entry, and nothing is lacking in it. Its content is checked on reading."""
        folder = self.root / kind / key
        return (folder / MANIFEST).is_file() and not (folder / _INCOMPLETE).exists()

    def get(self, kind: str, key: str) -> StoredResult | None:
        """Return the entry after checking it against its manifest, or None if it is missing or incomplete.

        Raises StoreError if it is damaged or unreadable.
        """
        folder = self.root / kind / key
        if not Store.has(self, kind, key):
            return None
        self._check_layout()
        try:
            manifest = verified_manifest(folder, kind, key)
        except ValueError as error:
            raise _corrupt(folder, str(error)) from error
        except OSError as error:
            what = f"the store entry {folder} cannot be read ({error_line(error)})"
            raise StoreError(what, "check the disk and the entry's permissions, and run again") from error
        return StoredResult(folder, manifest.seconds, False, manifest.files)

    def obtain(self, kind: str, key: str, compute: Callable[[ResultWriter], None]) -> StoredResult:
        """Return the entry from the store, computing it if it is missing."""
        if entry := self.get(kind, key):
            return entry
        with self._lock(kind, key):
            return self.get(kind, key) or self._compute(kind, key, compute)

    def _compute(self, kind: str, key: str, compute: Callable[[ResultWriter], None]) -> StoredResult:
        self._check_layout(write=True)
        with self._replacing(kind, key, "tmp") as aside:
            started = time.perf_counter()
            compute(ResultWriter(aside))
            seconds = time.perf_counter() - started
            files = write_through(aside)
            manifest = EntryManifest.of(kind, key, seconds, files)
            (aside / MANIFEST).write_bytes(manifest.model_dump_json().encode())
            sync(aside / MANIFEST)
            sync(aside)
            contents = {name: (aside / name).read_bytes() for name in files} if _INCOMPLETE in files else {}
        return StoredResult(self.root / kind / key, seconds, True, files, contents)

    def _check_layout(self, write: bool = False) -> None:
        """Raise StoreError for a store of another layout. With `write`, mark a store without a mark."""
        if self._layout_known:
            return
        mark = self.root / MARK
        if write and not mark.is_file():
            with store_errors(self.root):
                self.root.mkdir(parents=True, exist_ok=True)
                with FileLock(f"{mark}.lock"):
                    if not mark.is_file():
                        write_text(mark, mark_text())
        if mark.is_file():
            check_mark(mark.read_bytes(), str(self.root))
            self._layout_known = True

    @contextmanager
    def _lock(self, kind: str, name: str) -> Iterator[None]:
        with store_errors(self.root):
            (self.root / kind).mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / kind / f"{name}.lock"):
                yield

    @contextmanager
    def _replacing(self, kind: str, key: str, suffix: str) -> Iterator[Path]:
        """Yield a temporary folder that replaces the entry once complete. The caller must have the entry's lock."""
        # An existing temporary folder was left by a killed process, an entry without a manifest was only partly deleted.
        aside, final = self.root / kind / f"{key}.{suffix}", self.root / kind / key
        replaced = self.root / kind / f"{key}.replaced.{suffix}"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
        aside.mkdir()
        try:
            yield aside
            # Renamed, because a check that runs meanwhile would see a folder that is partly deleted as damaged.
            with suppress(FileNotFoundError):
                move(final, replaced)
            move(aside, final)
            sync(final.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(replaced, ignore_errors=True)


def _corrupt(folder: Path, fault: str) -> StoreError:
    return StoreError(
        f"the store entry {folder} is corrupt ({fault})", "run workbench doctor, or delete the folder, and run again to recompute it"
    )
