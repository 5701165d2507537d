"""A store that machines share under a URL (s3://, webdav://, ftp://, whatever fsspec opens), each with a copy of its own.

An entry is computed in the local copy and then uploaded, its files under names that carry their digests, `entry.json` last. So
what an `entry.json` lists was there whole before it: an upload that broke off is never believed, and where two upload the same
entry, each `entry.json` names the files of its own writer and the last one wins.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.core.distribution import advice
from workbench.core.fingerprint import file_digest, fingerprint
from workbench.core.locations import cache_folder
from workbench.errors import InputError, StoreError, WorkbenchError
from workbench.storage.result_store import MANIFEST, Draft, Entry, Store

# Of a digest in the name of an uploaded file: enough that no two contents share a name.
_DIGITS = 32
# Seconds before each look at a file that is not what its name says.
_WAITS = (0.0, 0.2, 1.0)


def is_url(place: str) -> bool:
    """Whether a store's place is a URL and not a path."""
    return "://" in place


def mirror_of(url: str) -> Path:
    """This machine's copy of a store, in WORKBENCH_CACHE; a password does not decide where it is."""
    return cache_folder() / "stores" / fingerprint(shown(url))


def shown(url: str) -> str:
    """The URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class RemoteStore(Store):
    """The store under a URL, read and written through the copy in `root`; the lock of an entry holds on this machine only."""

    def __init__(self, url: str, root: Path) -> None:
        super().__init__(root)
        self.url = url.rstrip("/")

    def has(self, kind: str, key: str) -> bool:
        """Whether the entry is in the copy or under the URL."""
        return super().has(kind, key) or self._manifest(kind, key) is not None

    def get(self, kind: str, key: str) -> Entry | None:
        """The entry from the copy, fetched first where only the URL has it, uploaded where only the copy has it."""
        if not super().has(kind, key) and (manifest := self._manifest(kind, key)) is not None:
            with self._lock(kind, f"{key}.fetched"):
                self._fetch(kind, key, manifest)
        elif super().has(kind, key) and not self._uploaded(kind, key).is_file():
            # What was computed while the URL could not be reached.
            self._upload(kind, key)
        return super().get(kind, key)

    def _compute(self, kind: str, key: str, compute: Callable[[Draft], None]) -> Entry:
        entry = super()._compute(kind, key, compute)
        self._upload(kind, key)
        return entry

    def put_mark(self, name: str) -> None:
        """Put an empty file at the top of the store, by which other machines know it."""
        with self._reached() as (fs, top):
            self._folder(fs, top)
            fs.pipe_file(f"{top}/{name}", b"")

    def take_mark(self, name: str) -> None:
        """Take the empty file away."""
        with self._reached() as (fs, top):
            fs.rm_file(f"{top}/{name}")

    def has_mark(self, name: str) -> bool:
        """Whether the empty file is there."""
        with self._reached() as (fs, top):
            return bool(fs.exists(f"{top}/{name}"))

    def _manifest(self, kind: str, key: str) -> dict[str, Any] | None:
        """The uploaded `entry.json`; None where there is none or only a part of it."""
        with self._reached() as (fs, top):
            try:
                found = json.loads(fs.cat_file(f"{top}/{kind}/{key}/{MANIFEST}"))
            except (FileNotFoundError, ValueError):
                return None
        return found if isinstance(found, dict) and isinstance(found.get("files"), dict) else None

    def _fetch(self, kind: str, key: str, manifest: dict[str, Any]) -> None:
        """Bring an entry into the copy, whole and as it was written, or not at all."""
        if super().has(kind, key):
            return
        with self._replacing(kind, key, "fetched.tmp") as aside:
            for name, (_, digest) in manifest["files"].items():
                self._fetch_file(f"{kind}/{key}", _named(name, digest), aside / Path(name).name, digest)
            (aside / MANIFEST).write_text(json.dumps(manifest), "utf-8")
        self._uploaded(kind, key).touch()

    def _fetch_file(self, entry: str, name: str, target: Path, digest: str) -> None:
        for wait in _WAITS:
            # Another machine that computed the same may be writing the same file once more, or a connection be out of step.
            time.sleep(wait)
            with self._reached(anew=wait > 0) as (fs, top):
                if fs.exists(f"{top}/{entry}/{name}"):
                    fs.get_file(f"{top}/{entry}/{name}", str(target))
                    if file_digest(target, "blake2b") == digest:
                        return
        place = f"{shown(self.url)}/{entry}"
        raise StoreError(f"the store entry {place} is corrupt ({target.name})", f"delete {place} and run again, it will be computed anew")

    def _upload(self, kind: str, key: str) -> None:
        folder = self.root / kind / key
        # Of several processes here one uploads: a file that is written again is cut while others may read it.
        with self._lock(kind, f"{key}.upload"), self._reached() as (fs, top):
            if self._uploaded(kind, key).is_file():
                return
            files = json.loads((folder / MANIFEST).read_text("utf-8"))["files"]
            self._folder(fs, f"{top}/{kind}/{key}")
            for name, (size, digest) in files.items():
                path = f"{top}/{kind}/{key}/{_named(name, digest)}"
                if not (fs.exists(path) and fs.size(path) == size):
                    fs.put_file(str(folder / name), path)
            fs.put_file(str(folder / MANIFEST), f"{top}/{kind}/{key}/{MANIFEST}")
            self._uploaded(kind, key).touch()

    def _uploaded(self, kind: str, key: str) -> Path:
        return self.root / kind / f"{key}.uploaded"

    def _folder(self, fs: Any, path: str) -> None:
        # Another machine may make a folder, or one above it, between the look and the making; file systems tell that in many ways.
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
        """The file system, on a connection of its own if `anew`, and the store's path in it; whatever it says of a failure becomes one line."""
        try:
            import fsspec
        except ImportError:
            raise InputError("a store under a URL needs fsspec", advice("cluster")) from None
        try:
            fs, path = fsspec.core.url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=anew)
            fs.invalidate_cache()
            yield fs, path.rstrip("/")
        except ImportError as error:
            raise InputError(f"WORKBENCH_STORE {shown(self.url)} needs a package: {error}", "install it") from error
        except (WorkbenchError, FileNotFoundError):
            raise
        except Exception as error:  # each file system has errors of its own
            what = f"the store {shown(self.url)} cannot be used ({type(error).__name__}: {error})"
            raise StoreError(what, "see that it can be reached and written, then run again: what was finished is kept") from error


def _named(name: str, digest: str) -> str:
    return f"{digest[:_DIGITS]}-{name}"
