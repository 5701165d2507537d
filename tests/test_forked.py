"""Processes that are forked for a test end with it."""

import multiprocessing
import subprocess
import time
from contextlib import closing

import pytest

from tests.forked import Forked


def with_a_child() -> None:
    """Start a process that keeps the output open, and wait."""
    subprocess.Popen(["sleep", "60"])
    time.sleep(60)


def test_a_time_limit_holds_although_a_child_keeps_the_output_open() -> None:
    begin = time.monotonic()
    with closing(Forked(with_a_child)) as process, pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=1)
    assert time.monotonic() - begin < 30


def test_a_process_is_polled_only_by_the_one_who_waits_for_it() -> None:
    with closing(Forked(with_a_child)):
        # Polls the processes that it knows, as the start of another one does.
        assert multiprocessing.active_children() == []
