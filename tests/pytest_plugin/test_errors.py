"""Wrong input is an error of one line."""

from pathlib import Path

import pytest

from tests.pytest_plugin.conftest import GATE, Run


def test_a_faulty_experiment_interrupts_the_session_with_every_fault(run: Run) -> None:
    result = run(*GATE, "--rag-set=gate.rules=[recal@3 >= 0.9]", "--rag-set=metrics=[reccall@3]")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines_random(
        ["experiments/gate.yaml: gate: there is no metric 'recal@3'*recall@3*", "experiments/gate.yaml: *reccall@3*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_an_experiment_that_does_not_exist_is_a_wrong_option(run: Run) -> None:
    result = run("--rag-experiment", "experiments/gat.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: file or directory not found: experiments/gat.yaml"])


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("ndcg@10 >= 0.5", "*has no metric ndcg@10*"),
        ("recall@3[[]type=sewing[]] >= 0.5", "*no slice type=sewing*type=sowing*"),
        ("recall@3 >= 1.5", "*cannot be met*"),
    ],
)
def test_a_rule_that_cannot_be_checked_is_an_error(run: Run, rule: str, line: str) -> None:
    result = run(*GATE, f"--rag-set=gate.rules=['{rule.replace('[[]', '[').replace('[]]', ']')}']", "-k", "0.5 or 1.5")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=1, deselected=2)
    result.stdout.fnmatch_lines([line])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_dataset_that_is_missing_is_an_error_of_every_test(run: Run) -> None:
    result = run(*GATE, "--rag-set=dataset.path=hanbook")
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(["the dataset hanbook does not exist*did you mean handbook?"])


def test_a_fixture_without_an_experiment_names_the_option(run: Run, project: Path) -> None:
    (project / "test_own.py").write_text("def test_it(rag_results): pass")
    result = run("test_own.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["there is no experiment; run pytest --rag-experiment*"])


def test_a_rule_that_cannot_be_checked_leaves_the_others_alone(run: Run) -> None:
    result = run(*GATE, "--rag-set=gate.rules=['recall@3 >= 0.9', 'ndcg@10 >= 0.5']")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*has no metric ndcg@10*"])
