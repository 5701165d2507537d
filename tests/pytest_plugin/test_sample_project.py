"""The sample project: its suites by the plugin, and the same rules by `workbench gate`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import workbench
from tests.pytest_plugin.conftest import GATE, SAMPLE, Run
from workbench.core.errors import InputError
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment
from workbench.testing.suite.rag_suite import RagSuite, SuiteOptions

SUITE = ("--rag-experiment", "experiments/suite.yaml")
# Counts the sweeps of all processes.
SWEEPS = """
from workbench.testing.suite.rag_suite import RagSuite
sweep = RagSuite._sweep
def counted(self):
    with open("sweeps.txt", "a") as file:
        file.write("sweep\\n")
    return sweep(self)
RagSuite._sweep = counted
"""


def test_the_five_tests_and_the_projects_own_run_from_one_file_and_print_one_table(run: Run) -> None:
    result = run(*SUITE, "tests")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=6 + 4)
    result.stdout.fnmatch_lines(
        [
            "test * passed  failed  undecided  error",
            "faithfulness * 1 *",
            "context precision * 1 *",
            "negative * 2 *",
            "retrieval unit * 1 *",
            "stale data * 1 *",
        ]
    )


@pytest.mark.slow
def test_an_old_page_beside_the_new_one_is_stale_data(run: Run, project: Path) -> None:
    (project / "handbook").unlink()
    shutil.copytree(SAMPLE / "handbook", project / "handbook")
    shutil.copy(SAMPLE / "handbook" / "earlier" / "beans.md", project / "handbook" / "documents" / "beans-2024.md")
    result = run(*SUITE, "-k", "stale")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["fail: no stale data (handbook): *beans*", "stale data * 1 *"])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ([], 0),
        (["pipeline.chunking.size=12"], 1),
        (["pipeline.chunking.size=8", "gate.compare=[recall@3]"], 4),
        (["gate.rules=[ndcg@10 >= 0.5]"], 2),
        (["gate.rules=[mrr@5 >= 1]", "gate.baseline=gone.json"], 2),
    ],
    ids=["pass", "fail", "undecided", "unknown metric", "no baseline"],
)
@pytest.mark.usefixtures("project")
def test_the_command_exits_with(change: list[str], code: int) -> None:
    spec = read_experiment(Path("experiments/gate.yaml"), change)
    write_outputs(run_experiment(spec, Path("outputs"), lambda _: None))
    assert workbench("gate", "outputs/gate").returncode == code


@pytest.mark.slow
def test_the_processes_of_xdist_sweep_once(project: Path) -> None:
    """By the program and the entry point, beside all plugins of this environment."""
    (project / "sweeps.py").write_text(SWEEPS)
    command = [sys.executable, "-m", "pytest", "-p", "sweeps", "-p", "no:langsmith_plugin", "--ignore=tests", *GATE, "-n2", "--dist=each"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    result = pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0)
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=8)
    assert (project / "sweeps.txt").read_text() == "sweep\n"
    result.stdout.fnmatch_lines(["*RAG test suite*", "other rules * 8 *"])


@pytest.mark.usefixtures("project")
def test_the_processes_of_a_session_raise_the_error_of_the_one_that_sweeps() -> None:
    options = SuiteOptions(Path("experiments/gate.yaml"), Path("outputs"), ("dataset.path=gone",), None, None, False, False, session="one")
    for _ in range(2):
        with pytest.raises(InputError, match="the dataset gone does not exist"):
            RagSuite(options).gate  # noqa: B018  # sweeps
        # The next process finds the error, not the dataset.
        Path("gone").mkdir(exist_ok=True)
