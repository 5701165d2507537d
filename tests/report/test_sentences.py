import json
import shutil

import pytest

from tests.made_runs import settings
from workbench.report.render.plain import summary_lines
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import about_dataset
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of


@pytest.mark.parametrize(
    ("repeated", "relabelled", "sentence"),
    [
        (2, 2, "2 questions repeat the text of another, all with other labels: every search ranks the same for both"),
        (3, 1, "3 questions repeat the text of another, 1 with other labels: every search ranks the same for both"),
        (1, 0, "1 question repeats the text of another, none with other labels: such a text counts more than once"),
    ],
)
def test_questions_that_repeat_a_text_are_counted_beside_the_data(repeated, relabelled, sentence):
    data = {"name": "mine", "documents": 2, "queries": 9, "unanswerable": 0, "needs": 4}
    plain = "mine: 2 documents, 9 questions, 4 pieces of evidence."
    assert about_dataset(RunTables({"dataset": data}, {})) == plain
    told = about_dataset(RunTables({"dataset": data | {"repeated": repeated, "relabelled": relabelled}}, {}))
    assert told == f"{plain} {sentence} (workbench dataset check lists them)."


@pytest.mark.parametrize(("primary", "hinted"), [("recall@3", True), ("answer_recall", False)])
def test_configurations_that_only_answer_differently_need_a_metric_of_answers(run, primary, hinted):
    sweep = {"context": [{"budget": [50, 60]}], "answering": [{"kind": "extractive"}]}
    pipeline = {"retrieval": {"kind": "bm25", "k": 1}}
    swept = collect(run(name="alike", pipeline=pipeline, sweep=sweep, metrics=["recall@3", "answer_recall"], primary=primary))
    lines = " ".join(summary_lines(swept))
    assert ("They differ only in how they answer; choose a metric of answers as primary." in lines) == hinted


def test_a_run_counts_them(place, tmp_path):
    rows = [json.loads(line) for line in (place / "data" / "questions.jsonl").read_text("utf-8").splitlines()]
    rows += [rows[0] | {"query_id": "same", "query": rows[0]["query"].upper()}, rows[1] | {"query_id": "other", "query": rows[0]["query"]}]
    shutil.copytree(place / "data" / "documents", tmp_path / "documents")
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    data = {"kind": "golden", "path": str(tmp_path)}
    experiment = experiment_of(settings(place, name="repeated", dataset=data, pipeline={"retrieval": {"kind": "bm25", "k": 5}}), "here")
    tables = collect(run_experiment(experiment, tmp_path / "outputs", lambda _: None))
    assert (tables.dataset["repeated"], tables.dataset["relabelled"]) == (2, 1)
    assert "2 questions repeat the text of another, 1 with other labels" in about_dataset(tables)
