"""Find the commit of the working directory without running anything that its repository configures.

A repository's configuration can name programs: `core.fsmonitor`, hooks, clean filters, a remote's transport. `git describe --dirty` runs
some of them. So git compares the files through a temporary repository that has the objects and a copy of the index but not the configuration.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 10
_INERT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Settings that decide whether two files are equal, and run nothing.
_PLAIN = "filemode|symlinks|ignorecase|autocrlf|eol|safecrlf|precomposeunicode|trustctime|checkstat"
_SETTING = re.compile(rf"core\.(?P<name>{_PLAIN}) (?P<value>\w+)")


def commit() -> str | None:
    """Return the working directory's commit, or None outside git."""
    answer = _git("rev-parse", "--verify", "HEAD")
    return answer.stdout.strip() if answer and answer.returncode == 0 else None


def marked_commit() -> str | None:
    """Return the commit, marked with `-dirty` unless all tracked files are known to equal it. None outside git.

    Uncommitted files inside a submodule do not count, and files with a clean filter of the repository count once they are rewritten.
    """
    head = commit()
    return head and (head if _unchanged(head) else f"{head}-dirty")


def _unchanged(head: str) -> bool:
    places = _git("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "objects", "--git-path", "index")
    if places is None or places.returncode:
        return False
    folder, objects, index = places.stdout.splitlines()
    if not Path(index).is_file():
        return False
    settings = _git("config", "--get-regexp", rf"^core\.({_PLAIN})$")
    lines = [f"\t{match['name']} = {match['value']}\n" for match in _SETTING.finditer(settings.stdout if settings else "")]
    with tempfile.TemporaryDirectory(prefix="workbench-git-") as bare:
        for name in ("objects", "refs"):
            Path(bare, name).mkdir()
        Path(bare, "HEAD").write_text(f"{head}\n")
        # A copy with its time, since git writes new times of files into the index that it compares.
        copied = shutil.copy2(index, Path(bare, "index"))
        Path(bare, "config").write_text("".join(["[core]\n\trepositoryformatversion = 0\n", *lines]))
        environment = {"GIT_DIR": bare, "GIT_WORK_TREE": folder, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": str(copied)}
        options = ["--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]
        compared = _git("diff", *options, head, "--", folder, environment=environment)
    return compared is not None and compared.returncode == 0


def _git(*arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str] | None":
    """Run git quietly, or return None if it is missing or takes too long."""
    command: Sequence[str] = ["git", "--no-pager", "--no-optional-locks", *_INERT, *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=os.environ | dict(environment or {})
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
