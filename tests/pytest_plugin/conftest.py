"""A copy of the sample project, in which pytest runs with the plugin."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.shared import shared_folder

SAMPLE = Path(__file__).parents[1] / "sample_project"
GATE = ("--rag-experiment", "experiments/gate.yaml")
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample project as working directory, with a store that all tests share."""
    for place in SAMPLE.iterdir():
        (tmp_path / place.name).symlink_to(place)
    monkeypatch.setenv("WORKBENCH_STORE", str(shared_folder(tmp_path_factory, "sample_store")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project: Path) -> Run:
    """Run pytest in a forked process, with no other plugin, and without the project's own tests unless they are named."""

    def call(*args: str) -> pytest.RunResult:
        own = [] if "tests" in args else ["--ignore=tests"]
        # The process has imported Workbench, which the plugin's registration would rewrite.
        options = [
            "-p",
            "workbench.pytest_plugin",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            f"--basetemp={project / 'temporary'}",
        ]
        with contextlib.closing(Forked(main_of_pytest, *options, *own, *args, cwd=project)) as process:
            out, err = process.communicate()
        return pytest.RunResult(process.wait(), out.splitlines(), err.splitlines(), 0)

    return call


def main_of_pytest(*args: str) -> None:
    """Do what `python -m pytest` does in an environment without other plugins."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, "")
    sys.exit(pytest.main([*args]))
