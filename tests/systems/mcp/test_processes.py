"""The processes that a server starts end with it, however the run ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.systems.mcp.conftest import ROOT, STRANGE, during, strange
from workbench.core.records import Query
from workbench.systems.base import TargetDownError

_SECONDS = 30
RUN = """
import asyncio
from tests.systems.mcp.conftest import strange
from workbench.llm.session import CallResources
from workbench.core.records import Query
from workbench.systems.asking import TargetRequest, ask_target
from workbench.systems.base import TargetResources

list(ask_target(strange(), [TargetRequest("search", Query("q", text), 5) for text in ({text!r}, "hang")], TargetResources(CallResources())))
"""


def running(path: Path) -> list[int]:
    """The processes of a file that still run. One that ended and that nobody has asked for is none."""
    return [number for number in map(int, path.read_text().split()) if _runs(number)]


def _runs(number: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def wait(path: Path, number: int) -> list[int]:
    """The processes of a file, once so many run."""
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends and (not path.is_file() or len(running(path)) != number):
        time.sleep(0.05)
    return running(path)


def test_processes_that_a_server_started_end_with_the_session(tmp_path: Path) -> None:
    path = tmp_path / "numbers"

    async def work(session) -> int:
        await session.search(Query("q", f"hatch {path}"), 5)
        return len(running(path))

    assert during(strange(), work) == 3
    assert running(path) == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGKILL))]
)
def test_processes_that_a_server_started_end_with_the_run(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    run = subprocess.Popen([sys.executable, "-c", RUN.format(text=f"hatch {path}")], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        assert len(wait(path, 3)) == 3
        run.send_signal(number)
        run.wait(_SECONDS)
        assert wait(path, 0) == []
    finally:
        run.kill()
        run.wait()
        for each in running(path) if path.is_file() else ():
            os.kill(each, signal.SIGKILL)


def test_a_program_that_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("no program")
    program.chmod(0o700)
    with pytest.raises(TargetDownError, match=r"it cannot be reached: .*its last line: .*server: Exec format error"):
        during(strange(command=str(program), args=[str(STRANGE)]), lambda session: session.search(Query("q", "x"), 1))
