"""The cases of the campaign: every operation of a small sweep, every message of its kernels, every file that it leaves."""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import write_part
from tests.faults.campaign import Case, Ending, Undisturbed, inject, recover, undisturbed
from tests.faults.damage import Damage, damages
from tests.faults.injection import Fault

# A sweep without notebooks, whose operations are those below, and one with them.
TABLES, SWEEP = ["tables"], ["sweep", "small.yaml"]
_SMALL = """
name: small
dataset: {kind: golden, path: data}
pipeline: {embedding: {kind: hashed, dimensions: 64}}
sweep:
  chunking:
    - {kind: fixed, size: 64, overlap: 0}
metrics: [span_recall@500t, recall@5]
"""
_TWO = _SMALL.replace("metrics", "    - {kind: sentence, size: 128}\nmetrics")
# Reads what the sweep before has stored: a metric to compute, and the index of Chroma to search.
_FURTHER = _TWO.replace("recall@5]", "recall@5, ndcg@10]").replace(
    "  chunking", "  retrieval: [{kind: dense, k: 10}, {kind: dense, k: 10, search: ann}]\n  chunking"
)
_LAST_QUESTION = "hb-012"


class Worlds:
    """The undisturbed sweeps that disturbed ones are compared with, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _start(self, name: str, experiment: str) -> Path:
        place = self._folder / name
        write_part(_LAST_QUESTION, place / "data")
        (place / "small.yaml").write_text(experiment)
        return place

    @functools.cached_property
    def cold(self) -> Undisturbed:
        """A sweep into an empty folder, without notebooks."""
        return undisturbed(self._start("cold", _SMALL), TABLES, self._folder / "cold-done")

    @functools.cached_property
    def notebooks(self) -> Undisturbed:
        """The same with its notebooks, where everything else is in the store."""
        return undisturbed(self.cold.outputs.parents[1], SWEEP, self._folder / "notebooks-done")

    @functools.cached_property
    def further(self) -> Undisturbed:
        """A sweep that extends one of two configurations and reads all that it stored."""
        done = undisturbed(self._start("two", _TWO), TABLES, self._folder / "two-done").outputs.parents[1]
        (done / "small.yaml").write_text(_FURTHER)
        return undisturbed(done, TABLES, self._folder / "further-done")

    def operations(self) -> Iterator[Case]:
        """Every fault at every read, write, fsync, rename and SQLite call."""
        for fault in self.cold.faults(["read", "write", "fsync", "rename", "sqlite"]):
            yield Case(f"{fault.operation}: {fault.kind}", str(fault), functools.partial(_inject, self.cold, fault, TABLES))

    def messages(self) -> Iterator[Case]:
        """Every fault at every message that a kernel sends."""
        for fault in self.notebooks.faults(["message"]):
            yield Case(f"{fault.operation}: {fault.kind}", str(fault), functools.partial(_inject, self.notebooks, fault, SWEEP))

    def damaged(self) -> Iterator[Case]:
        """Every damage of every stored file."""
        for damage in damages(self.further.start / "outputs"):
            yield Case(f"stored file: {damage.kind}", str(damage), functools.partial(_damage, self.further, damage))


def _inject(world: Undisturbed, fault: Fault, command: list[str], folder: Path) -> Ending:
    return inject(world, fault, command, folder)


def _damage(world: Undisturbed, damage: Damage, folder: Path) -> Ending:
    shutil.copytree(world.start, folder)
    (folder / "log.txt").unlink()
    damage.apply(folder / "outputs")
    return recover(world, str(damage), TABLES, folder)
