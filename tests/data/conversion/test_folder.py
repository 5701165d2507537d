"""Every file of a folder is found once, with the reason if it is not read."""

import errno
import os
import re
from pathlib import Path

import pytest

from workbench.data.files import FileAccess
from workbench.data.formats.documents import DEEPEST
from workbench.people.new_experiment.documents import find_files


def found(root: Path, **options: object) -> dict[str, str]:
    return {file.relative: file.reason for file in find_files(root, FileAccess((root,), 1), **options)}


def test_files_that_are_not_read_have_a_reason(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "docs"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("not seen")
    for name in ("a.md", "deep/b.TXT", "deep/er/c.pdf", ".hidden.md", "photo.png", "LICENSE"):
        (root / name).write_text("text")
    (root / "big.txt").write_bytes(bytes(1_000_001))
    (root / "folder").symlink_to(outside)
    (root / "inside").symlink_to(root / "deep")
    (root / "lost.md").symlink_to(root / "nowhere.md")
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "round").symlink_to(root / "about")
    (root / "about").symlink_to(root / "round")
    os.mkfifo(root / "pipe.txt")
    reasons = found(root)
    assert [name for name, reason in reasons.items() if not reason] == ["a.md", "deep/b.TXT", "deep/er/c.pdf"]
    expected = {
        ".git/": "is hidden",
        ".hidden.md": "is hidden",
        "photo.png": "has the suffix '.png', which is not read; recognise its text",
        "LICENSE": "has no suffix; rename it to .txt",
        "big.txt": "has 1 MB, more than max_file_mb",
        "folder": "is a link to a place outside of",
        "inside": "is a link to a folder, which is not followed",
        "lost.md": r"cannot be read \(No such file or directory\)",
        "loop.md": r"cannot be read \(Too many levels of symbolic links\)",
        "round": r"cannot be read \(Too many levels of symbolic links\)",
        "about": r"cannot be read \(Too many levels of symbolic links\)",
        "pipe.txt": "is a pipe, not a file",
    }
    assert {name for name, reason in reasons.items() if reason} == set(expected)
    for name, reason in expected.items():
        assert re.match(reason, reasons[name]), (name, reasons[name])


def test_a_link_that_may_not_be_read_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "cwd").symlink_to("a.md")
    read = os.readlink

    def refusing(path: str, **options: object) -> str:
        if str(path).endswith("cwd"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return read(path, **options)

    monkeypatch.setattr(os, "readlink", refusing)
    assert found(tmp_path) == {"a.md": "", "cwd": "cannot be read (Permission denied)"}


def test_the_experiments_own_folder_is_left_out(tmp_path: Path):
    (tmp_path / "experiments" / "mine" / "documents").mkdir(parents=True)
    (tmp_path / "experiments" / "mine" / "documents" / "a.md").write_text("text")
    (tmp_path / "a.md").write_text("text")
    assert found(tmp_path, without={(tmp_path / "experiments" / "mine").resolve()}) == {"a.md": ""}


def test_folders_that_programs_have_written_are_named_and_not_read(tmp_path: Path):
    marks = {
        "node_modules/left-pad/README.md": ("node_modules/", "has packages of programs"),
        ".venv/lib/README.md": (".venv/", "is hidden"),
        "env/pyvenv.cfg": ("env/", "is a Python environment"),
        "target/CACHEDIR.TAG": ("target/", "is a cache"),
        "outputs/.store/x": ("outputs/", "has the outputs of sweeps"),
        "old/run/manifest.json": ("old/run/", "has the outputs of a sweep"),
        "experiments/docs/questions.jsonl": ("experiments/docs/", "is the dataset of an experiment"),
        "notebooks/work.ipynb": ("notebooks/", "has the notebooks of Workbench"),
    }
    others = (
        "outputs/.indexes/x",
        "old/run/configurations.parquet",
        "experiments/docs/documents/a.md",
        "notebooks/label.ipynb",
        "env/a.md",
    )
    for name in (*marks, *others, "outputs/mine/report.html", "a.md", "documents/b.md", "old/c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    assert found(tmp_path) == dict(marks.values()) | {"a.md": "", "documents/b.md": "", "old/c.md": ""}


def test_folders_that_are_deeper_than_python_recurses_are_named_and_not_read(tmp_path: Path):
    folder = tmp_path.joinpath(*["d"] * DEEPEST)
    for name in ("a.md", "d/b.md"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("text")
    reasons = found(tmp_path)
    assert [name.replace("d/", "") for name, reason in reasons.items() if not reason] == ["a.md"]
    assert [reason for reason in reasons.values() if reason] == ["is below 200 folders; move it up"]
