"""The thread and the files of a log: killed and forked processes, threads, full disks, full memory, segments."""

import gc
import json
import logging
import os
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.monitor.written_log import lines, losses, rows, wait_for
from workbench.core.operating_system import lock_file
from workbench.monitor.log import query_log


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "FLUSH_SECONDS", 0.02)


# Acknowledges each record with its number and the time of the machine's clock.
ANSWERING = """
import sys, time
import workbench as wb
log = wb.QueryLog(sys.argv[1])
for number in range(1_000_000):
    log.record(f"question {number}", hits=[{"doc_id": "d", "text": "word " * 100}], answer="an answer")
    print(number, time.monotonic(), flush=True)
    time.sleep(0.0005)
"""


@pytest.mark.slow
def test_a_killed_process_loses_at_most_the_last_half_second(start: Callable[..., Any], tmp_path: Path) -> None:
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        process = start(ANSWERING, folder)
        process.stdout.readline()
        time.sleep(0.9 + attempt / 20)
        killed = time.monotonic()
        process.kill()
        # The last line can be cut.
        acknowledged = [line.split() for line in process.stdout.read().rpartition("\n")[0].splitlines()]
        text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.jsonl")))
        whole = [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
        found = {row["query"] for row in whole}
        assert len(found) == len(whole)
        older = {f"question {number}" for number, moment in acknowledged if float(moment) < killed - 0.5}
        assert len(older) > 50
        assert older <= found


FORKED = """
import os, sys, time
import workbench as wb
log = wb.QueryLog(sys.argv[1])
for number in range(200):
    log.record(f"before {number}")
    # Half is in the parent's file and half in its queue.
    while number == 100 and not log._writer._size:
        time.sleep(0.01)
child = os.fork()
for number in range(200):
    log.record(f"{'after' if child else 'child'} {number}")
if child:
    os.waitpid(child, 0)
"""


def test_a_fork_neither_loses_nor_doubles_a_record(run_python: Callable[..., str], tmp_path: Path) -> None:
    run_python(FORKED, tmp_path, options=("-W", "ignore"))
    assert sorted(row["query"] for row in rows(tmp_path)) == sorted(
        f"{when} {n}" for when in ("before", "after", "child") for n in range(200)
    )
    assert len({path.name.split("-")[1] for path in tmp_path.glob("*.jsonl")}) == 2


@pytest.mark.slow
def test_a_fork_while_other_threads_record_goes_on_in_the_child(run_python: Callable[..., str], tmp_path: Path) -> None:
    script = """
import os, sys, threading
import workbench as wb
log, ended = wb.QueryLog(sys.argv[1]), threading.Event()
def record():
    while not ended.is_set():
        log.record("from a thread")
threads = [threading.Thread(target=record) for _ in range(3)]
for thread in threads: thread.start()
for number in range(20):
    if not (child := os.fork()):
        log.record(f"child {number}")
        log.close()
        os._exit(0)
    os.waitpid(child, 0)
ended.set()
for thread in threads: thread.join()
"""
    run_python(script, tmp_path, options=("-W", "ignore"))
    assert {row["query"] for row in rows(tmp_path)} == {"from a thread", *(f"child {number}" for number in range(20))}


def test_threads_record_at_once(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)

    def record(thread: int) -> None:
        for number in range(500):
            log.record(f"{thread} {number}")

    threads = [threading.Thread(target=record, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert sorted(row["query"] for row in rows(tmp_path)) == sorted(f"{thread} {number}" for thread in range(8) for number in range(500))
    assert log.lost == {}


@pytest.mark.slow
def test_processes_and_logs_write_to_one_folder(start: Callable[..., Any], tmp_path: Path) -> None:
    script = """
import sys
import workbench as wb
from workbench.core.operating_system import lock_file
from workbench.monitor.log import query_log
query_log.FLUSH_SECONDS, query_log.SEGMENT_BYTES = 0.05, 20_000
logs = [wb.QueryLog(sys.argv[1]) for _ in range(2)]
for number in range(400):
    logs[number % 2].record(f"{sys.argv[2]} {number}", answer="word " * 100)
"""
    processes = [start(script, tmp_path, name) for name in "abcd"]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert sorted(row["query"] for row in rows(tmp_path)) == sorted(f"{name} {number}" for name in "abcd" for number in range(400))


ENDS = {
    "": 0,
    "raise ValueError": 1,
    "sys.exit(3)": 3,
    "threading.Thread(target=lambda: (time.sleep(.2), [log.record('late') for _ in range(100)])).start()": 0,
}


@pytest.mark.parametrize("end", ENDS)
def test_an_ending_process_writes_what_waits(start: Callable[..., Any], tmp_path: Path, end: str) -> None:
    script = "import sys, threading, time\nimport workbench as wb\nlog = wb.QueryLog(sys.argv[1])\n"
    process = start(script + f"for n in range(500): log.record(f'question {{n}}')\n{end}", tmp_path)
    assert process.wait(120) == ENDS[end]
    assert len(rows(tmp_path)) == 500 + 100 * ("late" in end)


# No file may grow beyond `limit`, as on a full disk, until space is free again.
FULL = """
import resource, signal, sys, time
import workbench as wb
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(size): resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
log = wb.QueryLog(sys.argv[1])
log.record("first")
while not log._writer._size: time.sleep(0.01)
limit(int(sys.argv[2]))
for number in range(20): log.record(f"question {number}")
for _ in range(1000):
    if log.lost: break
    time.sleep(0.01)
time.sleep(0.2)
print(log.lost["write"])
limit(resource.RLIM_INFINITY)
log.record("last")
"""


@pytest.mark.parametrize("size", [0, 1000])
def test_a_full_disk_loses_whole_records_that_are_counted_in_the_log_later(
    run_python: Callable[..., str], tmp_path: Path, size: int
) -> None:
    lost = int(run_python(FULL, tmp_path, size))
    found = [row["query"] for row in rows(tmp_path)]
    assert found[0] == "first"
    assert found[-1] == "last"
    assert 20 - lost == len(found) - 2
    assert lost > 0
    assert losses(tmp_path) == {"write": lost}


def test_a_folder_that_cannot_be_made_loses_records_until_it_can(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path / "log")
    (tmp_path / "log").write_text("a file in the way")
    log.record("lost")
    wait_for(lambda: log.lost == {"write": 1})
    (tmp_path / "log").unlink()
    log.record("kept")
    log.close()
    assert [row["query"] for row in rows(tmp_path / "log")] == ["kept"]
    assert losses(tmp_path / "log") == {"write": 1}


def test_full_memory_drops_records_and_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "FLUSH_SECONDS", 20)
    monkeypatch.setattr(query_log, "MEMORY_BYTES", 50_000)
    log = wb.QueryLog(tmp_path)
    for number in range(1000):
        log.record(f"question {number}", answer="word " * 100)
    lost = log.lost["memory"]
    log.close()
    kept = rows(tmp_path)
    assert len(kept) + lost == 1000
    assert 60 < len(kept) < 100
    assert losses(tmp_path) == {"memory": lost}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 50_200


def test_memory_is_free_again_when_records_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "MEMORY_BYTES", 2_000)
    log = wb.QueryLog(tmp_path)
    for number in range(5):
        log.record(f"question {number}", answer="word " * 200)
        wait_for(lambda: len(rows(tmp_path)) > number and not log._writer._waiting)  # noqa: B023
    assert log.lost == {}
    log.close()


def test_segments_end_at_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "SEGMENT_BYTES", 1_500)
    log = wb.QueryLog(tmp_path)
    for number in range(6):
        log.record(f"question {number}", answer="word " * 200)
        wait_for(lambda: len(rows(tmp_path)) > number)  # noqa: B023
    log.close()
    assert [len(path.read_bytes().splitlines()) for path in sorted(tmp_path.iterdir())] == [2, 2, 2]
    assert [row["query"] for row in rows(tmp_path)] == [f"question {number}" for number in range(6)]


def test_a_deleted_segment_is_followed_by_another(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("deleted")
    wait_for(lambda: bool(rows(tmp_path)))
    for path in tmp_path.iterdir():
        path.unlink()
    log.record("kept")
    log.close()
    assert [row["query"] for row in rows(tmp_path)] == ["kept"]


def test_a_segment_is_locked_until_it_is_complete(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("a question")
    wait_for(lambda: bool(rows(tmp_path)))
    (path,) = tmp_path.iterdir()
    with path.open("rb") as other:
        with pytest.raises(BlockingIOError):
            lock_file(other.fileno())
        log.close()
        lock_file(other.fileno())


def test_two_logs_of_a_process_have_files_of_their_own(tmp_path: Path) -> None:
    logs = [wb.QueryLog(tmp_path) for _ in range(2)]
    for log in logs:
        log.record("a question")
    for log in logs:
        log.close()
    assert [len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()] == [1, 1]


def test_records_of_a_closed_log_are_counted(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("kept")
    log.close()
    log.close()
    log.record("too late")
    assert log.lost == {"closed": 1}
    assert [row["query"] for row in rows(tmp_path)] == ["kept"]


def test_a_log_without_records_makes_no_file_and_no_thread(tmp_path: Path) -> None:
    threads = threading.active_count()
    log = wb.QueryLog(tmp_path / "log")
    assert threading.active_count() == threads
    log.close()
    assert not (tmp_path / "log").exists()


def test_lines_are_readable_by_the_group_alone(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("a question")
    log.close()
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o007 == 0
    assert path.name.split("-")[1] == str(os.getpid())
    assert len(lines(tmp_path)) == 1


def test_no_cause_of_a_loss_ends_the_thread(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.lose("half \ud800", "of a pair \udfff")
    log.record("q", hits=[{"\ud800": 1, "y": [1]}])
    wait_for(lambda: bool(losses(tmp_path)))
    log.record("later")
    log.close()
    assert [row["query"] for row in rows(tmp_path)] == ["later"]
    assert losses(tmp_path) == {"half ?": 1, "invalid": 1}


def test_causes_are_of_a_bounded_length_and_number(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    for number in range(1_000):
        log.lose(f"reason {number} " + "x" * 1_000_000, "y" * 1_000_000)
    log.close()
    assert len(log.lost) <= 101
    assert sum(log.lost.values()) == sum(losses(tmp_path).values()) == 1_000
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 200_000


@pytest.fixture(params=[RuntimeError("no disk"), SystemExit(3), CancelledError()])
def failing_handler(request: pytest.FixtureRequest) -> Iterator[BaseException]:
    """A handler of logging that raises."""
    handler = logging.Handler()

    def emit(_: logging.LogRecord) -> None:
        raise request.param

    handler.emit = emit  # type: ignore[method-assign]
    logger, disabled = logging.getLogger("workbench.monitor.log"), logging.root.manager.disable
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    yield request.param
    logger.removeHandler(handler)
    logging.disable(disabled)


def test_a_handler_of_logging_that_fails_does_not_end_the_thread(failing_handler: BaseException, tmp_path: Path) -> None:  # noqa: ARG001
    log = wb.QueryLog(tmp_path / "log")
    (tmp_path / "log").write_text("a file in the way")
    log.record("lost")
    wait_for(lambda: log.lost == {"write": 1})
    (tmp_path / "log").unlink()
    log.record("kept")
    wait_for(lambda: bool(rows(tmp_path / "log")))
    log.close()
    assert losses(tmp_path / "log") == {"write": 1}


def test_a_handler_of_logging_that_fails_does_not_fail_the_caller(failing_handler: BaseException, tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    if not isinstance(failing_handler, CancelledError):  # which is the caller's own
        log.record("q", turn="x")
        log.record("q", unknown="field")
        log.close()
        assert log.lost == {"invalid": 1}
        assert len(rows(tmp_path)) == 1


def test_a_log_without_a_thread_is_written_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    log = wb.QueryLog(tmp_path)
    log.record("a")
    log.record("b", turn="x")
    log.close()
    assert [row["query"] for row in rows(tmp_path)] == ["a"]
    assert losses(tmp_path) == {"invalid": 1}


@pytest.mark.parametrize("end", ["pass", "raise ValueError", "sys.exit(3)"])
def test_a_child_of_multiprocessing_writes_what_waits(run_python: Callable[..., str], tmp_path: Path, end: str) -> None:
    script = f"""
import multiprocessing, sys
import workbench as wb
log = wb.QueryLog(sys.argv[1])
log.record("parent")
def record():
    log.record("child")
    {end}
sys.stderr = None
child = multiprocessing.get_context("fork").Process(target=record)
child.start()
child.join()
"""
    run_python(script, tmp_path, options=("-W", "ignore"))
    assert sorted(row["query"] for row in rows(tmp_path)) == ["child", "parent"]


def test_logs_that_are_dropped_are_written_and_keep_no_thread(tmp_path: Path) -> None:
    for number in range(20):
        wb.QueryLog(tmp_path / str(number % 5)).record("q")
    gc.collect()
    wait_for(lambda: "query log" not in {thread.name for thread in threading.enumerate()})
    assert sum(len(rows(folder)) for folder in tmp_path.iterdir()) == 20
