"""Follow a page of the docs as a reader does: write the files it shows, run its commands and code in order, compare what they print."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.commands import workbench

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The sentence before a file ends with its name: Save this as `mine.yaml`:
FILE = re.compile(r"`([\w./-]*\w\.\w+)`:\s*$")
# Processors differ in the last digits of values and in the order of configurations with close values: docs/tutorial.md says so.
TOLERANCE = 0.01
DECIMAL = r"[-+−]?\d+\.\d+"
# A configuration in a ranking, its value and its interval.
ROW = re.compile(rf"(\S+) +({DECIMAL}) +\[")


class Block(NamedTuple):
    """A fenced block with the prose before it and the prose after it."""

    language: str
    text: str
    before: str
    after: str


def lesson_blocks(page: str) -> list[Block]:
    matches = list(FENCE.finditer(page))
    edges = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches), len(page)]
    prose = [page[edge:start] for edge, start in zip(edges, starts, strict=True)]
    return [Block(match[1], match[2], prose[place], prose[place + 1]) for place, match in enumerate(matches)]


def check_printed(printed: str, shown: str) -> None:
    """Compare word by word. `…` on the page matches anything, decimals may differ by the tolerance, and rows with such values change places."""
    segments = [r"\s*".join(map(re.escape, segment.split())) for segment in re.sub(DECIMAL, "\0", shown).split("…")]
    segments[-1] += r"\s*\Z"
    # Each segment matches where it occurs first, so that a text that differs is found in time.
    pattern = r"\s*" + segments[0] + "".join(rf"(?>.*?{segment})" for segment in segments[1:])
    match = re.match(pattern.replace("\0", f"({DECIMAL})"), in_order_of(shown, printed), re.DOTALL)
    assert match, f"the page shows\n{shown}\nbut this is printed\n{printed}"
    for value, expected in zip(match.groups(), re.findall(DECIMAL, shown), strict=True):
        ours, theirs = (float(number.replace("−", "-")) for number in (value, expected))
        assert are_close(ours, theirs), f"{value} instead of {expected} in\n{printed}"


def in_order_of(shown: str, printed: str) -> str:
    """Put the printed rows of a ranking into the order of the page. A row moves up past rows with close values."""
    lines = printed.splitlines()
    places = [place for place, line in enumerate(lines) if ROW.match(line)]
    for place, (name, _) in zip(places, ROW.findall(shown), strict=False):
        values = {row[1]: float(row[2]) for row in map(ROW.match, lines[place:]) if row}
        passed = list(values)[: [*values, name].index(name)]
        if name in values and all(values[other] >= values[name] and are_close(values[other], values[name]) for other in passed):
            lines.insert(place, lines.pop(place + len(passed)))
    return "\n".join(lines)


def are_close(value: float, other: float) -> bool:
    return round(abs(value - other), 6) <= TOLERANCE


# Run blocks of code, and print what the last one prints.
LAST_OF_BLOCKS = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
*before, last = json.load(sys.stdin)
with contextlib.redirect_stdout(io.StringIO()):
    for block in before:
        exec(compile(block, "block", "exec"), names)
exec(compile(last, "block", "exec"), names)
"""


class Reader:
    """A reader in a folder. Commands and code run in this process, what needs a shell or names a program by its path in one of its own.

    With the folder of the programs of another environment, all of them run in processes of that environment.
    """

    def __init__(self, folder: Path, programs: Path | None = None) -> None:
        self.folder, self._programs = folder, programs
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._code: list[str] = []

    def follow(self, blocks: list[Block]) -> None:
        """Run the blocks in order, and check what is printed and every exit code."""
        printed = ""
        with contextlib.chdir(self.folder):
            for block in blocks:
                if file := FILE.search(block.before):
                    place = Path(file[1])
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(block.text, "utf-8")
                elif block.language == "text":
                    check_printed(printed, block.text)
                elif block.language == "sh":
                    printed = "".join(self._run(line, block.before) for line in block.text.splitlines())
                elif block.language == "python":
                    printed = self._execute(block.text)
                # Installing needs a package index: the soak test of the wheel does it.
                elif block.language != "console":
                    raise AssertionError(f"the page does not say what to do with this:\n{block.text}")

    def _run(self, line: str, before: str) -> str:
        program, *words = shlex.split(line)
        if program == "workbench" and self._programs is None:
            done = workbench(*words, env={"COLUMNS": "80"})
        else:
            # Under `make slow`, a make of its own would announce the folders that it enters and leaves.
            done = self._process(["bash", "-e", "-c", line])
        expected = 1 if "exits with 1" in " ".join(before.split()) else 0
        assert done.returncode == expected, line + done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    def _process(self, command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
        left_out = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH", "VIRTUAL_ENV")
        environment = {name: value for name, value in os.environ.items() if name not in left_out} | {"COLUMNS": "80"}
        environment["PATH"] = f"{self._programs or Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # A process of another environment has the package that is installed there.
        environment |= {} if self._programs else {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=environment, input=given, capture_output=True, text=True, encoding="utf-8", timeout=1800)

    def _execute(self, text: str) -> str:
        self._code.append(text)
        if self._programs:
            done = self._process([str(self._programs / "python"), "-c", LAST_OF_BLOCKS], json.dumps(self._code))
            assert done.returncode == 0, text + done.stdout[-2000:] + done.stderr[-4000:]
            return done.stdout
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, "block", "exec"), self._names)
        return output.getvalue()


def checkout(folder: Path) -> Reader:
    """Make a folder like a checkout in which `make` has just installed: the Makefile then only runs the experiment."""
    for name in ("Makefile", "pyproject.toml", "install.py", "experiments", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").mkdir()
    for part in Path(sys.prefix).iterdir():
        if part.name != ".installed":
            (folder / ".venv" / part.name).symlink_to(part)
    (folder / ".venv" / ".installed").touch()
    return Reader(folder)
