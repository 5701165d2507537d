"""One test for each option, with the exit code."""

from pathlib import Path

import pytest

from tests.pytest_plugin.conftest import GATE, Run

UNDECIDED = "--rag-set=pipeline.chunking.size=8"
RECALL = "experiments/gate.yaml::recall@3 against baselines/gate.json"
WORSE = "--rag-set=pipeline.chunking.size=12"


def test_an_experiment_has_a_test_for_each_rule(run: Run) -> None:
    result = run(*GATE, "-v")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "experiments/gate.yaml::recall@3 >= 0.9 PASSED*",
            "experiments/gate.yaml::mrr@5[[]type=sowing[]] >= 0.6 PASSED*",
            "experiments/gate.yaml::recall@3 against baselines/gate.json PASSED*",
            "experiments/gate.yaml::span_recall@3 against baselines/gate.json PASSED*",
        ]
    )
    result.assert_outcomes(passed=4)


def test_without_an_experiment_nothing_is_collected(run: Run) -> None:
    result = run()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.no_fnmatch_line("*RAG test suite*")


@pytest.mark.parametrize("rules", ["", "gate: {rules: []}\n"])
def test_an_experiment_without_rules_has_a_table_that_says_so(run: Run, project: Path, rules: str) -> None:
    """After its rules were deleted, pytest passed as before."""
    text = (project / "experiments" / "gate.yaml").read_text("utf-8")
    (project / "open.yaml").write_text(text.partition("gate:")[0].replace("name: gate", "name: open") + rules, "utf-8")
    (project / "test_own.py").write_text("def test_own(): pass\n", "utf-8")
    result = run("--rag-experiment", "open.yaml", "test_own.py")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*RAG test suite*", "faithfulness*not in the gate; add rules:*"])


@pytest.mark.slow
def test_collection_sweeps_nothing(run: Run, project: Path) -> None:
    result = run(*GATE, "--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*recall@3 >= 0.9", "*4 tests collected*"])
    assert not (project / "outputs" / "gate").exists()


@pytest.mark.slow
def test_a_test_is_run_alone_by_its_name(run: Run) -> None:
    result = run(*GATE, "experiments/gate.yaml::mrr@5[type=sowing] >= 0.6")
    result.assert_outcomes(passed=1)


def test_the_marker_selects_the_rules(run: Run) -> None:
    result = run(*GATE, "-m", "not rag")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.assert_outcomes(deselected=4)


def test_a_changed_value_that_breaks_evidence_fails_with_the_questions(run: Run) -> None:
    result = run(*GATE, WORSE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "FAIL*span_recall@3 not below baselines/gate.json by more than 5%*",
            "*What broke: *questions lost evidence, or a part of it*",
            "onions-2 *onions:45-76 *1 → 4 *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.slow
def test_a_floor_that_fails_lists_the_lowest_questions(run: Run) -> None:
    result = run(*GATE, UNDECIDED, "--rag-set=gate.rules=[mrr@5 >= 1]", "-k", "mrr")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["fail: mrr@5 >= 1: 0.* on these 40 questions", "  0.*  *"])


def test_an_undecided_rule_fails(run: Run) -> None:
    result = run(*GATE, UNDECIDED, RECALL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["undecided*recall@3 not below baselines/gate.json*", "other rules * 1 * –*"])


@pytest.mark.slow
def test_an_undecided_rule_warns_on_request(run: Run) -> None:
    result = run(*GATE, UNDECIDED, RECALL, "--rag-warn-undecided")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*UndecidedWarning: undecided*recall@3*"])


@pytest.mark.slow
def test_a_failing_rule_fails_with_warn_undecided_too(run: Run) -> None:
    assert run(*GATE, WORSE, "--rag-warn-undecided").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.slow
def test_outputs_are_written_where_they_should_be(run: Run, project: Path) -> None:
    assert run(*GATE, "--rag-outputs", "elsewhere").ret == pytest.ExitCode.OK
    assert (project / "elsewhere" / "gate" / "report.html").is_file()
    assert not (project / "outputs").exists()


@pytest.mark.slow
def test_a_configuration_is_chosen(run: Run) -> None:
    several = "--rag-set=sweep.chunking=[{kind: fixed, size: [64, 8]}]"
    unnamed = run(*GATE, several)
    unnamed.assert_outcomes(errors=4)
    unnamed.stdout.fnmatch_lines(["the run gate has 2 configurations; name one with --configuration: *fixed-64-0* and *fixed-8-0*"])
    assert run(*GATE, several, "--rag-configuration", "fixed-64-0-bm25-k5").ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_an_unknown_configuration_is_an_error(run: Run) -> None:
    result = run(*GATE, "--rag-configuration", "fixed-65-0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*no configuration 'fixed-65-0'*fixed-64-0*"])


@pytest.mark.slow
def test_a_plain_baseline_replaces_that_of_the_experiment(run: Run, project: Path) -> None:
    (project / "plain.json").write_text('{"recall@3": 0.9, "span_recall@3": 0.8}')
    result = run(*GATE, "--rag-baseline", "plain.json", "-v")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*::recall@3 against plain.json PASSED*"])


@pytest.mark.slow
def test_a_broken_baseline_is_an_error_of_one_line(run: Run, project: Path) -> None:
    (project / "plain.json").write_text("{")
    result = run(*GATE, "--rag-baseline", "plain.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*the baseline plain.json is not JSON*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*another exception*")


@pytest.mark.slow
def test_code_runs_only_on_request(run: Run, project: Path) -> None:
    (project / "own_chunker.py").write_text("def split(text):\n    return [text]\n")
    code = "--rag-set=pipeline.chunking={kind: callable, callable: 'own_chunker:split'}"
    refused = run(*GATE, code, "-k", "0.9")
    refused.assert_outcomes(errors=1, deselected=3)
    refused.stdout.fnmatch_lines(["*own_chunker:split*allow*code*"])
    assert run(*GATE, code, "-k", "0.9", "--rag-allow-code").ret == pytest.ExitCode.OK
