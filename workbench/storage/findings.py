"""The findings of a check of a store, beside which a sweep may be running: what is gone by the time it is looked at is no finding."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
