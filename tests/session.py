"""How a test session runs: the order of its files, a line of progress a minute, and the seconds of its fixtures."""

import gc
import subprocess
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
# The files that take longest, the longest first: written by `python -m benchmarks.tests --order`.
LONGEST = Path(__file__).with_name("longest_files.txt")
RECENT_COMMITS = 10
# What is imported and collected stays until the end, so that searching it for garbage is in vain.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run long files first, so that no process ends alone, then the rooms that changed last, since they fail most often."""
    if config.pluginmanager.hasplugin("randomly"):
        return
    longest = {name: place for place, name in enumerate(LONGEST.read_text("utf-8").split())}
    changed = changed_rooms()

    def place(item: pytest.Item) -> tuple[int, bool]:
        path = item.path.relative_to(ROOT).as_posix()
        return longest.get(path, len(longest)), path.split("/")[1] not in changed

    items.sort(key=place)


# Also in the process that only starts others, which collects nothing.
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Leave the modules and tests, millions of objects, out of the garbage collections that begin now."""
    gc.freeze()
    gc.enable()


def changed_rooms() -> set[str]:
    """The folders of the package and of the tests that the last commits changed; none without a repository."""
    command = ["git", "log", f"-{RECENT_COMMITS}", "--name-only", "--format=", "--", "workbench", "tests"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return {line.split("/")[1] for line in done.stdout.splitlines() if line.count("/") > 1}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Record the seconds of a fixture as a property of the test that needs it first. Its arguments are set up before and recorded apart."""
    begin = time.perf_counter()
    try:
        return (yield)
    finally:
        seconds = time.perf_counter() - begin
        if seconds >= 0.05:
            # `request.node` of a session fixture is the session, which has no properties.
            request._pyfuncitem.user_properties.append((f"fixture {fixturedef.baseid or 'tests'}::{fixturedef.argname}", f"{seconds:.2f}"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--minutes", action="store_true", help="print failures at once and a line of progress a minute instead of a dot a test"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--minutes") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config))


class Progress:
    """A line a minute: how many tests have ended and which file runs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._begin, self._lines, self._counts = config, time.monotonic(), 0, Counter[str]()

    def _print(self, line: str) -> None:
        # Registered after the conftest files are read.
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        terminal.ensure_newline()
        terminal.write_line(line)
        terminal.flush()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Print no letter for what went well."""
        if report.failed:
            return None
        return ("skipped" if report.skipped else "passed" if report.when == "call" else ""), "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._print(f"FAILED {report.nodeid}")
        self._counts["ended"] += report.when == "teardown"
        self._counts["failed"] += report.failed
        minutes = int((time.monotonic() - self._begin) / 60)
        if minutes > self._lines:
            self._lines = minutes
            self._print(f"{minutes} min: {self._counts['ended']} tests, {self._counts['failed']} failed, {report.nodeid}")
