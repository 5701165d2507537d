"""Folders that all processes of a test session share, so that a sweep that takes seconds runs once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return the folder of this name, the same in every process. Results that a store keeps there are computed once."""
    own = factory.getbasetemp()
    folder = (own.parent if own.name.startswith("popen-") else own) / "shared" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return the folder of this name, which the first process that asks for it builds while others wait. Tests do not change it."""
    folder = shared_folder(factory, name)
    finished = folder.with_suffix(".finished")
    with FileLock(folder.with_suffix(".lock")):
        if not finished.exists():
            shutil.rmtree(folder)
            # Another process may make it first, to wait for the lock.
            folder.mkdir(exist_ok=True)
            build(folder)
            finished.touch()
    return folder
