"""A copy of the sample project, in which pytest runs with the plugin."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "sample_project"
# By its module, also where the package was installed before it had an entry point. The entry point would register it a second time.
PLUGIN = ("-p", "workbench.pytest_plugin", "-p", "no:rag-workbench", "-p", "no:randomly")
GATE = ("--rag-experiment", "experiments/gate.yaml")


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project with a store, so that most sweeps read their results from it."""
    folder = tmp_path_factory.mktemp("sample") / "project"
    shutil.copytree(SAMPLE, folder)
    return folder


@pytest.fixture
def project(swept: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample project as working directory, with the files of a test's own."""
    for place in swept.iterdir():
        if place.name != "outputs":
            (pytester.path / place.name).symlink_to(place)
    (swept / "outputs" / ".store").mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("WORKBENCH_STORE", str(swept / "outputs" / ".store"))
    return pytester.path


@pytest.fixture
def run(project: Path, pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run pytest in a process of its own, since extension modules cannot be imported again, without the project's own tests unless they are named."""

    def call(*args: str) -> pytest.RunResult:
        assert Path.cwd() == project
        return pytester.runpytest_subprocess(*PLUGIN, "--ignore=tests", *args)

    return call
