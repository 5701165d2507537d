import json
import shutil

import numpy as np
import pytest

from tests.made_runs import settings
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import about_dataset, choice_sentence
from workbench.report.topics.registry import summary_lines
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
    assert ("They differ only in how they answer: choose a metric of answers as primary." in lines) == hinted


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


@pytest.mark.parametrize(
    ("gains", "smallest", "sentences"),
    [
        ((0, 0.3), 0.02, ("{0} is behind {1} by span_recall@60t, p < 0.001.", "{1} wins by span_recall@60t.")),
        (
            (0, 0),
            0.2,
            ("{name} is a good choice: {best} are equivalent by span_recall@60t within ±0.200.",) * 2,
        ),
        ((0, 0.05), 0.2, ("{0} is a good choice: it is equivalent to {1}, the leader by span_recall@60t, within ±0.200.", "{1} wins")),
        ((0, 0), 0.001, ("No winner by span_recall@60t: {0} and 1 other configuration are statistically indistinguishable.",)),
    ],
)
def test_the_choice_of_a_configuration_is_described_by_the_verdict(made, gains, smallest, sentences):
    random = np.random.default_rng(7)
    level = random.uniform(0.2, 0.6, 120)
    values = [level + gain + random.normal(0, 0.02, 120) for gain in gains]
    found = findings(made.valued(values, name="choices", smallest_difference=smallest))
    best = " and ".join(found.verdict.best)
    for name, sentence in zip(found.names, sentences, strict=False):
        assert choice_sentence(found, name).startswith(sentence.format(*found.names, name=name, best=best))


def test_a_choice_from_few_questions_and_of_what_is_not_ranked_is_described_too(made):
    few = findings(made.valued([np.tile([0.2, 0.4], 10), np.tile([0.3, 0.5], 10)], documents=2, name="few-choices"))
    assert choice_sentence(few, few.names[0]) == "No winner by span_recall@60t: fewer than 30 questions."
    assert choice_sentence(few, "none") == "none is not ranked by span_recall@60t, so nothing is known about its place."
