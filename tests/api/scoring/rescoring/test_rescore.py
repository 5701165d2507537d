"""Values re-scored from the tables of a finished run equal those of the sweep."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.api.scoring.rescore import Rescorer
from workbench.api.scoring.what_if import SliceMembers, WhatIfQuestion, rescored_row
from workbench.core.errors import InputError
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

EVERY = [
    *(f"{name}@3" for name in ("recall", "precision", "success", "mrr", "ndcg", "map", "recall_cap", "judged", "irrelevant")),
    *("recall@10", "hit_recall@4", "hit_precision@4", "chunk_precision@4"),
    *(f"{name}@{cut}" for name in ("span_recall", "span_precision", "span_iou", "need_recall", "complete") for cut in (4, "300t")),
    *("span_recall@1500t", "span_precision_omega", "margin", "margin_spread"),
]


@pytest.fixture(scope="session", params=["exact", "chroma"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> wb.Results:
    """A sweep of several retrievals that computed every metric."""
    chunking = [{"kind": "fixed", "size": 64, "overlap": 16}, {"kind": "hierarchical", "child": 32, "parent": 128}]
    retrieval = [{"kind": "bm25", "k": 5}, {"kind": "bm25", "k": 6, "neighbours": 1}]
    settings = {
        "name": "every",
        "dataset": {"kind": "golden", "path": str(handbook_corner), "split": "dev"},
        "sweep": {"chunking": chunking, "retrieval": retrieval},
        "metrics": EVERY,
        "primary": "span_recall@300t",
        "spans": request.param,
        "slices": [["type", "domain"]],
    }
    outcome = run_experiment(experiment_of(settings, "here"), tmp_path_factory.mktemp("every") / "outputs", lambda _: None)
    write_outputs(outcome)
    return wb.load(outcome.folder)


def rescored(rescorer: Rescorer, metric: str, within: str) -> pd.DataFrame:
    """Every configuration's row, computed although the sweep has it."""
    question = WhatIfQuestion(Metric.parse(metric), within)
    chosen = SliceMembers.of(rescorer, within)
    rows = {name: rescored_row(rescorer, question, name, chosen) for name in rescorer.run.names}
    return pd.DataFrame.from_dict(rows, orient="index")


def equal(own: pd.DataFrame, theirs: pd.DataFrame) -> None:
    """Compare rows by configuration: values to 1e-12, counts exactly."""
    for column in ("value", "low", "high", "attainable"):
        np.testing.assert_allclose(own[column].astype(float), theirs[column].astype(float), rtol=0, atol=1e-12, err_msg=column)
    for column in ("n", "clusters", "unscored"):
        assert own[column].fillna(-1).tolist() == theirs[column].fillna(-1).tolist(), column
    assert own["conditional"].tolist() == theirs["conditional"].tolist()


def of_sweep(results: wb.Results, metric: str, within: str) -> pd.DataFrame:
    table = results.metrics
    return table[(table["metric"] == metric) & (table["slice"] == within)].set_index("configuration")


@pytest.mark.slow
def test_every_metric_of_rankings_equals_the_sweeps(measured: wb.Results) -> None:
    assert set(EVERY) <= set(measured.metrics["metric"])
    for metric in EVERY:
        own = rescored(measured.rescorer, metric, "all")
        assert set(own["source"]) == {"re-scored"}
        equal(own, of_sweep(measured, metric, "all").loc[own.index])


@pytest.mark.slow
def test_every_slice_equals_the_sweeps(measured: wb.Results) -> None:
    for metric in ("span_recall@300t", "irrelevant@3", "chunk_precision@4"):
        table = measured.metrics.loc[measured.metrics["metric"] == metric, "slice"]
        slices = table.drop_duplicates().tolist()
        assert any("&" in name for name in slices)
        for name in slices[::4]:
            own = rescored(measured.rescorer, metric, name)
            equal(own, of_sweep(measured, metric, name).loc[own.index])


def test_every_builtin_metric_of_rankings_is_scored_again() -> None:
    assert {Metric.parse(name).name for name in EVERY} == {name for name, metric in METRICS.builtin.items() if not metric.of_answers}


@pytest.mark.slow
def test_a_value_of_the_sweep_is_read_and_another_is_computed(measured: wb.Results) -> None:
    assert set(measured.what_if("recall@3")["source"]) == {"sweep"}
    table = measured.what_if("recall@2")
    assert set(table["source"]) == {"re-scored"}
    assert table["value"].is_monotonic_decreasing
    assert measured.what_if("irrelevant@2")["value"].is_monotonic_increasing


@pytest.mark.slow
def test_only_the_primary_metric_over_all_questions_decides(measured: wb.Results) -> None:
    assert measured.what_if().attrs["claim"] == "span_recall@300t over all questions decides this experiment"
    for table in (measured.what_if("recall@3"), measured.what_if(within=next(iter(measured.rescorer.stored.slices.keys() - {"all"})))):
        assert table.attrs["claim"].startswith("exploratory: only the primary metric decides")


@pytest.fixture
def moved(few: Outcome, tmp_path: Path) -> wb.Results:
    """A run of other documents' machine: its tables alone, whose dataset is elsewhere."""
    shutil.copytree(few.folder, tmp_path / "run")
    run = RunTables.read(tmp_path / "run")
    experiment = {**run.manifest["experiment"], "dataset": {"kind": "golden", "path": str(tmp_path / "nowhere")}}
    return wb.Results.view(replace(run, manifest={**run.manifest, "experiment": experiment}), tmp_path / "run")


def test_metrics_at_k_need_no_documents(moved: wb.Results, few: Outcome) -> None:
    here = wb.load(few.folder)
    for metric in ("complete@4", "need_recall@2", "span_iou@3", "hit_recall@5", "map@4"):
        table = moved.what_if(metric)
        assert table["value"].notna().all()
        pd.testing.assert_frame_equal(table, here.what_if(metric))


def test_a_budget_in_tokens_needs_the_documents_of_the_run(moved: wb.Results, few: Outcome) -> None:
    table = moved.what_if("span_recall@400t")
    assert table["value"].isna().all()
    assert set(table["source"]) == {"none"}
    assert table["note"].str.startswith("a budget in tokens needs the documents, and the dataset of the run cannot be read here").all()
    with_documents = moved.what_if("span_recall@400t", dataset=few.run.dataset)
    assert with_documents["value"].notna().all()


def test_documents_that_were_edited_since_the_run_are_not_used(moved: wb.Results, few: Outcome) -> None:
    dataset = few.run.dataset
    edited = replace(dataset, documents=(replace(dataset.documents[0], text="Other. " + dataset.documents[0].text), *dataset.documents[1:]))
    notes = moved.what_if("span_recall@400t", dataset=edited)["note"]
    assert set(notes) == {"a budget in tokens needs the documents, and the documents are not those of the run"}


def test_the_interval_of_chunk_precision_is_missing_where_the_chunks_are_not_known(moved: wb.Results, few: Outcome) -> None:
    alone, whole = (
        results.what_if("chunk_precision@3").set_index("configuration").sort_index() for results in (moved, wb.load(few.folder))
    )
    assert (alone["value"] == whole["value"]).all()
    assert alone["low"].isna().all()
    assert alone["note"].str.startswith("no interval").all()
    assert whole["low"].notna().all()
    assert moved.what_if("span_precision_omega")["note"].str.startswith("span_precision_omega needs all chunks").all()


@pytest.mark.parametrize(("metric", "unit"), [("span_recall@30", "30 chunks"), ("span_recall@9000t", "9,000 tokens")])
def test_a_ranking_that_ends_too_early_gives_no_value(few: Outcome, metric: str, unit: str) -> None:
    table = wb.load(few.folder).what_if(metric)
    missing = table[table["value"].isna()]
    assert len(missing)
    assert missing["note"].str.contains(f"end before {unit}").all()


def test_a_ranking_that_is_long_enough_equals_that_of_a_deeper_sweep(few: Outcome, tmp_path: Path) -> None:
    settings = dict(few.experiment.settings)
    deeper = {
        **settings,
        "pipeline": {"retrieval": {"kind": "bm25", "k": 8}},
        "metrics": ["span_recall@500t", "span_recall@8", "recall@20"],
    }
    outcome = run_experiment(experiment_of(deeper, "here"), tmp_path / "outputs", lambda _: None)
    write_outputs(outcome)
    swept, shallow = wb.load(outcome.folder), wb.load(few.folder)
    for metric in ("span_recall@8", "recall@20"):
        own, theirs = (results.what_if(metric).set_index("configuration") for results in (shallow, swept))
        known = own.index[own["value"].notna()]
        assert len(known)
        np.testing.assert_allclose(
            own.loc[known, ["value", "low", "high"]], theirs.loc[known, ["value", "low", "high"]], rtol=0, atol=1e-12
        )


def test_an_unknown_metric_or_slice_is_one_line(few: Outcome) -> None:
    results = wb.load(few.folder)
    with pytest.raises(InputError, match="there is no metric 'recal@3'"):
        results.what_if("recal@3")
    with pytest.raises(InputError, match="there is no slice 'type=nothing'"):
        results.what_if("recall@3", within="type=nothing")
    notes = set(results.what_if("faithfulness")["note"])
    assert notes == {"faithfulness reads answers: only a sweep computes it"}


def test_slices_that_no_experiment_crossed_are_joined(few: Outcome) -> None:
    results = wb.load(few.folder)
    slices = [name for name in results.rescorer.stored.slices if name.startswith("type=")]
    with pytest.raises(InputError, match="no question is in the slice"):
        results.what_if("recall@3", within="&".join(slices[:2]))
    members = results.rescorer.stored.members
    pairs = [(one, other) for one in slices for other in results.rescorer.stored.slices if other.startswith("domain=")]
    one, other = next(pair for pair in pairs if (members(pair[0]) & results.rescorer.stored.slices[pair[1]]).any())
    assert results.what_if("judged@3", within=f"{one}&{other}")["n"].max() <= (members(one) & members(other)).sum()


@pytest.mark.slow
def test_identifiers_that_are_numbers_stay_apart(tmp_path: Path) -> None:
    texts = {"1": "trains are booked in second class", "01": "taxis are paid after ten at night", "1.0": "thirty days of leave a year"}
    (tmp_path / "documents").mkdir()
    for name, text in texts.items():
        (tmp_path / "documents" / f"{name}.txt").write_text(text)
    questions = [{"query_id": name, "query": text, "relevant_doc_ids": [name]} for name, text in texts.items()]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    pipeline = wb.Pipeline(retrieval=wb.BM25Retriever(k=3))
    experiment = wb.Experiment("numbers", wb.load_dataset(tmp_path), pipeline=pipeline, metrics=["recall@1", "mrr@3"])
    results = wb.sweep(experiment, tmp_path / "outputs")
    assert results.what_if("recall@2")[["value", "n", "source"]].to_dict("records") == [{"value": 1.0, "n": 3, "source": "re-scored"}]
    run_file = results.folder / "runs" / f"{results.tables.names[0]}.trec"
    run_file.write_text(run_file.read_text().replace("01 Q0", "9 Q0"))
    with pytest.raises(InputError, match="names questions or documents that the run does not have"):
        wb.load(results.folder).what_if("recall@2")
