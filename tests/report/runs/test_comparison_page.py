"""The page of two runs: its conclusion, its numbers, and the command that it advises."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import workbench
from tests.made_runs import Made
from tests.report.runs.test_comparison import BASE, NOISE, changed
from workbench.core.text.formatting import signed
from workbench.report.render.html import rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison_page import RunComparison

WORSE, BETTER, NEAR = BASE - 0.2 + NOISE, np.minimum(BASE + 0.2 + NOISE, 1), BASE + (NOISE - NOISE.mean()) / 9
VARIED = np.clip(BASE + 12 * (NOISE - NOISE.mean()) + 0.02, 0, 1)


def compared(made: Made, *rows: np.ndarray) -> RunComparison:
    runs = [
        made.valued(values, name=name, smallest_difference=0.265) for name, values in (("then", [BASE] * len(rows)), ("now", list(rows)))
    ]
    return RunComparison.of(*runs)


CONCLUSIONS = [
    ((BASE, BASE), "Identical", r"^Nothing changed by span_recall@60t: all 2 configurations have the same values in both runs\.$"),
    (
        (BASE, NEAR),
        r"Equivalent within ±0\.265",
        r"^Every configuration is equivalent within ±0\.265 or identical in both runs by span_recall@60t\.$",
    ),
    ((BASE, VARIED), "No difference shown", r"^No difference between the runs is shown by span_recall@60t\.$"),
    (
        (BASE, WORSE),
        "Worse",
        r"^1 of 2 configurations got worse by span_recall@60t: fixed 24 by −0\.\d{3} [\[(]−0\.\d{3}, −0\.\d{3}[\])]\.$",
    ),
    ((BETTER,), "Better", r"^fixed 16 · BM25 got better by span_recall@60t: \+0\.\d{3} "),
    (
        (BETTER, WORSE),
        "Better and worse",
        r"^1 of 2 configurations got worse, fixed 24 by −0\.\d{3} .*, and 1 got better, fixed 16 by \+0\.\d{3} ",
    ),
]


@pytest.mark.parametrize(("rows", "badge", "sentence"), CONCLUSIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_the_conclusion_names_only_changes_that_are_shown(made, rows, badge, sentence):
    pair = compared(made, *rows)
    assert re.fullmatch(badge, pair.badge.text)
    assert re.search(sentence, pair.sentence)
    claimed = {row.match.after for row in pair.differences if str(row.reading) in ("worse", "better")}
    assert bool(claimed) == ("got " in pair.sentence)


def test_the_numbers_of_the_page_are_those_of_the_tables(made):
    pair = compared(made, BASE, WORSE, VARIED)
    page = rendered(pair.document())
    for row in pair.configurations.to_dict("records"):
        for shown in (f"{row['value_before']:.3f}", f"{row['value_after']:.3f}", signed(row["difference"]), f">{row['reading']}<"):
            assert shown in page
    assert len(pair.questions) > 0
    assert pair.questions.loc[0, "question"] in page


def test_names_and_questions_are_escaped(made):
    pair = compared(made, BASE, WORSE)
    odd = changed(pair.after, "questions", lambda rows: rows.assign(text="<script>x</script>"))
    page = rendered(RunComparison(changed(pair.before, "questions", lambda rows: rows.assign(text="<script>x</script>")), odd).document())
    assert "&lt;script&gt;x" in page
    assert "<script>x" not in page


def test_runs_without_a_common_configuration_say_only_what_changed(made):
    pair = compared(made, BASE)
    before = {"configurations": {pair.before.names[0]: {"chunking": {"kind": "whole"}, "retrieval": {"kind": "dense"}}}}
    other = changed(pair.before, "configurations", lambda rows: rows.assign(configuration="whole"))
    settings = {"whole": before["configurations"][pair.before.names[0]]}
    lone = RunComparison(replace(other, manifest={**other.manifest, "configurations": settings}), pair.after)
    assert lone.sentence == "The runs have no configuration in common, so nothing is compared by span_recall@60t."
    assert "1 configuration added; 1 configuration removed" in "".join(lone.lines)
    assert lone.sentence in rendered(lone.document())
    assert lone.next_step == ("Sweep a configuration of the earlier run again, with at most one setting changed: then it is compared.", "")
    page = " ".join(lone.lines)
    assert "At what cost? not compared" in page
    assert "No question has another value" not in rendered(lone.document())


def test_nothing_has_to_be_done_only_if_something_is_decided(made):
    steps = {name: compared(made, row).next_step for name, row in (("same", BASE), ("near", NEAR), ("varied", VARIED))}
    assert steps["same"] == steps["near"] == ("Nothing has to be done.", "")
    assert steps["varied"] == ("Read the questions that changed most, below.", "")
    few = [made.valued([row[:20]], documents=2, name=name) for name, row in (("then", BASE), ("now", BASE - 0.2))]
    assert RunComparison.of(*few).next_step.sentence.startswith("Sweep both experiments on the same questions: too few")


def test_a_conclusion_about_a_part_of_the_questions_says_so(made):
    pair = compared(made, BASE)
    other = changed(pair.after, "questions", lambda rows: rows.assign(text=rows["text"].where(rows.index >= 30, "another text")))
    part = RunComparison.of(pair.before, other)
    assert len(part.left_out) == 30
    assert part.sentence.endswith(
        "by span_recall@60t, on the 90 questions equal in both runs: 1 configuration has the same values in both runs."
    )


@pytest.mark.parametrize(("row", "code"), [(WORSE, 1), (BETTER, 0)])
def test_the_command_that_the_page_advises_works_when_pasted(made, tmp_path, monkeypatch, row, code):
    monkeypatch.chdir(tmp_path)
    pair = compared(made, row)
    for run, name in ((pair.before, "the first"), (pair.after, "second")):
        Path(name).mkdir()
        run.write(Path(name))
    _, command = RunComparison.of(RunTables.read("the first"), RunTables.read("second")).next_step
    first, *rest = shlex.split(command)
    assert first == "workbench"
    assert workbench(*rest).returncode == code


def test_two_runs_are_compared_by_the_command(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pair = compared(made, WORSE)
    for run, name in ((pair.before, "outputs/then"), (pair.after, "outputs/now")):
        Path(name).mkdir(parents=True)
        run.write(Path(name))
    done = workbench("report", "then", "outputs/now")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == pair.sentence
    assert done.stdout.splitlines()[-1] == f"comparison: {Path('outputs/now/compared.html')}"
    assert pair.sentence.split(":")[0] in Path("outputs/now/compared.html").read_text("utf-8")
    elsewhere = workbench("report", "outputs/then", "now", "--output", "pages/two.html")
    assert (elsewhere.returncode, Path("pages/two.html").is_file()) == (0, True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("then", "then"), "outputs/then is compared with itself; give two runs, the earlier one first"),
        (("then", "nwo"), "outputs/nwo does not exist (did you mean 'now'?); the runs in outputs are now, then"),
        (("then", "now", "--trends"), "--trends is for one experiment; leave it out to compare two runs"),
        (("then", "--output", "x.html"), "--output names the page of two runs; give a second run, or leave it out"),
        (
            ("then", "now", "--output", "outputs/now/manifest.json"),
            "--output outputs/now/manifest.json is no name of a page; name a file that ends in .html",
        ),
        (("then", "."), "outputs contains no run (no readable manifest.json); give one of its runs: now, then"),
    ],
)
def test_runs_that_cannot_be_compared_are_one_line(made, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    for name in ("then", "now"):
        Path("outputs", name).mkdir(parents=True)
        made.valued([BASE], name=name).write(Path("outputs", name))
    done = workbench("report", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"workbench: {line}")
    assert len(done.stderr.strip().splitlines()) == 1
