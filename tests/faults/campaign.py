"""Run a small sweep with every fault of a list, run it again, and compare its outputs with those of an undisturbed sweep."""

import contextlib
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from tests.faults.injection import Fault, Kind, Operation
from tests.faults.sweeps import COUNTS, run_case
from tests.forked import Forked
from workbench.schemas import SCHEMAS

ROOT = Path(__file__).parents[2]
KINDS: dict[Operation, tuple[Kind, ...]] = {
    "read": ("error",),
    "write": ("error", "full", "kill", "torn"),
    "fsync": ("error", "kill"),
    "rename": ("error", "kill", "torn"),
    "sqlite": ("error", "full", "kill", "torn"),
    "message": ("error", "kill"),
}
DOCTOR = ["doctor"]
_KILLED = -9
_LONGEST_SECONDS = 600

Ending = Literal["unaffected", "repaired", "repaired by doctor"]


class CampaignError(AssertionError):
    """A fault that was believed, that ended without a clear line, or that could not be repaired."""


@dataclass(frozen=True)
class Undisturbed:
    """The folder of a case before its first sweep, the outputs that it must lead to, and the operations of that sweep."""

    start: Path
    outputs: Path
    counts: dict[Operation, int]

    def faults(self, operations: Iterable[Operation]) -> list[Fault]:
        """Every fault of these operations in the sweep."""
        return [
            Fault(operation, number, kind)
            for operation in operations
            for number in range(1, self.counts[operation] + 1)
            for kind in KINDS[operation]
        ]


def run(folder: Path, command: Sequence[str], fault: Fault | None = None) -> tuple[int, Counter[Operation]]:
    """Run a command in a folder and return its exit code (negative: the signal that killed it) and its operations."""
    with contextlib.closing(Forked(run_case, folder, command, fault, cwd=folder, log=folder / "log.txt")) as process:
        try:
            code = process.wait(_LONGEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise CampaignError(f"the sweep did not end in {_LONGEST_SECONDS} seconds") from error
    # A killed sweep leaves it empty.
    return code, Counter(json.loads((folder / COUNTS).read_text() or "{}"))


def undisturbed(start: Path, command: Sequence[str], folder: Path) -> Undisturbed:
    """Run the command in a copy of `start` and keep its outputs."""
    shutil.copytree(start, folder)
    code, counts = run(folder, command)
    assert code == 0, (folder / "log.txt").read_text()
    return Undisturbed(start, folder / "outputs" / "small", counts)


def inject(world: Undisturbed, fault: Fault, command: Sequence[str], folder: Path) -> Ending:
    """Run the command with a fault and then without. Raises CampaignError unless the outputs end as undisturbed."""
    shutil.copytree(world.start, folder)
    code, _ = run(folder, command, fault)
    # A kernel that was killed is the sweep's to report; a sweep that was killed cannot.
    if code != _KILLED:
        check_ended(folder, code)
    if code == 0 and (wrong := difference(folder, world.outputs)):
        raise CampaignError(f"{fault}: believed ({wrong})")
    ending = recover(world, str(fault), command, folder)
    # A sweep that succeeded can have stored something that the next one finds damaged.
    return "unaffected" if code == 0 and ending == "repaired" else ending


def recover(world: Undisturbed, what: str, command: Sequence[str], folder: Path) -> Ending:
    """Run the command until its outputs are those of an undisturbed run, with `workbench doctor` if it names damage."""
    attempts: dict[Ending, list[Sequence[str]]] = {"repaired": [command], "repaired by doctor": [DOCTOR, command]}
    for ending, commands in attempts.items():
        code = 0
        for each in commands:
            code, _ = run(folder, each)
            check_ended(folder, code)
        if code == 0:
            if wrong := difference(folder, world.outputs):
                raise CampaignError(f"{what}: believed later ({wrong})")
            return ending
    raise CampaignError(f"{what}: not repaired, {last_line(folder)}")


def check_ended(folder: Path, code: int) -> None:
    """Raise CampaignError if a command neither succeeded nor ended with a clear line."""
    text = (folder / "log.txt").read_text()
    if code not in (0, 2, 3) or "Traceback" in text or "unexpected" in text:
        raise CampaignError(f"exit code {code}, {last_line(folder)}")


def last_line(folder: Path) -> str:
    lines = (folder / "log.txt").read_text().splitlines()
    return lines[-1][:400] if lines else ""


def difference(folder: Path, expected: Path) -> str:
    """Name the first output that differs from the expected ones, or return an empty text."""
    found = folder / "outputs" / "small"
    for name in sorted({name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}):
        try:
            pd.testing.assert_frame_equal(pd.read_parquet(found / f"{name}.parquet"), pd.read_parquet(expected / f"{name}.parquet"))
        except (AssertionError, OSError, ValueError) as error:
            return f"{name}.parquet: {str(error).splitlines()[0]}"
    for path in sorted(expected.glob("runs/*.trec")):
        if (found / "runs" / path.name).read_bytes() != path.read_bytes():
            return path.name
    for path in sorted(expected.glob("notebooks/*.ipynb")):
        if not (found / "notebooks" / path.name).exists():
            return path.name
    page = found / "report.html"
    return "" if page.exists() and page.stat().st_size > 50_000 and "</html>" in page.read_text()[-100:] else "report.html"


@dataclass(frozen=True)
class Case:
    """One fault: its row and column in the table of results, and what runs it in a new folder."""

    group: str
    name: str
    run: Callable[[Path], Ending]


@dataclass(frozen=True)
class Journal:
    """A file of finished cases, a JSON list on each line: group, name, ending, and the failure, which is empty for a case that passed."""

    path: Path

    def add(self, case: Case, ending: str, failure: str = "") -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([case.group, case.name, ending, failure]) + "\n")

    def read(self) -> list[tuple[str, str, str, str]]:
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        return [tuple(json.loads(line)) for line in lines]


def campaign(cases: Sequence[Case], folder: Path, journal: Journal, parallel: int = 1) -> None:
    """Run cases on some processes, and add each to the journal."""

    def one(number: int, case: Case) -> None:
        place = folder / f"case-{number}"
        try:
            journal.add(case, case.run(place))
            shutil.rmtree(place)
        except Exception as error:  # one broken case must not stop the others
            journal.add(case, "", f"{case.name} in {place}: {type(error).__name__}: {error}")

    with ThreadPoolExecutor(parallel) as pool:
        list(pool.map(one, range(len(cases)), cases))
