"""Follow a page of the docs as a reader does: write the files it shows, run its commands and code in order, compare what they print."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The sentence before a file ends with its name: Save this as `mine.yaml`:
FILE = re.compile(r"`([\w./-]*\w\.\w+)`:\s*$")
# Values differ slightly between processors.
TOLERANCE = 0.03
DECIMAL = r"[-+−]?\d+\.\d+"
# One interpreter runs all code of a page, as a reader's does. It answers each block with a line.
INTERPRETER = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, error = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(json.loads(line), names)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), flush=True)
"""


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
    """Compare word by word. `…` on the page matches anything, decimals may differ by the tolerance."""
    words = [re.escape(word).replace("…", ".*?") for word in re.sub(DECIMAL, "\0", shown).split()]
    pattern = r"\s*".join(word.replace("\0", f"({DECIMAL})").replace("\\\0", f"({DECIMAL})") for word in words)
    match = re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL)
    assert match, f"the page shows\n{shown}\nbut this is printed\n{printed}"
    for value, expected in zip(match.groups(), re.findall(DECIMAL, shown), strict=True):
        ours, theirs = (float(number.replace("−", "-")) for number in (value, expected))
        assert ours == pytest.approx(theirs, abs=TOLERANCE), f"{value} instead of {expected} in\n{printed}"


class Reader:
    """A reader in a folder, with the commands of an environment."""

    def __init__(self, folder: Path, commands: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self._options = {"cwd": folder, "env": environment | {"PATH": path, "COLUMNS": "80"}, "text": True, "encoding": "utf-8"}
        self._python = commands / "python"

    def follow(self, blocks: list[Block]) -> None:
        """Run the blocks in order, and check what is printed and every exit code."""
        with subprocess.Popen(
            [self._python, "-c", INTERPRETER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **self._options
        ) as interpreter:
            try:
                for printed, shown in self._outputs(blocks, interpreter):
                    check_printed(printed, shown)
            finally:
                interpreter.kill()

    def _outputs(self, blocks: list[Block], interpreter: "subprocess.Popen[str]") -> Iterator[tuple[str, str]]:
        printed = ""
        for block in blocks:
            if file := FILE.search(block.before):
                place = self.folder / file[1]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(block.text, "utf-8")
            elif block.language == "text":
                yield printed, block.text
            elif block.language == "sh":
                printed = self._run(block)
            elif block.language == "python":
                printed = self._execute(block.text, interpreter)
            # Installing needs a package index: the soak test of the wheel does it.
            elif block.language != "console":
                raise AssertionError(f"the page does not say what to do with this:\n{block.text}")

    def _run(self, block: Block) -> str:
        done = subprocess.run(["bash", "-e", "-c", block.text], capture_output=True, timeout=1800, **self._options)
        expected = 1 if "exits with 1" in " ".join(block.before.split()) else 0
        assert done.returncode == expected, block.text + done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    def _execute(self, text: str, interpreter: "subprocess.Popen[str]") -> str:
        interpreter.stdin.write(json.dumps(text) + "\n")
        interpreter.stdin.flush()
        printed, error = json.loads(interpreter.stdout.readline())
        assert not error, text + error
        return printed


def checkout(folder: Path, root: Path) -> Reader:
    """Make a folder like a checkout in which `make` has just installed: the Makefile then only runs the experiment."""
    for name in ("Makefile", "pyproject.toml", "experiments", "notebooks"):
        (folder / name).symlink_to(root / name)
    (folder / ".venv").mkdir()
    for part in Path(sys.prefix).iterdir():
        if part.name != ".installed":
            (folder / ".venv" / part.name).symlink_to(part)
    (folder / ".venv" / ".installed").touch()
    # Under `make test`, a make of its own would announce the folders that it enters and leaves.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return Reader(folder, folder / ".venv" / "bin", environment | {"PYTHONPATH": str(root)})
