"""`workbench judge test` says what the judges of an experiment may be called."""

from pathlib import Path

from click.testing import CliRunner

from workbench.cli.main import main

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
    assert f"```text\n{output}```" in Path("docs/how-to/test_a_judge.md").read_text("utf-8")


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
