"""Commands that read a run: it is given by its folder, or by its name in the outputs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import workbench
from workbench.runner.execution.local import Outcome
from workbench.runner.execution.outputs import publish

READERS = [("checklist",), ("gate",), ("export", "--configuration", "none"), ("judge", "sample"), ("judge", "calibrate"), ("report",)]


@pytest.fixture(autouse=True)
def outputs(run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the runs `tiny` and `small`."""
    tables = publish(run(name="tiny"), lambda _: None).tables
    for name in ("tiny", "small"):
        folder = tmp_path / "outputs" / name
        folder.mkdir(parents=True)
        tables.write(folder)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_run_is_found_by_its_name_as_by_its_folder(command: tuple[str, ...]) -> None:
    by_name, by_folder = (workbench(*command, run) for run in ("tiny", "outputs/tiny"))
    assert (by_name.returncode, by_name.stdout, by_name.stderr) == (by_folder.returncode, by_folder.stdout, by_folder.stderr)
    assert "outputs/tiny does not exist" not in by_name.stderr


@pytest.mark.parametrize("command", [*READERS, ("lab",)], ids=" ".join)
def test_the_error_of_a_run_that_does_not_exist_lists_those_that_do(command: tuple[str, ...]) -> None:
    done = workbench(*command, "tinny")
    assert done.returncode == 2
    assert "outputs/tinny does not exist (did you mean 'tiny'?); the runs in outputs are small, tiny" in done.stderr
    assert done.stderr.count("\n") == 1
