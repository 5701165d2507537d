"""The label file: nothing that was saved is lost, and what is damaged is reported with its line."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.people.labelling.label_file import LabelAction, LabelFile, LabelHeader, labels_by_annotator, parse_action

HEADER = LabelHeader("sea", "0" * 32, (2, 1, 0, -1))
WRITER = """
import sys
from pathlib import Path
from workbench.people.labelling.label_file import LabelAction
from workbench.people.labelling.label_file import LabelFile, LabelHeader
file = LabelFile.begin(Path(sys.argv[1]), LabelHeader("sea", "0" * 32, (2, 1, 0, -1)))
for number in range(int(sys.argv[3])):
    written = file.append(LabelAction(kind="relevance", by=sys.argv[2], query_id="q1", doc_id=f"d{number}", value=number))
    print(written.number, flush=True)
"""


def action(doc_id: str, value: int | None = 2, by: str = "ann") -> LabelAction:
    return LabelAction(kind="relevance", by=by, query_id="q1", doc_id=doc_id, value=value)


@pytest.fixture
def file(tmp_path: Path) -> LabelFile:
    return LabelFile.begin(tmp_path / "new" / "labels.jsonl", HEADER)


def test_an_action_is_in_the_file_with_its_author_number_and_time_before_append_returns(file: LabelFile) -> None:
    written = file.append(action("d1"))
    row = json.loads(file.path.read_text("utf-8").splitlines()[-1])
    assert (row["by"], row["n"], row["value"]) == ("ann", 1, 2)
    assert row["at"] == written.at
    assert written.at.endswith("+00:00")
    assert LabelFile(file.path).actions == [written]
    assert LabelFile(file.path).header == HEADER


@pytest.mark.parametrize("rest", ['{"n": 2, "at": "x"', '{"', '{"n": 2, "value": "é'])
def test_a_torn_last_line_is_reported_and_later_labels_are_kept(file: LabelFile, rest: str) -> None:
    first = file.append(action("d1"))
    with file.path.open("ab") as stream:
        stream.write(rest.encode()[:-1])
    again = LabelFile(file.path)
    assert again.actions == [first]
    assert [str(fault) for fault in again.damaged] == ["line 3 is incomplete: its write was interrupted, and its label is lost"]
    second = again.append(action("d2"))
    last = LabelFile(file.path)
    assert last.actions == [first, second]
    assert (second.number, [fault.line for fault in last.damaged]) == (2, [3])


def test_a_line_that_only_lacks_its_line_break_counts(file: LabelFile) -> None:
    written = file.append(action("d1"))
    file.path.write_bytes(file.path.read_bytes()[:-1])
    again = LabelFile(file.path)
    again.append(action("d2"))
    assert LabelFile(file.path).actions[0] == written
    assert LabelFile(file.path).damaged == ()


def test_a_damaged_line_is_named_and_the_others_are_read(file: LabelFile, wording) -> None:
    header = file.path.read_bytes()

    def fault_of(line: str | bytes) -> str:
        file.path.write_bytes(header)
        damaged = LabelFile(file.path)
        damaged.append(action("d1"))
        with damaged.path.open("ab") as stream:
            stream.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        damaged.append(action("d2"))
        again = LabelFile(file.path)
        assert [each.doc_id for each in again.actions] == ["d1", "d2"]
        (fault,) = again.damaged
        return str(fault)

    wording(
        fault_of,
        [
            "[1]",
            '{"n": 1, "at": "x", "by": "ann", "kind": "relevant"}',
            '{"n": 1, "at": "x", "by": "ann", "kind": "relevance", "value": "2"}',
            '{"n": 1, "at": "x", "by": "ann", "kind": "answerable", "value": 1}',
            '{"n": 1, "at": "x", "by": "ann", "kind": "rewrite", "value": " "}',
            '{"n": 0, "at": "x", "by": " ", "kind": "relevance", "query_id": 3}',
            '{"n": 1, "at": "x", "by": "\\ud800", "kind": "relevance"}',
            b"\xff\xfe",
        ],
        None,
    )


def test_undo_goes_back_step_by_step_also_after_a_reload_and_takes_back_only_own_labels(file: LabelFile) -> None:
    file.append(action("d1"))
    file.append(action("d1", 0))
    file.append(action("d1", 1, by="bob"))
    assert file.undo("ann").value == 0
    assert labels_by_annotator(file.actions)["ann"].value("relevance", "q1", "d1") == 2
    again = LabelFile(file.path)
    assert again.undo("ann").value == 2
    assert again.undo("ann") is None
    state = labels_by_annotator(LabelFile(file.path).actions)
    assert state["ann"].value("relevance", "q1", "d1") is None
    assert state["bob"].value("relevance", "q1", "d1") == 1
    again.append(action("d1", 1))
    assert again.undo("ann").value == 1


def test_a_removed_label_comes_back_by_undo(file: LabelFile) -> None:
    file.append(action("d1"))
    file.append(action("d1", None))
    assert labels_by_annotator(file.actions)["ann"].actions == {}
    file.undo("ann")
    assert labels_by_annotator(file.actions)["ann"].value("relevance", "q1", "d1") == 2


def test_a_killed_writer_loses_nothing_that_was_saved(start, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    process = start(WRITER, path, "ann", 100_000)
    printed = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    process.wait()
    reported = [*printed, *(int(number) for number in rest)]
    file = LabelFile(path)
    assert [each.number for each in file.actions[: len(reported)]] == reported == list(range(1, len(reported) + 1))
    assert file.append(action("after")).number == len(file.actions)
    assert LabelFile(path).actions[-1].doc_id == "after"


def test_two_processes_write_to_one_file_at_once(start, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    processes = [start(WRITER, path, name, 40) for name in ("ann", "bob", "ann")]
    for process in processes:
        assert process.wait(timeout=120) == 0, process.stderr.read()
    file = LabelFile(path)
    assert file.damaged == ()
    assert sorted(each.number for each in file.actions if each.by == "ann") == list(range(1, 81))
    assert sorted(each.number for each in file.actions if each.by == "bob") == list(range(1, 41))


def test_another_writers_labels_appear_with_the_next_refresh(file: LabelFile) -> None:
    other = LabelFile(file.path)
    other.append(action("d1", by="bob"))
    assert file.actions == []
    file.refresh()
    assert [each.by for each in file.actions] == ["bob"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match=r"taken/labels.jsonl cannot be written .*; name another file"):
        LabelFile.begin(tmp_path / "taken" / "labels.jsonl", HEADER)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    before = path.stat()
    for opened in (lambda: LabelFile.begin(path, HEADER), lambda: LabelFile(path)):
        with pytest.raises(InputError, match=f"labels.jsonl is a {kind}, not a file; name a label file"):
            opened()
    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("exists", [True, False])
def test_labels_go_through_a_link_to_its_target(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "elsewhere" / "ann.jsonl", tmp_path / "labels.jsonl"
    target.parent.mkdir()
    if exists:
        LabelFile.begin(target, HEADER).append(action("d1"))
    link.symlink_to(target)
    LabelFile.begin(link, HEADER).append(action("d2"))
    assert link.is_symlink()
    assert [each.doc_id for each in LabelFile(target).actions] == [*(["d1"] if exists else []), "d2"]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "labels.jsonl"
    link.symlink_to(link)
    with pytest.raises(InputError, match="is a link to itself"):
        LabelFile.begin(link, HEADER)
    assert link.is_symlink()


def test_a_label_that_could_not_be_read_again_is_refused_and_not_lost(file: LabelFile, wording) -> None:
    before = file.path.read_bytes()
    wording(
        lambda change: file.append(replace(action("d1"), **change)),
        [
            {"value": 1.0},
            {"value": True},
            {"kind": "answer", "value": 5},
            {"kind": "answer", "value": "a\ud83d"},
            {"by": "a\ud83d", "value": 1},
            {"value": {1}},
        ],
    )
    assert file.path.read_bytes() == before


def test_another_file_is_no_label_file_and_stays_as_it_is(tmp_path: Path, wording) -> None:
    path = tmp_path / "questions.jsonl"
    headers = (f'{{"labels": 1, "dataset": "x", "documents": "y", "grades": {grades}}}\n' for grades in ("[1e400]", "[true]", '"21"'))

    def begin(content: str) -> None:
        path.write_text(content)
        try:
            LabelFile.begin(path, HEADER)
        finally:
            assert path.read_text() == content

    wording(begin, [*headers, "hello\n", "[]\n", '{"labels": 1}\n', '{"query": "x"}\n', "{"])


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"labels": 2, "dataset": "sea", "documents": "", "grades": []}\n')
    with pytest.raises(InputError, match="is a label file of version 2; this version reads 1"):
        LabelFile(tmp_path / "labels.jsonl")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no label file"):
        LabelFile(tmp_path / "none.jsonl")


def test_a_full_disk_leaves_the_file_as_it_was(run_python, tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from workbench.core.errors import WorkbenchError
from workbench.people.labelling.label_file import LabelAction
from workbench.people.labelling.label_file import LabelFile, LabelHeader
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
file = LabelFile.begin(path, LabelHeader("sea", "0" * 32, (2, 1, 0, -1)))
file.append(LabelAction(kind="answer", by="ann", query_id="q1", value="short"))
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, resource.RLIM_INFINITY))
try:
    file.append(LabelAction(kind="answer", by="ann", query_id="q1", value="long" * 100))
except WorkbenchError as error:
    print(path.read_bytes() == before, error)
"""
    out = run_python(script, tmp_path / "labels.jsonl")
    assert out.startswith("True the disk is full at ")
    assert "earlier labels are kept" in out


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 9), st.integers(10, 20))
def test_every_text_comes_back_as_it_was(text: str, start: int, end: int) -> None:
    span = LabelAction(kind="span", by="Zoë", query_id=text, doc_id=text, start=start, end=end, text=text, value=1, number=1, at="now")
    line = span.as_json()
    assert "\n" not in line
    assert parse_action(line, 1) == span
