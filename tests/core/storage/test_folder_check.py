"""The check of a folder of results beside a sweep that is running."""

import os
from pathlib import Path

from workbench.core.storage.folder_check import FolderCheck, delete, left_alone

FIRST, LAST = "0" * 32, "f" * 32


def test_a_result_that_a_sweep_finishes_during_the_check_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / FIRST).mkdir()
    (tmp_path / FIRST / "entry.json").touch()
    (tmp_path / f"{LAST}.tmp").mkdir()

    def finish(_path: Path) -> str:
        (tmp_path / f"{LAST}.tmp").rename(tmp_path / LAST)
        return ""

    assert list(FolderCheck(tmp_path, "entry", "entry.json", finish).findings(repair=True)) == []
    assert (tmp_path / LAST).is_dir()


def test_what_is_gone_is_neither_left_alone_nor_deleted_a_second_time(tmp_path: Path) -> None:
    gone, young, old = tmp_path / "gone", tmp_path / "young", tmp_path / "old"
    for path in (young, old):
        path.touch()
    os.utime(old, (0, 0))
    assert [path for path, _ in left_alone([young, old, gone])] == [old]
    delete(gone)
    delete(old)
    assert not old.exists()


def test_a_check_without_repair_creates_no_file(tmp_path: Path) -> None:
    names = [f"{FIRST}.tmp", f"{LAST}.uploaded"]
    (tmp_path / names[0]).mkdir()
    (tmp_path / names[1]).touch()
    os.utime(tmp_path / names[1], (0, 0))
    check = FolderCheck(tmp_path, "entry", "entry.json", lambda _: "")
    assert [finding.state for finding in check.findings(repair=False)] == ["unused", "unused"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
