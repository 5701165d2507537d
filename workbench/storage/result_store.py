"""Store results by content: a stored result is never recomputed, and an incomplete one is never visible.

An entry is a folder `<root>/<kind>/<key>/` of parquet, npy and JSON files with `entry.json`, which lists each file's size and
BLAKE2b. It is written under a temporary name, flushed to disk and renamed, with one lock per key: if several processes need the
same entry, one computes it and the others wait.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from workbench.core.files import store_errors, sync
from workbench.core.fingerprint import file_digest
from workbench.errors import StoreError

MANIFEST = "entry.json"


@dataclass(frozen=True)
class Entry:
    """A finished result. `computed` says whether this process just made it, `seconds` how long that took."""

    folder: Path
    seconds: float
    computed: bool

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of the entry."""
        return pd.read_parquet(self.folder / f"{name}.parquet")

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """Map an array of the entry from disk, read-only."""
        loaded: np.ndarray[Any, Any] = np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return loaded

    def values(self, name: str) -> Any:
        """Read a JSON document of the entry."""
        return json.loads((self.folder / f"{name}.json").read_text("utf-8"))


@dataclass(frozen=True)
class Draft:
    """An entry being written: a folder that no other process reads."""

    folder: Path

    def table(self, name: str, table: pd.DataFrame) -> None:
        """Add a table."""
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
        """Add an array."""
        np.save(self.folder / f"{name}.npy", array, allow_pickle=False)

    def mapped(self, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Add a memory-mapped float32 array for the caller to fill."""
        path = self.folder / f"{name}.npy"
        if not all(shape):
            self.array(name, np.zeros(shape, dtype=np.float32))
            return np.zeros(shape, dtype=np.float32)
        array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(os, "posix_fallocate"):
            # Raise the error of a full disk here: writing to a mapped page without space would kill the process.
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        return array

    def values(self, name: str, values: Any) -> None:
        """Add a JSON document. NaN is refused."""
        (self.folder / f"{name}.json").write_text(json.dumps(values, ensure_ascii=False, allow_nan=False), "utf-8")


class Store:
    """The results under one outputs folder, shared by all its experiments and safe for many processes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, kind: str, key: str) -> bool:
        """Return whether the store has the entry. Its content is checked on reading."""
        return (self.root / kind / key / MANIFEST).is_file()

    def get(self, kind: str, key: str) -> Entry | None:
        """Return the entry after checking it against its manifest, or None if it is missing. Raises StoreError if it is damaged."""
        folder = self.root / kind / key
        if not (folder / MANIFEST).is_file():
            return None
        fix = f"delete the folder {folder} and run again to recompute it"
        try:
            manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
            for name, (size, digest) in manifest["files"].items():
                if (folder / name).stat().st_size != size or file_digest(folder / name, "blake2b") != digest:
                    raise StoreError(f"the store entry {folder} is corrupt ({name} has changed since it was written)", fix)
            return Entry(folder, float(manifest["seconds"]), computed=False)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"the store entry {folder} is corrupt ({type(error).__name__})", fix) from error

    def obtain(self, kind: str, key: str, compute: Callable[[Draft], None]) -> Entry:
        """Return the entry from the store, computing it if it is missing."""
        if entry := self.get(kind, key):
            return entry
        with self._lock(kind, key):
            return self.get(kind, key) or self._compute(kind, key, compute)

    def _compute(self, kind: str, key: str, compute: Callable[[Draft], None]) -> Entry:
        with self._replacing(kind, key, "tmp") as aside:
            started = time.perf_counter()
            compute(Draft(aside))
            seconds = time.perf_counter() - started
            files = {}
            for path in sorted(aside.iterdir()):
                sync(path)
                files[path.name] = (path.stat().st_size, file_digest(path, "blake2b"))
            manifest = {"kind": kind, "key": key, "seconds": seconds, "files": files}
            (aside / MANIFEST).write_text(json.dumps(manifest), "utf-8")
            sync(aside / MANIFEST)
            sync(aside)
        return Entry(self.root / kind / key, seconds, computed=True)

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
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        try:
            yield aside
            shutil.rmtree(final, ignore_errors=True)
            os.rename(aside, final)
            sync(final.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
