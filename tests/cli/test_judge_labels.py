"""Sample items of a run, label them, and calibrate its judge on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.labelled_runs import is_true, label_all, with_claims
from workbench.cli.main import main
from workbench.report.analysis.judges import badge
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.calibration import disagreements


@pytest.fixture(scope="module")
def judged_run(answered_run):
    return with_claims(answered_run)


@pytest.fixture
def folder(judged_run, tmp_path):
    place = tmp_path / "made"
    place.mkdir()
    judged_run.write(place)
    return place


def command(*words, code=0):
    done = CliRunner().invoke(main, ["judge", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def lines_of(folder, name="judge_labels.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").split("\n") if line]


def test_a_sample_is_blind_and_on_the_same_questions_for_every_configuration(folder):
    shown = command("sample", folder, "--each-class", 0)
    rows = lines_of(folder)
    assert "120 items, 0 labelled" in shown
    assert {"label", "annotator", "question", "claim", "answer", "passages", "id"} <= set(rows[0])
    assert not {"verdict", "score", "confidence"} & set(rows[0])
    questions = {name: {row["query_id"] for row in rows if row["configuration"] == name} for name in {row["configuration"] for row in rows}}
    a, b = questions.values()
    assert len(a) == len(b) == 60
    # Questions that one configuration refused are replaced.
    assert len(a & b) > 40
    assert all(row["label"] == "" and row["passages"] for row in rows)


def test_every_verdict_class_gets_25_items_if_it_has_them(folder, judged_run):
    command("sample", folder, "--number", 40)
    chosen = (
        judged_run.claims.assign(verdict=judged_run.claims["verdict"]).set_index("claim").loc[[row["claim"] for row in lines_of(folder)]]
    )
    counts = chosen.groupby(["configuration", "verdict"]).size()
    for name in judged_run.names:
        assert counts[name]["supported"] >= 25
        assert counts[name]["absent"] >= 15


def test_labels_that_are_filled_in_are_never_overwritten(folder):
    command("sample", folder, "--number", 30)
    filled = label_all(folder / "judge_labels.jsonl", "Ada")
    before = {row["id"]: row["label"] for row in lines_of(folder)}
    command("sample", folder, "--number", 60)
    after = {row["id"]: (row["label"], row["annotator"]) for row in lines_of(folder)}
    assert len(after) > filled
    assert all(after[item_id] == (label, "Ada") for item_id, label in before.items())
    assert "drawn with --seed 0" in command("sample", folder, "--seed", 1, code=2)


def test_calibrating_corrects_the_means_and_measures_the_judge(folder, judged_run):
    command("sample", folder, "--number", 70)
    labels = label_all(folder / "judge_labels.jsonl")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    shown = command("calibrate", folder)
    # The last line names every file that is new or was written again.
    changed = {path.name for path in folder.iterdir() if before.get(path.name) != path.stat().st_mtime_ns}
    assert set(shown.splitlines()[-1].partition(": ")[2].partition(";")[0].replace(" and ", ", ").split(", ")) == changed
    assert f"support: made, on {labels} labels of this run" in shown
    run = RunTables.read(folder)
    corrected = run.corrected.set_index(["scope", "metric", "target", "configuration"])
    for name in run.names:
        claims = judged_run.claims[judged_run.claims["configuration"] == name]
        true = (
            claims.assign(true=claims["claim"].map(is_true))
            .groupby(["query_id", "repeat"])["true"]
            .mean()
            .groupby("query_id")
            .mean()
            .mean()
        )
        row = corrected.loc["mean", "faithfulness", "items", name]
        assert row["low"] < true < row["high"]
    assert {"mean", "difference"} == set(run.corrected["scope"])
    assert badge(run, "support").startswith(f"measured on {labels} labels of this run: balanced accuracy 0.")
    assert badge(run, "correctness") == "not measured"
    whole = json.loads((folder / "calibration.json").read_text())
    assert {row["measure"] for row in whole["calibration"]} >= {"balanced_accuracy", "auroc", "kappa", "unparsed", "curve"}
    assert len(whole["corrected"]) == len(run.corrected)
    read_first = disagreements(run, "support")
    assert len(read_first)
    assert (read_first["verdict"] != read_first["label"]).all()


def test_fewer_than_50_labels_measure_the_judge_but_correct_nothing(folder):
    command("sample", folder, "--number", 30, "--each-class", 0)
    label_all(folder / "judge_labels.jsonl")
    assert "a correction needs 50 labels of drawn items of each configuration; too few" in command("calibrate", folder)
    assert RunTables.read(folder).corrected.empty


def test_two_files_are_the_labels_of_two_people(folder):
    command("sample", folder)
    label_all(folder / "judge_labels.jsonl")
    second = folder / "second.jsonl"
    second.write_text((folder / "judge_labels.jsonl").read_text("utf-8"), "utf-8")
    label_all(second, "Ben", wrong=10)
    shown = command("calibrate", folder, "--labels", folder / "judge_labels.jsonl", "--labels", second)
    assert "agreement of two people" in shown
    agreed = RunTables.read(folder).calibration.set_index("measure").loc["human_agreement", "value"]
    assert agreed == pytest.approx(0.9, abs=0.02)


def test_labels_of_another_run_give_a_badge_and_correct_nothing(folder, tmp_path):
    other = tmp_path / "other.jsonl"
    rng = np.random.default_rng(0)
    rows = [{"id": f"x{n}", "task": "support", "query_id": f"q{n % 30}", "label": ["supported", "absent"][n % 2]} for n in range(80)]
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "not of this run and without the judge's" in command("calibrate", folder, "--labels", other, code=2)
    scored = [row | {"score": float(np.clip(0.7 - 0.4 * (n % 2) + rng.normal() * 0.2, 0, 1))} for n, row in enumerate(rows)]
    other.write_text("".join(json.dumps(row) + "\n" for row in scored))
    command("calibrate", folder, "--labels", other)
    run = RunTables.read(folder)
    assert badge(run, "support").startswith("measured elsewhere, on 80 labels: balanced accuracy 0.")
    assert run.corrected.empty


def test_a_wrong_label_is_named_with_its_line(folder):
    command("sample", folder)
    path = folder / "judge_labels.jsonl"
    path.write_text(path.read_text("utf-8").replace('"label": ""', '"label": "suported"', 1), "utf-8")
    shown = command("calibrate", folder, code=2)
    assert "line 1 of" in shown
    assert "did you mean 'supported'?" in shown


def test_a_run_without_judged_answers_says_so(folder):
    assert "has no judged answers with correctness under retrieved" in command("sample", folder, "--task", "correctness", code=2)
    assert "does not exist" in command("calibrate", folder, code=2)


def test_a_judge_that_only_scores_is_divided_at_one_half(answered_run, tmp_path):
    place = tmp_path / "scored"
    place.mkdir()
    with_claims(answered_run, verdicts=False).write(place)
    command("sample", place)
    label_all(place / "judge_labels.jsonl")
    command("calibrate", place)
    run = RunTables.read(place)
    assert set(run.corrected["metric"]) == {"faithfulness", "contradiction_rate"}
    assert isinstance(run.corrected, pd.DataFrame)
