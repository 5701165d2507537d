import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from tests.monitor.log_lines import line, question, write_segment
from workbench.core.errors import InputError
from workbench.core.operating_system import lock_file
from workbench.monitor.log import log_files
from workbench.monitor.log.log_files import compact
from workbench.monitor.log.reading import LoggedQuestions

STEPS = 40
# Compacts folders, each in a process that is killed at the n-th time that it opens, renames, deletes or makes a file or folder of the log.
KILLED = """
import os, signal, sys
from workbench.monitor.log.log_files import compact

def compact_until(folder, number):
    steps = 0

    def hook(event, arguments):
        nonlocal steps
        if event in ("open", "os.rename", "os.remove", "os.mkdir") and str(arguments[0]).startswith(folder):
            steps += 1
            if steps == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    compact(folder, idle_seconds=-60)

for number, folder in enumerate(sys.argv[1:], 1):
    process = os.fork()
    if not process:
        try:
            compact_until(folder, number)
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def ids(folder: Path) -> list[str]:
    return sorted(row["id"] for row in LoggedQuestions(folder).rows())


def test_segments_become_parquet_files_with_the_same_rows(tmp_path: Path) -> None:
    first = write_segment(tmp_path / "20261127T080000Z-1-000000.jsonl", [question(3), question(1)])
    second = write_segment(tmp_path / "20261127T080000Z-2-000000.jsonl", [question(2)])
    sizes = [path.stat().st_size for path in (first, second)]
    done = compact(tmp_path, idle_seconds=-60)
    assert files(tmp_path) == [f"{path.name}.{size}.parquet" for path, size in zip((first, second), sizes, strict=True)]
    assert ([path.name for path in done.files], done.rows, done.skipped) == (files(tmp_path), 3, ())
    assert [row["id"] for row in LoggedQuestions(tmp_path).rows()] == ["q3", "q1", "q2"]
    assert pq.read_metadata(done.files[0]).row_group(0).column(0).compression == "ZSTD"
    again = compact(tmp_path, idle_seconds=-60)
    assert (again.files, again.rows) == ((), 0)


def test_a_large_segment_is_written_in_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "BATCH_BYTES", 1_000)
    monkeypatch.setattr(log_files, "BATCH_ROWS", 10)
    write_segment(tmp_path / "a.jsonl", map(question, range(60)))
    (path,) = compact(tmp_path, idle_seconds=-60).files
    assert ids(tmp_path) == sorted(f"q{number}" for number in range(60))
    assert 1 < pq.read_metadata(path).num_row_groups <= 6


def test_a_segment_that_is_written_is_left_alone(tmp_path: Path) -> None:
    for name in "abc":
        write_segment(tmp_path / f"{name}.jsonl", [question(ord(name))])
    with (tmp_path / "b.jsonl").open("ab") as live:
        lock_file(live.fileno())
        done = compact(tmp_path, idle_seconds=-60)
        assert done.skipped == (tmp_path / "b.jsonl",)
        live.write(line(question(7)))
    assert files(tmp_path) == ["a.jsonl.72.parquet", "b.jsonl", "c.jsonl.72.parquet"]
    assert ids(tmp_path) == ["q7", "q97", "q98", "q99"]


def test_a_segment_that_changed_a_moment_ago_is_left_alone(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1)])
    assert compact(tmp_path).skipped == (tmp_path / "a.jsonl",)
    assert files(tmp_path) == ["a.jsonl"]


def test_a_segment_that_grew_after_it_was_read_is_read_again(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "a.jsonl", [question(1)])
    content = path.read_bytes()
    compact(tmp_path, idle_seconds=-60)
    # As if the compaction had been killed before it deleted the segment, and a writer without a lock went on.
    path.write_bytes(content)
    assert ids(tmp_path) == ["q1"]
    path.write_bytes(content + line(question(2)))
    compact(tmp_path, idle_seconds=-60)
    assert ids(tmp_path) == ["q1", "q2"]
    assert len(files(tmp_path)) == 2


def test_a_segment_with_lines_that_are_left_out_stays_and_is_not_read(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1), b"{broken\n", question(2)])
    write_segment(tmp_path / "b.jsonl", [question(3), question(3), line(question(4))[:-9]])
    for _ in range(2):
        compact(tmp_path, idle_seconds=-60)
        assert [name for name in files(tmp_path) if name.endswith("jsonl")] == ["a.jsonl", "b.jsonl"]
        assert len(files(tmp_path)) == 4
        log = LoggedQuestions(tmp_path)
        assert len(log.frame(["id"])) == 3
        assert {reason: tally.number for reason, tally in log.counts.left_out.items()} == {
            "line that is not JSON": 1,
            "duplicate id": 1,
            "unfinished last line": 1,
        }
        assert log.counts.left_out["line that is not JSON"].first == f"{tmp_path}/a.jsonl:2"


def test_two_processes_do_not_compact_a_folder_at_once(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1)])
    with FileLock(tmp_path / ".compaction.lock"), pytest.raises(InputError, match="another process compacts"):
        compact(tmp_path, idle_seconds=-60)
    assert files(tmp_path) == ["a.jsonl"]


@pytest.mark.slow
def test_a_compaction_that_is_killed_at_any_step_loses_and_doubles_nothing(tmp_path: Path, run_python: Callable[..., str]) -> None:
    thumb = {"kind": "thumb", "value": 1.0}
    folders = [tmp_path / f"{number:02}" for number in range(STEPS)]
    for folder in folders:
        write_segment(folder / "a.jsonl", [question(1), question(2), {"id": "q0", "feedback": [thumb]}])
        write_segment(folder / "b.jsonl", [b"{broken\n", question(3), {"id": "q1", "feedback": [thumb]}])
        write_segment(folder / "c.jsonl", [question(4), question(0)])
    expected = sorted(LoggedQuestions(folders[0]).rows(), key=lambda row: row["id"])
    assert len(expected) == 5
    codes = [int(code) for code in run_python(KILLED, *folders).split()]
    killed = codes.count(-signal.SIGKILL)
    assert codes == [-signal.SIGKILL] * killed + [0] * (STEPS - killed)
    assert 8 < killed < STEPS
    for folder in folders:
        for _ in range(2):
            log = LoggedQuestions(folder)
            assert sorted(log.rows(), key=lambda row: row["id"]) == expected
            assert {reason: tally.number for reason, tally in log.counts.left_out.items()} == {"line that is not JSON": 1}
            compact(folder, idle_seconds=-60)
        assert [name.partition(".")[0] for name in files(folder)] == ["a", "b", "b", "c"]
        assert not [*folder.glob(".*.tmp")]
