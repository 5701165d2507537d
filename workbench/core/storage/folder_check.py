"""Check a folder of finished results: `<key>/` with a manifest, `<key>.tmp/` while it is written, `<key>.lock` while it is computed."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from workbench.core.errors import error_line
from workbench.core.text.progress import ProgressBar

# A process on another machine that shares the folder may be writing a younger file, or about to lock one that it has just created.
_IN_USE_SECONDS = 3_600


@dataclass(frozen=True)
class Finding:
    """Damage, something unused, or something stuck that cannot be repaired: `what` it is and the `action` that it needs."""

    state: Literal["damage", "unused", "stuck"]
    what: str
    action: str


def left_by_killed(path: Path) -> Finding:
    """Return the finding of a file or folder that a killed process was writing."""
    return Finding("unused", f"{path} was left by a process that was killed", "deleted")


def left_alone(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files and folders that nobody has changed for a long time, in order, with their status. Links are not followed."""
    for path in sorted(paths):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if time.time() - status.st_mtime >= _IN_USE_SECONDS:
            yield path, status


def delete(path: Path) -> None:
    """Delete a file, a folder or a link, which may be gone already."""
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


# Names with a key. WORKBENCH_STORE can be a folder that has other files too.
_RESULT = re.compile(r"[0-9a-f]{32}(\.[a-z.]+)?")


@dataclass(frozen=True)
class FolderCheck:
    """A folder of results: the name of their kind, the file that marks a finished one, and the function that finds its damage."""

    folder: Path
    name: str
    manifest: str
    fault: Callable[[Path], str]

    def findings(self, repair: bool) -> Iterator[Finding]:
        """Yield damaged and unused files, after deleting them if `repair`.

        Results that a running sweep has locked are skipped, and so are files whose names contain no key.
        """
        if not self.folder.is_dir():
            return
        folders = sorted(path for path in self.folder.iterdir() if path.is_dir() and _RESULT.fullmatch(path.name))
        for path in ProgressBar(folders, desc=f"check {self.folder.name}", unit=self.name, disable=None):
            if self._finding(path) and (finding := self._settle(path, repair)):
                yield finding
        yield from self._unused_files(repair)

    def _finding(self, path: Path) -> Finding | None:
        if not path.is_dir():
            return None
        if path.suffix == ".tmp" or not (path / self.manifest).is_file():
            return left_by_killed(path)
        try:
            fault = self.fault(path)
        except OSError as error:
            # An entry that cannot be read may be whole.
            what = f"the {self.name} {path} cannot be read ({error_line(error)})"
            return Finding("stuck", what, "check the disk and its permissions, then run doctor again")
        if fault:
            return Finding("damage", f"the {self.name} {path} is corrupt ({fault})", "deleted, the next sweep makes it again")
        return None

    def _settle(self, path: Path, repair: bool) -> Finding | None:
        """Delete a folder under its lock if `repair`, and return the damage, or None for the work of a running sweep."""
        with _locked(path.with_name(f"{path.name.removesuffix('.tmp')}.lock"), repair) as free:
            # A sweep may have made it again in the meantime.
            finding = self._finding(path)
            if finding is None or finding.state == "stuck":
                return finding
            if free and repair:
                delete(path)
            elif not free:
                in_use = Finding("stuck", f"{finding.what}, and a sweep is using it", "run doctor again when it has ended")
                return in_use if finding.state == "damage" else None
        return finding

    def _unused_files(self, repair: bool) -> Iterator[Finding]:
        """Yield locks that no process has and uploads' marks, of results that are gone."""
        for path, _ in left_alone((*self.folder.glob("*.lock"), *self.folder.glob("*.uploaded"))):
            key = path.name.split(".")[0]
            in_use = (self.folder / key).exists() or (self.folder / f"{key}.tmp").exists()
            if in_use or not _RESULT.fullmatch(path.name):
                continue
            with _locked(path if path.suffix == ".lock" else self.folder / f"{key}.lock", repair) as free:
                if free:
                    if repair:
                        delete(path)
                    yield Finding("unused", f"{path} belongs to nothing", "deleted")


@contextmanager
def _locked(path: Path, create: bool) -> Iterator[bool]:
    """Take a lock without waiting and yield whether that succeeded. Unless `create`, a lock without a file counts as taken."""
    if not create and not path.exists():
        yield True
        return
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
