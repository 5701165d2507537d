"""Run a command with every fault of a list, run it again, and compare its outputs with those of an undisturbed command."""

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.faults.injection import Fault, Kind, Operation
from tests.faults.outputs import Compare, same_run
from tests.faults.served import FailingServer
from tests.faults.sweeps import PLACES, run_case
from tests.forked import PRELOADED, SERVER, Forked

ROOT = Path(__file__).parents[2]
KINDS: dict[Operation, tuple[Kind, ...]] = {
    "read": ("error",),
    "write": ("error", "full", "kill", "torn"),
    "fsync": ("error", "kill"),
    "rename": ("error", "kill", "torn"),
    "sqlite": ("error", "full", "kill", "torn"),
    "message": ("error", "kill"),
    "request": ("error", "kill", "torn"),
}
# Of a place that a command reaches often, such as the rows of a cache.
EACH = 3
DOCTOR = ("doctor",)
SERVER.set_forkserver_preload([*PRELOADED, run_case.__module__])
_KILLED = -9
_LONGEST_SECONDS = 600

Places = dict[Operation, list[str]]
Ending = Literal["unaffected", "repaired", "repaired by doctor", "repaired by a sweep"]


class CampaignError(AssertionError):
    """A fault that was believed, that ended without a clear line, or that could not be repaired."""


@dataclass(frozen=True)
class Subject:
    """A command, how its outputs are compared, and its exit code without a fault.

    `told` is what a command says in place of another exit code if something cannot be read or written. `repairs` are commands after which the
    command succeeds, by the ending that they lead to.
    """

    command: Sequence[str]
    compare: Compare = same_run
    code: int = 0
    told: Sequence[str] = ()
    repairs: Sequence[tuple[Ending, Sequence[str]]] = (("repaired by doctor", DOCTOR),)
    server: FailingServer | None = None


@dataclass(frozen=True)
class Undisturbed:
    """The folder of a case before its command, the folder after it, and the operations of the command."""

    subject: Subject
    start: Path
    done: Path
    places: Places

    def faults(self, beyond: "Undisturbed | None" = None) -> Iterator[Fault]:
        """Yield every fault of the operations.

        With `beyond`, only those at places that its command does not reach, at most EACH operations of a place: the first, the last, and some between.
        So many of the messages of a type, too: each is a run of the notebooks.
        """
        for operation, places in self.places.items():
            numbers: Collection[int] = range(1, len(places) + 1)
            if operation == "message" or (beyond and operation != "request"):
                known = set(beyond.places.get(operation, ())) if beyond else set()
                numbers = [number for place in sorted({*places} - known) for number in spread(numbers_of(places, place))]
            yield from (Fault(operation, number, kind) for number in sorted(numbers) for kind in KINDS[operation])


def numbers_of(places: Sequence[str], place: str) -> list[int]:
    """Return the numbers, from 1, of the operations at a place."""
    return [number for number, each in enumerate(places, 1) if each == place]


def spread(numbers: Sequence[int]) -> list[int]:
    """Return at most EACH of the numbers, from the first to the last."""
    step = max(1, (len(numbers) - 1) / (EACH - 1))
    return [numbers[round(place * step)] for place in range(min(EACH, len(numbers)))]


def run(folder: Path, command: Sequence[str], server: FailingServer | None, fault: Fault | None = None) -> tuple[int, Places]:
    """Run a command in a folder and return its exit code (negative: the signal that killed it) and the places of its operations."""
    with contextlib.closing(Forked(run_case, folder, command, fault, cwd=folder, log=folder / "log.txt")) as process:
        try:
            with server.serving(process, fault) if server else contextlib.nullcontext():
                code = process.wait(_LONGEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise CampaignError(f"{command[0]} did not end in {_LONGEST_SECONDS} seconds") from error
    # A process that was killed leaves it empty.
    places = json.loads((folder / PLACES).read_text() or "{}")
    return code, places | ({"request": [""] * server.requests} if server else {})


def undisturbed(subject: Subject, start: Path, folder: Path) -> Undisturbed:
    """Run the command in a copy of `start` and keep its outputs."""
    shutil.copytree(start, folder)
    code, places = run(folder, subject.command, subject.server)
    assert code == subject.code, (folder / "log.txt").read_text()
    assert not subject.compare(folder, folder)
    return Undisturbed(subject, start, folder, places)


def inject(world: Undisturbed, fault: Fault, folder: Path) -> Ending:
    """Run the command with a fault and then without. Raises CampaignError unless the outputs end as undisturbed."""
    shutil.copytree(world.start, folder)
    subject = world.subject
    code, _ = run(folder, subject.command, subject.server, fault)
    # A kernel that was killed is the sweep's to report; a sweep that was killed cannot.
    if code != _KILLED:
        check_ended(subject, folder, code)
    told = any(text in (folder / "log.txt").read_text() for text in subject.told)
    if code == subject.code and not told and (wrong := subject.compare(folder, world.done)):
        raise CampaignError(f"{fault}: believed ({wrong})")
    ending = recover(world, str(fault), folder)
    # A command that succeeded can have stored something that the next one finds damaged.
    return "unaffected" if code == subject.code and not told and ending == "repaired" else ending


def recover(world: Undisturbed, what: str, folder: Path) -> Ending:
    """Run the command until its outputs are those of an undisturbed run, after one of its repairs if it names damage."""
    subject = world.subject
    attempts: list[tuple[Ending, list[Sequence[str]]]] = [("repaired", [subject.command])]
    attempts += [(ending, [repair, subject.command]) for ending, repair in subject.repairs]
    for ending, commands in attempts:
        code = 0
        for each in commands:
            code, _ = run(folder, each, subject.server)
            check_ended(subject, folder, code)
        if code == subject.code:
            if wrong := subject.compare(folder, world.done):
                raise CampaignError(f"{what}: believed later ({wrong})")
            return ending
    raise CampaignError(f"{what}: not repaired, {last_line(folder)}")


def check_ended(subject: Subject, folder: Path, code: int) -> None:
    """Raise CampaignError if a command neither succeeded nor ended with a clear line."""
    text = (folder / "log.txt").read_text()
    if code not in (subject.code, 0, 2, 3) or "Traceback" in text or "unexpected" in text:
        raise CampaignError(f"exit code {code}, {last_line(folder)}")


def last_line(folder: Path) -> str:
    lines = (folder / "log.txt").read_text().splitlines()
    return lines[-1][:400] if lines else ""


@dataclass(frozen=True)
class Case:
    """One fault: its row and column in the table of results, and what runs it in a new folder."""

    group: str
    name: str
    run: Callable[[Path], Ending]


@dataclass(frozen=True)
class Journal:
    """A file of finished cases, a JSON list on each line: group, name, ending, and the failure, which is empty for a case that passed.

    The last line of a case counts.
    """

    path: Path

    def add(self, case: Case, ending: str, failure: str = "") -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([case.group, case.name, ending, failure]) + "\n")

    def read(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return the ending and the failure of each case, by group and name."""
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        return {(group, name): (ending, failure) for group, name, ending, failure in map(json.loads, lines)}


def campaign(cases: Sequence[Case], folder: Path, journal: Journal, parallel: int = 1, seconds: float = float("inf")) -> None:
    """Run cases on some processes, and add each to the journal. No case begins after some seconds. The folder of a failed one stays."""
    end = time.monotonic() + seconds

    def one(number: int, case: Case) -> None:
        if time.monotonic() > end:
            return
        place = folder / f"case-{number}"
        try:
            journal.add(case, case.run(place))
            shutil.rmtree(place, ignore_errors=True)
        except Exception as error:  # one broken case must not stop the others
            journal.add(case, "", f"{case.name} in {place}: {type(error).__name__}: {error}")

    with ThreadPoolExecutor(parallel) as pool:
        list(pool.map(one, range(len(cases)), cases))
