"""The commit of a repository, also of one whose configuration names programs to run."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.report.results.run_manifest import commit, marked_commit

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit as the working directory, and a function that runs git in it."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q")
    Path("kept.txt").write_text("kept\n")
    Path("part").mkdir()
    Path("part", "prompt.txt").write_text("Answer the question.\n")
    run("add", ".")
    run("commit", "-qm", "first")
    return run


def test_a_change_of_a_tracked_file_marks_the_commit_and_another_file_does_not(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git("rev-parse", "HEAD")
    prompt = Path("part", "prompt.txt").resolve()
    assert (commit(), marked_commit()) == (head, head)
    Path("new.txt").write_text("new")
    prompt.touch()
    assert marked_commit() == head
    for place in (".", "part"):
        monkeypatch.chdir(prompt.parents[1] / place)
        content = prompt.read_text()
        prompt.write_text("Answer.\n")
        assert (commit(), marked_commit()) == (head, f"{head}-dirty")
        prompt.write_text(content)
        assert marked_commit() == head
    git("rm", "--cached", "-q", "prompt.txt")
    assert marked_commit() == f"{head}-dirty"


def test_settings_that_decide_what_is_equal_are_kept(git: Git) -> None:
    Path("kept.txt").chmod(0o755)
    assert str(marked_commit()).endswith("-dirty")
    git("config", "core.fileMode", "false")
    assert marked_commit() == git("rev-parse", "HEAD")


def test_a_worktree_and_a_repository_without_a_commit_are_understood(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "-q", "beside")
    monkeypatch.chdir("beside")
    assert marked_commit() == git("rev-parse", "HEAD")
    Path("kept.txt").write_text("changed\n")
    assert marked_commit() == git("rev-parse", "HEAD") + "-dirty"
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "empty")
    monkeypatch.chdir("empty")
    assert (commit(), marked_commit()) == (None, None)


def test_no_program_that_the_repository_names_is_run(git: Git, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / ".git" / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {ran}\ncat\n')
    program.chmod(0o755)
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        (tmp_path / ".git" / "hooks" / name).write_bytes(program.read_bytes())
        (tmp_path / ".git" / "hooks" / name).chmod(0o755)
    Path(".gitattributes").write_text("* filter=planted diff=planted\n")
    git("add", ".")
    git("commit", "-qm", "attributes")
    ran.unlink(missing_ok=True)
    for key in ("core.fsmonitor", "filter.planted.clean", "filter.planted.process", "diff.external", "diff.planted.textconv", "core.pager"):
        git("config", key, str(program))
    git("config", "core.hooksPath", str(tmp_path / ".git" / "hooks"))
    (tmp_path / "kept.txt").touch()
    assert marked_commit() == commit() is not None
    Path("kept.txt").write_text("changed\n")
    assert str(marked_commit()).endswith("-dirty")
    assert not ran.exists(), ran.read_text()
    # The programs are ones that the former command runs.
    subprocess.run(["git", "--no-optional-locks", "describe", "--always", "--dirty"], capture_output=True, timeout=10, check=False)
    assert ran.exists()


def test_no_program_that_the_user_has_set_up_is_run_and_the_index_stays(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, program, settings = (tmp_path / ".git" / name for name in ("ran", "program", "global"))
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {ran}\ncat "$1"\n')
    program.chmod(0o755)
    Path(".gitattributes").write_text("* diff=planted\n")
    git("add", ".")
    git("commit", "-qm", "attributes")
    sections = f'[core]\n\tfsmonitor = "{program}"\n[diff "planted"]\n\ttextconv = "{program}"\n\tcommand = "{program}"\n'
    settings.write_text(sections)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    # Git would write the new time into the index.
    os.utime("kept.txt", (1, 1))
    index = (tmp_path / ".git" / "index").read_bytes()
    assert marked_commit() == commit() is not None
    Path("kept.txt").write_text("changed\n")
    assert str(marked_commit()).endswith("-dirty")
    assert not ran.exists(), ran.read_text()
    assert (tmp_path / ".git" / "index").read_bytes() == index
    subprocess.run(["git", "diff"], capture_output=True, check=False)
    assert ran.exists()
