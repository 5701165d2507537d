"""Questions for which a system found nothing score 0, also in a run that Workbench wrote and reads again."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.gate.baseline import baseline_of
from workbench.gate.gated import GatedConfiguration
from workbench.gate.losses import lost_questions
from workbench.gate.rules import Subject
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.missing import incomplete_replies, missing_answers, missing_replies
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment

PORT, SHIP = "A berth is a place for a ship.", "The ship pays the pilot. The tug is free."
QUESTIONS = {"q1": "a berth", "q2": "pays the pilot", "q3": "free", "q 4": "the ship", "q5": "a place"}
METRICS = ["recall@5", "mrr@10", "judged@3"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "port.md").write_text(PORT)
    (tmp_path / "documents" / "ship.md").write_text(SHIP)
    labels = {"q1": PORT, "q2": "pays the pilot", "q3": "The tug is free", "q 4": "ship pays", "q5": "a place"}
    rows = [{"query_id": name, "query": text, "relevant_chunks": [labels[name]]} for name, text in QUESTIONS.items()]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def swept(dataset: Path, name: str, path: Path, metrics: list[str] = METRICS) -> tuple[Outcome, RunTables]:
    file = dataset / f"{name}.yaml"
    target = {"kind": "recorded", "name": "theirs", "path": str(path)}
    settings = {"name": name, "dataset": {"kind": "golden", "path": str(dataset)}, "targets": [target], "metrics": metrics}
    file.write_text(json.dumps(settings))
    outcome = run_experiment(read_experiment(file), dataset / "outputs", lambda _: None)
    return outcome, write_outputs(outcome) if outcome.results else outcome


def scores(run: RunTables) -> pd.DataFrame:
    return run.queries.set_index(["metric", "query_id"])[["value", "state"]].sort_index()


def test_a_run_that_workbench_wrote_has_the_same_scores_when_it_is_read_again(dataset: Path) -> None:
    recorded = dataset / "theirs.jsonl"
    # q5 was not asked, q3 found nothing, and what q2 and q 4 found is in part outside of the dataset.
    hits = {"q1": ["port", "ship"], "q2": ["unknown", "ship"], "q3": [], "q 4": ["ship", "unknown", "another"]}
    recorded.write_text("\n".join(json.dumps({"query_id": name, "hits": found}) for name, found in hits.items()))
    outcome, run = swept(dataset, "first", recorded)
    values = scores(run)["value"].unstack("query_id")
    assert values.loc["recall@5"].to_dict() == pytest.approx({"q1": 1, "q2": 1, "q3": 0, "q 4": 1, "q5": float("nan")}, nan_ok=True)
    assert values.loc["judged@3", ["q1", "q2", "q 4"]].tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3])
    assert run.targets[["asked", "failed", "empty", "unmatched"]].iloc[0].tolist() == [5, 1, 1, 3]
    assert missing_replies(run) == ["the target theirs did not serve 1 question of 5, which are not scored (first: no recorded result)"]
    assert incomplete_replies(run)[0] == "the target theirs found nothing for 1 question of 5; those with an answer score 0"
    _, again = swept(dataset, "second", outcome.folder / "runs" / "theirs.trec")
    pd.testing.assert_frame_equal(scores(again), scores(run))


def test_answers_that_are_missing_in_a_file_are_to_be_added_to_it_and_those_of_a_service_asked_again(dataset: Path) -> None:
    recorded = dataset / "theirs.jsonl"
    rows = [{"query_id": "q1", "hits": ["port"], "answer": "A place for a ship."}, {"query_id": "q2", "hits": ["ship"], "error": "timeout"}]
    recorded.write_text("\n".join(map(json.dumps, rows)))
    _, run = swept(dataset, "answers", recorded, ["recall@5", "answer_recall"])
    (line,) = missing_answers(run)
    assert line.startswith("4 of 5 answers are missing and not scored (3 × no recorded result; 1 × the recorded request failed: timeout)")
    assert line.endswith("; add these to the recorded answers")
    served = run.targets.assign(configuration="ours", target="http")
    answers = pd.concat([run.answers, run.answers.assign(configuration="ours")])
    sources = {**run.sources, "targets": lambda _: pd.concat([run.targets, served]), "answers": lambda _: answers}
    (line,) = missing_answers(replace(run, sources=sources))
    assert line.endswith("; add these to the recorded answers or run again to ask only for these")


def test_a_run_of_other_questions_is_an_error_and_not_a_score_of_0(dataset: Path) -> None:
    (dataset / "other.run").write_text("x1 Q0 port 1 0.5 tag\n")
    outcome, _ = swept(dataset, "other", dataset / "other.run")
    assert "the target theirs returned no hit for any of the questions" in outcome.failures["theirs"]
    assert outcome.results == []


def test_hits_without_a_place_name_the_metrics_and_the_questions_that_they_cost(dataset: Path) -> None:
    recorded = dataset / "theirs.jsonl"
    texts = {"q1": PORT, "q2": "The ship pays its pilot.", "q3": "The tug is free.", "q 4": "The ship pays."}
    places = {"q1": "port", "q2": "ship", "q3": "ship", "q 4": "ship"}
    rows = [{"query_id": name, "hits": [{"doc_id": places[name], "text": text}]} for name, text in texts.items()]
    recorded.write_text(
        "\n".join(json.dumps(row) for row in [*rows, {"query_id": "q5", "hits": [{"text": "Nothing of the kind is here."}]}])
    )
    _, run = swept(dataset, "places", recorded, ["recall@5", "span_recall@5", "complete@5"])
    assert scores(run)["state"].unstack("query_id").loc["recall@5"].eq("scored").all()
    unmatched, unplaced = incomplete_replies(run)
    # The curve over budgets of tokens leaves out the same questions.
    metrics = "span_recall@5, complete@5, span_recall@500t, span_recall@1000t, span_recall@2000t and span_recall@4000t"
    assert unmatched.endswith(f"see match in its settings; left out without a score: of {metrics} 1 question (q5)")
    assert unplaced == (
        "2 of 5 hits of the target theirs matched a document but not a place in it (first: q2: its text is not in 'ship'); "
        f"metrics of documents count them; left out without a score: of {metrics} 2 questions (q2 and q 4)"
    )


def test_what_broke_in_rankings_of_ids_are_documents_and_not_those_of_a_question_that_failed(dataset: Path) -> None:
    good, bad = dataset / "good.jsonl", dataset / "bad.jsonl"
    found = {"q1": ["port"], "q2": ["ship"], "q3": ["ship"], "q 4": ["ship"], "q5": ["port"]}
    rows = [{"query_id": name, "hits": hits} for name, hits in found.items()]
    good.write_text("\n".join(map(json.dumps, rows)))
    bad.write_text("\n".join(map(json.dumps, [{"query_id": "q1", "error": "timeout"}, {"query_id": "q2", "hits": ["port"]}, *rows[2:]])))
    (_, before), (_, after) = swept(dataset, "before", good), swept(dataset, "after", bad)
    (lost,) = lost_questions(after, "theirs", baseline_of([before], "theirs"))
    assert (lost.query_id, lost.subject, lost.missing, lost.metric) == ("q2", "document", "ship", "recall@5")
    with pytest.raises(
        InputError, match="span_recall@2000t: it applies to no question in after, because the target returns neither text nor"
    ):
        GatedConfiguration(after, "theirs").values(Subject("span_recall@2000t"))
    tables = {name: table[table["metric"] != "recall@5"] for name, table in (("queries", after.queries), ("metrics", after.metrics))}
    without = replace(after, sources={**after.sources, **{name: lambda _, name=name: tables[name] for name in tables}})
    with pytest.raises(InputError, match="recall@5: after has no row of it; install what its sweep said is missing, and sweep again"):
        GatedConfiguration(without, "theirs").values(Subject("recall@5"))
