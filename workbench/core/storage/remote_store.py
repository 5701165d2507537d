"""A store that machines share under a URL (s3://, webdav://, ftp:// and others that fsspec opens), with a copy on each machine.

An entry is computed in the local copy and then uploaded: first its files, under names with their digests, then `entry.json`.
Thus every file that an `entry.json` lists is complete: an interrupted upload is never read, and if two machines upload the same entry,
each `entry.json` names its own writer's files and the last one wins.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.core.environment import cache_folder, require_installed
from workbench.core.errors import InputError, StoreError, WorkbenchError
from workbench.core.fingerprint import file_digest, fingerprint
from workbench.core.storage.layout import MARK, check_mark, mark_text, read_mark
from workbench.core.storage.result_store import ResultWriter, Store, StoredResult
from workbench.core.storage.stored_files import MANIFEST, EntryManifest
from workbench.core.text.printable import passwords_of, printable

# Digits of the digest in the name of an uploaded file, enough for unique names.
_DIGITS = 32
# Seconds to wait before each attempt to read a file that does not match its digest: another machine may be writing it.
_WAITS = (0.0, 0.2, 1.0)


def is_url(place: str) -> bool:
    """Return True if a store's place is a URL rather than a path."""
    return "://" in place


def mirror_of(url: str) -> Path:
    """Return the path of this machine's copy of a store, in WORKBENCH_CACHE, which does not depend on the URL's password."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(f"the store {url} is not a URL ({error})", "correct WORKBENCH_STORE") from None
    return cache_folder() / "stores" / fingerprint(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())


class RemoteStore(Store):
    """The store under a URL, read and written through the copy in `root`. Entries are locked on this machine only."""

    def __init__(self, url: str, root: Path) -> None:
        super().__init__(root)
        self.url = url.rstrip("/")
        self._remote_layout_known = False

    def has(self, kind: str, key: str) -> bool:
        """Return True if the entry is in the copy or under the URL."""
        return super().has(kind, key) or self._manifest(kind, key) is not None

    def get(self, kind: str, key: str) -> StoredResult | None:
        """Return the entry from the copy, downloading or uploading it first if only one side has it."""
        if not super().has(kind, key) and (manifest := self._manifest(kind, key)) is not None:
            with self._lock(kind, f"{key}.fetched"):
                self._fetch(kind, key, manifest)
        entry = super().get(kind, key)
        if entry and not self._uploaded(kind, key).is_file():
            # The entry was computed while the URL could not be reached.
            self._upload(kind, key)
        return entry

    def _compute(self, kind: str, key: str, compute: Callable[[ResultWriter], None]) -> StoredResult:
        # An entry that was deleted here and under the URL may have left this mark.
        self._uploaded(kind, key).unlink(missing_ok=True)
        entry = super()._compute(kind, key, compute)
        if entry.complete:
            self._upload(kind, key)
        return entry

    def put_mark(self, name: str) -> None:
        """Put an empty file at the top of the store, so that other machines recognise the store."""
        with self._reached() as (fs, top):
            self._folder(fs, top)
            fs.pipe_file(f"{top}/{name}", b"")

    def take_mark(self, name: str) -> None:
        """Remove the empty file that `put_mark` wrote."""
        with self._reached() as (fs, top), suppress(FileNotFoundError):
            fs.rm_file(f"{top}/{name}")

    def has_mark(self, name: str) -> bool:
        """Return True if the store has the empty file."""
        with self._reached() as (fs, top):
            return bool(fs.exists(f"{top}/{name}"))

    def _manifest(self, kind: str, key: str) -> EntryManifest | None:
        """Return the uploaded `entry.json`, or None if it is missing or incomplete."""
        with self._reached() as (fs, top):
            try:
                self._check_remote_layout(fs, top)
                return EntryManifest.read(fs.cat_file(f"{top}/{kind}/{key}/{MANIFEST}"))
            except (FileNotFoundError, ValueError):
                return None

    def _check_remote_layout(self, fs: Any, top: str) -> None:
        if self._remote_layout_known:
            return
        with suppress(FileNotFoundError):
            mark, ours = _whole_mark(fs, f"{top}/{MARK}"), mark_text().encode()
            if mark != ours and ours.startswith(mark):
                # A connection was lost while the mark was written. The next upload writes it again.
                return
            check_mark(mark, self.url, f"delete {self.url}/{MARK} and run again to write it again")
            self._remote_layout_known = True

    def _fetch(self, kind: str, key: str, manifest: EntryManifest) -> None:
        """Download an entry into the copy atomically."""
        if super().has(kind, key):
            return
        if fault := manifest.fault(kind, key):
            raise self._corrupt(f"{kind}/{key}", fault)
        with self._replacing(kind, key, "fetched.tmp") as aside:
            for name, (_, digest) in manifest.files.items():
                self._fetch_file(f"{kind}/{key}", _named(name, digest), aside / name, digest)
            (aside / MANIFEST).write_bytes(manifest.model_dump_json(exclude_none=True).encode())
        self._uploaded(kind, key).touch()

    def _corrupt(self, entry: str, fault: str) -> StoreError:
        place = f"{self.url}/{entry}"
        return StoreError(f"the store entry {place} is corrupt ({fault})", f"delete {place} and run again to recompute it")

    def _fetch_file(self, entry: str, name: str, target: Path, digest: str) -> None:
        for wait in _WAITS:
            # Another machine may be rewriting the same file, or the connection may be out of step.
            time.sleep(wait)
            with self._reached(anew=wait > 0) as (fs, top), suppress(FileNotFoundError):
                if fs.exists(f"{top}/{entry}/{name}"):
                    fs.get_file(f"{top}/{entry}/{name}", str(target))
                    if file_digest(target, "blake2b") == digest:
                        return
        raise self._corrupt(entry, target.name)

    def _upload(self, kind: str, key: str) -> None:
        folder = self.root / kind / key
        # Only one process uploads, because a file being rewritten is incomplete for its readers.
        with self._lock(kind, f"{key}.upload"), self._reached() as (fs, top):
            if self._uploaded(kind, key).is_file():
                return
            files = EntryManifest.read((folder / MANIFEST).read_bytes()).files
            self._folder(fs, f"{top}/{kind}/{key}")
            self._check_remote_layout(fs, top)
            if not self._remote_layout_known:
                fs.pipe_file(f"{top}/{MARK}", mark_text().encode())
                self._remote_layout_known = True
            for name, (size, digest) in files.items():
                path = f"{top}/{kind}/{key}/{_named(name, digest)}"
                if not (fs.exists(path) and fs.size(path) == size):
                    fs.put_file(str(folder / name), path)
            fs.put_file(str(folder / MANIFEST), f"{top}/{kind}/{key}/{MANIFEST}")
            self._uploaded(kind, key).touch()

    def _uploaded(self, kind: str, key: str) -> Path:
        return self.root / kind / f"{key}.uploaded"

    def _folder(self, fs: Any, path: str) -> None:
        # Another machine may be creating the same folders, which file systems report in many ways.
        for attempt in range(3):
            try:
                fs.makedirs(path, exist_ok=True)
                return
            except Exception:
                fs.invalidate_cache()
                if attempt == 2 and not fs.isdir(path):
                    raise

    @contextmanager
    def _reached(self, anew: bool = False) -> Iterator[tuple[Any, str]]:
        """Yield the file system (on a new connection if `anew`) and the store's path in it. Any error of it becomes one line."""
        require_installed("a store under a URL", "fsspec")
        import fsspec

        try:
            fs, path = fsspec.core.url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=anew)
            fs.invalidate_cache()
            yield fs, path.rstrip("/")
        except ImportError as error:
            raise InputError(f"WORKBENCH_STORE {self.url} needs a package: {error}", "install it") from error
        except WorkbenchError:
            raise
        except Exception as error:  # each file system raises its own errors
            reason = printable(str(error), passwords_of(self.url))
            what = f"the store {self.url} cannot be used ({': '.join(filter(None, [type(error).__name__, reason]))})"
            fix = "check that it can be reached and written, then run again: finished results are kept"
            # Not `from error`: its traceback goes to a file, and its message may repeat the password.
            raise StoreError(what, fix) from None


def _whole_mark(fs: Any, path: str) -> bytes:
    """Read the mark of a store, waiting for another machine that may be writing it. A damaged mark is returned as it is."""
    mark = b""
    for wait in _WAITS:
        time.sleep(wait)
        mark = fs.cat_file(path)
        with suppress(ValueError):
            read_mark(mark)
            break
    return mark


def _named(name: str, digest: str) -> str:
    return f"{digest[:_DIGITS]}-{name}"
