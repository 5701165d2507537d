"""`workbench judge test` says what the judges of an experiment may be called."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from click.testing import CliRunner

from workbench.cli.main import main
from workbench.components.judging.base import Task
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.registry import JUDGES

OVERLAP = "support            overlap  score          0.61   0.64   0.76           –         13      83      0"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["judge", "test", *arguments])
    return result.exit_code, result.output


def test_overlap_is_a_score_and_the_exit_code_says_so(tmp_path: Path) -> None:
    code, output = run("--kind", "overlap", "--outputs", str(tmp_path))
    assert code == 1
    lines = output.splitlines()
    assert lines[0].split("  ")[0] == "task"
    assert OVERLAP in lines
    assert "correctness: `overlap` is a score, not a judge" in lines
    assert any(line.startswith("support: weak in ") and "negation" in line for line in lines)
    assert list((tmp_path / ".store" / "self_tests").glob("*/trust.json"))
    assert run("--kind", "overlap", "--outputs", str(tmp_path)) == (code, output)
    assert f"```text\n{output}```" in Path("docs/how-to/judge_answers.md").read_text("utf-8")


def test_the_judges_of_an_experiment_are_tested(tmp_path: Path) -> None:
    code, output = run("experiments/quickstart.yaml", "--outputs", str(tmp_path))
    assert code == 1
    assert OVERLAP in output.splitlines()


def test_what_to_test_must_be_named(tmp_path: Path) -> None:
    code, output = run("--outputs", str(tmp_path))
    assert code == 2
    assert "judge test needs either an experiment or --kind" in output
    code, output = run("--kind", "jury", "--outputs", str(tmp_path))
    assert code == 2
    assert "there is no judge 'jury'; kinds are overlap, " in output


def test_an_experiment_without_judges_is_an_error(tmp_path: Path) -> None:
    code, output = run(
        "experiments/quickstart.yaml", "--set", "judging=none", "--set", "metrics=[span_recall@2000t]", "--outputs", str(tmp_path)
    )
    assert code == 2
    assert "experiments/quickstart.yaml has no judges" in output


class NamingJudge(OverlapJudge):
    """The judge of a package, whose settings name a function, which its identity imports."""

    identified: ClassVar[list[Task]] = []
    kind: Literal["naming"] = "naming"

    @property
    def named_code(self) -> tuple[str, ...]:
        return ("os:system",)

    def identity(self, task: Task) -> dict[str, Any]:
        self.identified.append(task)
        return super().identity(task)


@pytest.mark.parametrize("command", [["judge", "test"], ["sweep"], ["plan"]])
def test_the_function_that_a_judge_names_is_imported_with_permission_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setitem(JUDGES.defined, "naming", NamingJudge)
    naming = ["experiments/quickstart.yaml", "--set", "judging.support={kind: naming}", "--outputs", str(tmp_path)]
    done = CliRunner().invoke(main, [*command, *naming])
    assert done.exit_code == (0 if command == ["plan"] else 2)
    assert "the experiment runs code: os:system; add --allow-code" in done.output
    assert NamingJudge.identified == []
