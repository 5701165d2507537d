"""The command `gate`: options, exit codes and files."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner

from tests.gated_runs import BASE, PRIMARY, as_random
from workbench.cli.main import main
from workbench.report.results.run_tables import RunTables


@pytest.fixture
def folder(gated_run: RunTables, tmp_path: Path) -> Path:
    place = tmp_path / "gated"
    place.mkdir()
    gated_run.write(place)
    return place


def gate(*words: object, code: int = 0, env: Mapping[str, str | None] | None = None) -> str:
    clean = {"GITHUB_STEP_SUMMARY": None, "GITHUB_ACTIONS": None}
    done = CliRunner().invoke(main, ["gate", *map(str, words)], env={**clean, **(env or {})})
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def baseline(folder: Path, names: dict[str, str]) -> Path:
    path = folder.parent / "baselines" / "gated.json"
    shown = gate(folder, "--configuration", names["base"], "--update-baseline", path)
    assert "120 questions" in shown
    assert "commit it, so that its changes are reviewed" in shown
    return path


def test_limits_pass_and_fail(folder, names):
    chosen = ("--configuration", names["base"])
    shown = gate(folder, *chosen, "--fail-below", f"{PRIMARY}=0.5", "--fail-above", "irrelevant@3=100%")
    assert shown.splitlines()[0] == f"gated, {names['base']}: pass (2 rules: 2 pass)"
    shown = gate(folder, *chosen, "--fail-below", f"{PRIMARY}[kind=odd]=0.99", "--rule", f"{PRIMARY} >= 0.5", code=1)
    assert shown.splitlines()[1].startswith(f"FAIL       {PRIMARY}[kind=odd] >= 0.99: ")


def test_the_exit_code_says_pass_fail_undecided_or_wrong_input(folder, names, baseline):
    def against(name: str, *words: str, code: int) -> str:
        return gate(folder, "--configuration", names[name], "--baseline", baseline, *words, code=code)

    assert "identical on 120 questions" in against("base", code=0)
    assert "FAIL" in against("worse", code=1)
    assert "undecided" in against("noisy", code=4)
    assert "undecided" in against("noisy", "--warn-undecided", code=0)
    assert "FAIL" in against("worse", "--warn-undecided", code=1)
    assert "have no value" in against("many", code=2)
    assert "against the direction" in gate(folder, "--fail-above", f"{PRIMARY}=0.5", code=2)


def test_a_drop_does_not_pass_unseen_because_another_metric_is_compared(folder, names, baseline, tmp_path):
    """After an edit of `primary`, the metric that fell was compared no more."""
    chosen = ("--configuration", names["worse"])
    gate(folder, *chosen, "--baseline", baseline, code=1)
    manifest = json.loads((folder / "manifest.json").read_text())
    (other,) = [name for name in manifest["metrics"] if name != PRIMARY][:1]
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    (folder / "manifest.json").write_text(json.dumps(manifest | {"primary": other}))
    for place in (baseline, before):
        shown = gate(folder, *chosen, "--baseline", place, code=2)
        assert f"was written to compare {PRIMARY}, and this gate compares {other}; " in shown
    shown = CliRunner().invoke(main, ["gate", *map(str, (folder, *chosen, "--baseline", baseline, "--accept-change"))])
    assert "was written to compare" not in shown.output
    gate(folder, *chosen, "--baseline", baseline, "--compare", PRIMARY, code=1)


def test_every_output_names_the_commit_that_was_checked_and_another_checkout(folder, names, tmp_path, monkeypatch):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"commit": "1" * 40}))
    words = (
        folder,
        "--configuration",
        names["base"],
        "--fail-below",
        f"{PRIMARY}=0.5",
        "--junit",
        tmp_path / "gate.xml",
        "--summary",
        tmp_path / "gate.md",
    )
    places = [tmp_path / "gate.xml", tmp_path / "gate.md", folder / "gate.json"]
    monkeypatch.chdir(tmp_path)
    for text in (gate(*words), *(place.read_text("utf-8") for place in places)):
        assert "1" * 40 in text
        assert "this checkout is at" not in text
    for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *command], check=True)
    assert f", and the run is of {'1' * 40}: sweep again" in gate(*words)


def test_no_error_of_the_report_contradicts_an_outcome_that_is_printed(folder, names, tmp_path):
    """The outcome was printed first, then the report could not be written, and the command exited with 3."""
    (folder / "report.html").write_text("before")
    (folder / "evidence.parquet").write_bytes(b"PAR1")
    words = ("--configuration", names["base"], "--fail-below", f"{PRIMARY}=0.5", "--report", "--junit", tmp_path / "gate.xml")
    shown = gate(folder, *words).splitlines()
    assert shown[0].startswith(f"workbench: the outcome is not in {folder}: ")
    assert shown[1].startswith(f"gated, {names['base']}: pass ")
    assert json.loads((folder / "gate.json").read_text())["exit_code"] == 0
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "0"


def test_an_outcome_is_not_left_behind_by_a_gate_that_breaks(folder, names):
    rule = ("--configuration", names["base"], "--fail-below", f"{PRIMARY}=0.5")
    gate(folder, *rule)
    questions = pd.read_parquet(folder / "questions.parquet")
    questions.assign(metadata="{").to_parquet(folder / "questions.parquet", index=False)
    shown = CliRunner().invoke(main, ["gate", *map(str, (folder, *rule))], env={"GITHUB_STEP_SUMMARY": None, "GITHUB_ACTIONS": None})
    assert shown.exit_code in (2, 3)
    assert "pass" not in shown.output
    left = json.loads((folder / "gate.json").read_text())
    assert (left["outcome"], left["exit_code"]) == ("error", shown.exit_code)


def test_a_run_is_not_its_own_baseline(folder, names):
    for option in ("--baseline", "--release"):
        shown = gate(folder, "--configuration", names["base"], option, folder, code=2)
        assert f"{option} {folder} is the run itself" in shown


@pytest.mark.slow
def test_the_outcome_is_in_the_folder_and_in_the_report(folder, names, baseline, gated_run):
    (folder / "report.html").write_text("before")
    gate(folder, "--configuration", names["worse"], "--baseline", baseline, code=1)
    assert (folder / "report.html").read_text() == "before"
    gate(folder, "--configuration", names["worse"], "--baseline", baseline, "--report", code=1)
    run = RunTables.read(folder)
    row = run.table("gate").iloc[0]
    assert (row["configuration"], row["kind"], row["outcome"]) == (names["worse"], "baseline", "fail")
    assert row["reference"] == pytest.approx(BASE.mean())
    assert run.table("gate")["kind"].tolist() == ["baseline", "note"]
    found = json.loads((folder / "gate.json").read_text())
    assert (found["outcome"], found["exit_code"], found["rules"][0]["p"]) == ("fail", 1, pytest.approx(row["p"]))
    page = (folder / "report.html").read_text("utf-8")
    assert "Does it pass the gate?" in page
    # At the top, before what the configurations are worth, and in its own section.
    opening = page[page.index("<h1") : page.index("<nav")]
    sentence = f"The gate of {names['worse']} fails. 1 rule: 1 fail."
    shown, of_all = (BeautifulSoup(html, "html.parser").get_text() for html in (opening, page))
    assert sentence in shown
    assert "The gate of fixed 32 fails. 1 rule: 1 fail." in " ".join(of_all.split())
    # The results are those of the sweep.
    pd.testing.assert_frame_equal(run.metrics, gated_run.metrics)


def test_a_folder_that_cannot_be_written_changes_no_exit_code(folder, names, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    (folder / "gate.parquet").mkdir()
    words = (
        "--configuration",
        names["base"],
        "--fail-below",
        f"{PRIMARY}=0.5",
        "--summary",
        blocked / "x.md",
        "--junit",
        blocked / "x.xml",
    )
    shown = gate(folder, *words)
    assert shown.count("workbench: the outcome is not in ") == 3


def test_a_summary_is_appended_and_junit_xml_is_replaced(folder, names, baseline, tmp_path):
    summary, junit = tmp_path / "summary.md", tmp_path / "new" / "gate.xml"
    summary.write_text("before\n")
    for _ in range(2):
        gate(folder, "--configuration", names["noisy"], "--baseline", baseline, "--junit", junit, "--summary", summary, code=4)
    assert summary.read_text("utf-8").startswith("before\n### ⚠️")
    assert summary.read_text("utf-8").count("| ⚠️ undecided |") == 2
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("1", "1", "0")
    gate(folder, "--configuration", names["noisy"], "--baseline", baseline, "--junit", junit, "--warn-undecided")
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("failures"), suites.get("skipped")) == ("0", "1")


def test_github_gets_a_step_summary_and_annotations(folder, names, tmp_path):
    summary = tmp_path / "step.md"
    words = (folder, "--configuration", names["base"], "--fail-below", f"{PRIMARY}=0.99")
    shown = gate(*words, code=1, env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    assert f"::error title=fail%3A {PRIMARY} >= 0.99::" in shown
    # Commands are stopped while lines of the data are printed.
    first, *lines = shown.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert lines.index(f"::{token}::") < min(place for place, line in enumerate(lines) if line.startswith("::error"))
    assert "❌ fail" in summary.read_text("utf-8")
    assert "::error" not in gate(*words, "--no-annotations", code=1, env={"GITHUB_ACTIONS": "true"})
    assert "::error" not in gate(*words, code=1)
    assert "::error" in gate(*words, "--annotations", code=1)


def test_the_options_are_added_to_the_rules_of_a_file(folder, names, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"gate:\n  configuration: {names['base']}\n  rules: ['{PRIMARY} >= 0.5']\n")
    assert "2 rules: 2 pass" in gate(folder, "--rules", rules, "--rule", "irrelevant@3 <= 1")
    assert gate(folder, "--rules", rules, "--configuration", names["worse"]).startswith(f"gated, {names['worse']}")
    rules.write_text("gate: {rules: 5}\n")
    assert "gate rules" in gate(folder, "--rules", rules, code=2)
    assert "does not exist" in gate(folder, "--rules", tmp_path / "no.yaml", code=2)


def test_the_rules_of_the_run_are_its_own(gated_run, names, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    gated_run.write(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["experiment"]["gate"] = {"configuration": names["base"], "rules": [f"{PRIMARY} >= 0.99"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert f"{PRIMARY} >= 0.99" in gate(folder, code=1)


def test_wrong_input_is_one_line(folder, wording):
    def line_of(words):
        (line,) = gate(folder, *words.split(), code=2).splitlines()
        return line

    cases = [
        [],
        ["--fail-below", "recall@3=0.1"],
        ["--fail-below", "recall@3"],
        ["--fail-below", "recall@3=nan"],
        ["--fail-below", "recall@3=0.1", "--run", "other"],
        ["--again", "other"],
        ["--baseline", "nowhere.json", "--tolerance", "0%"],
        ["--max-unscored", "2"],
    ]
    wording(line_of, [" ".join(words) for words in cases], None)


def test_the_first_run_is_not_a_second_one(folder, names, baseline):
    words = ("--configuration", names["base"], "--baseline", baseline)
    assert "is the first run; sweep again" in gate(folder, *words, "--again", folder, "--baseline-again", folder, code=2)


def test_an_alarm_says_how_to_run_both_sides_again(gated_run, names, baseline, tmp_path):
    folder = tmp_path / "random"
    folder.mkdir()
    as_random(gated_run).write(folder)
    shown = gate(folder, "--configuration", names["worse"], "--baseline", baseline, code=4)
    assert "workbench sweep EXPERIMENT --outputs AGAIN " in shown
    assert "--again AGAIN/gated --baseline-again BASE_AGAIN/gated" in shown


@pytest.mark.slow
def test_a_random_run_becomes_a_baseline_only_with_three_runs(gated_run, names, tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
        random = as_random(gated_run)
        times = random.timings.assign(value=random.timings["value"] + folders.index(folder))
        replace(random, sources={**random.sources, "timings": lambda _, times=times: times}).write(folder)
    words = (folders[0], "--configuration", names["base"], "--update-baseline", tmp_path / "baseline.json")
    assert "1 run would give its luck to every comparison" in gate(*words, code=2)
    assert "3 runs" in gate(*words, "--run", folders[1], "--run", folders[2])


def test_a_gate_that_cannot_be_checked_replaces_the_last_outcome_everywhere(folder, names, tmp_path):
    chosen = ("--configuration", names["base"], "--fail-below")
    gate(folder, *chosen, f"{PRIMARY}=0.5")
    assert len(RunTables.read(folder).table("gate")) == 1
    junit, summary = tmp_path / "gate.xml", tmp_path / "new" / "summary.md"
    shown = gate(folder, *chosen, "ndcg@77=0.5", "--junit", junit, "--summary", summary, code=2, env={"GITHUB_ACTIONS": "true"})
    assert "::error title=the gate could not be checked::" in shown
    assert "ndcg@77" in summary.read_text("utf-8")
    (suite,) = ElementTree.parse(junit).getroot()
    assert (suite.get("errors"), suite[0][0].tag) == ("1", "error")
    content = json.loads((folder / "gate.json").read_text("utf-8"))
    assert (content["outcome"], content["exit_code"]) == ("error", 2)
    assert RunTables.read(folder).table("gate").empty


def test_a_baseline_is_written_to_a_file_only(folder, names, tmp_path):
    shown = gate(folder, "--configuration", names["base"], "--update-baseline", tmp_path, code=2)
    assert f"--update-baseline {tmp_path} is not a file" in shown


def test_a_file_is_not_the_folder_of_a_run(baseline):
    assert "is a file, not the folder of a run" in gate(baseline, "--fail-below", "recall@3=0.1", code=2)


@pytest.mark.parametrize(("limit", "code"), [(0.5, 0), (0.99, 1)])
def test_a_reader_that_stops_changes_neither_the_exit_code_nor_the_files(folder, names, tmp_path, limit, code):
    """As in `workbench gate … | head -1`."""
    junit = tmp_path / "gate.xml"
    read, write = os.pipe()
    os.close(read)
    words = ("gate", folder, "--configuration", names["base"], "--fail-below", f"{PRIMARY}={limit}", "--junit", junit)
    command = [sys.executable, "-c", "from workbench.cli.main import run; run()", *map(str, words)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (code, "")
    assert ElementTree.parse(junit).getroot().get("failures") == str(code)
    assert json.loads((folder / "gate.json").read_text("utf-8"))["exit_code"] == code


def test_a_gate_of_limits_walks_through_few_modules(folder, names):
    script = Path(__file__).parents[2] / "docs" / "counts.py"
    words = ["--gate", folder, "--configuration", names["base"], "--fail-below", f"{PRIMARY}=0.5"]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=True, cwd=folder.parent)
    walk = re.search(r"(\d+) modules in (\d+) rooms", done.stdout)
    assert walk
    assert int(walk[1]) <= 33, done.stdout
    assert int(walk[2]) <= 13
