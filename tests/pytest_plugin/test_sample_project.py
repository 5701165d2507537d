"""The sample project: its suites by the plugin, and the same rules by `workbench gate`."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pytest_plugin.conftest import GATE, PLUGIN

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
COMMAND = """
import sys
from pathlib import Path
from workbench.cli.main import run
from workbench.execution.local import run_experiment
from workbench.execution.outputs import write_outputs
from workbench.experiment.read import read_experiment
spec = read_experiment(Path("experiments/gate.yaml"), sys.argv[1:])
write_outputs(run_experiment(spec, Path("outputs"), lambda _: None))
sys.argv = ["workbench", "gate", "outputs/gate"]
run()
"""
SUITE = ("--rag-experiment", "experiments/suite.yaml")


def test_the_five_tests_run_from_one_file_and_print_one_table(run: Run) -> None:
    result = run(*SUITE)
    assert result.ret == pytest.ExitCode.OK
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


@pytest.mark.usefixtures("project")
def test_its_own_tests_use_the_fixtures(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*PLUGIN, *SUITE, "tests", "-m", "not rag")
    result.assert_outcomes(passed=4, deselected=6)


def test_an_old_page_beside_the_new_one_is_stale_data(run: Run, swept: Path, project: Path) -> None:
    (project / "handbook").unlink()
    shutil.copytree(swept / "handbook", project / "handbook")
    shutil.copy(swept / "handbook" / "earlier" / "beans.md", project / "handbook" / "documents" / "beans-2024.md")
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
def test_the_command_exits_with(pytester: pytest.Pytester, change: list[str], code: int) -> None:
    # In a process of its own: pytester forgets what is imported in a test, and extension modules cannot be imported twice.
    assert pytester.run(sys.executable, "-c", COMMAND, *change).ret == code


def test_the_processes_of_xdist_sweep_once(pytester: pytest.Pytester, project: Path) -> None:
    pytester.makepyfile(
        sweeps="""
        from pathlib import Path
        from workbench.suite.rag_suite import RagSuite
        sweep = RagSuite._sweep
        def counted(self):
            with open("sweeps.txt", "a") as file:
                file.write("sweep\\n")
            return sweep(self)
        RagSuite._sweep = counted
        """
    )
    pytester.syspathinsert()
    result = pytester.runpytest_subprocess(*PLUGIN, "-p", "sweeps", "--ignore=tests", *GATE, "-n", "2", "--dist", "each")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=8)
    assert (project / "sweeps.txt").read_text() == "sweep\n"
    result.stdout.fnmatch_lines(["*RAG test suite*", "other rules * 8 *"])


@pytest.mark.usefixtures("project")
def test_the_processes_of_xdist_report_the_error_of_the_one_that_sweeps(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*PLUGIN, "--ignore=tests", *GATE, "--rag-set=dataset.path=gone", "-n", "2", "--dist", "each")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=8)
