"""Runs in MLflow's files, and metrics as its scorers. tests/soak/test_mlflow.py has a server and an evaluation."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from workbench.api.mlflow import mlflow_name, mlflow_package, row_scorer
from workbench.core.errors import InputError
from workbench.measures.metrics.names import Metric

mlflow = mlflow_package()


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a store of files, which MLflow's client writes without its server."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    uri = (tmp_path / "mlruns").as_uri()
    mlflow.set_tracking_uri(uri)
    return mlflow.MlflowClient(uri)


@pytest.mark.slow
def test_a_run_has_a_nested_run_for_each_configuration(client: Any, results: wb.Results) -> None:
    run = client.get_run(results.log_to_mlflow("sizes"))
    board, primary = results.leaderboard(), mlflow_name(results.primary)
    assert (run.info.run_name, run.data.params["primary"], run.info.status) == (results.name, str(results.primary), "FINISHED")
    assert run.data.tags["workbench.verdict"] == results.summary()
    assert json.loads(run.data.tags["workbench.metrics"])[primary] == str(results.primary)
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"leaderboard.json", "report.html", "verdict.txt"}
    nested = client.search_runs([run.info.experiment_id], f"tags.mlflow.parentRunId = '{run.info.run_id}'")
    assert {other.info.run_name for other in nested} == set(board.index)
    assert len({tuple(sorted(other.data.params.items())) for other in nested}) == len(nested)
    for other in nested:
        row = board.loc[other.info.run_name]
        assert other.data.metrics[primary] == pytest.approx(row[str(results.primary)])
        assert [other.data.metrics[f"{primary}_{bound}"] for bound in ("low", "high")] == pytest.approx([row["low"], row["high"]])


@pytest.mark.usefixtures("client")
def test_a_store_that_refuses_the_run_is_one_line(results: wb.Results) -> None:
    with pytest.raises(InputError, match=r"MLflow refuses the run: .*; give a server as tracking_uri, or pip install mlflow"):
        results.log_to_mlflow("sizes", tracking_uri="nowhere://x")


def test_mlflow_that_is_not_installed_is_one_line(results: wb.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    for call in (results.log_to_mlflow, lambda: wb.mlflow_scorer("recall@5")):
        with pytest.raises(InputError, match=r"this needs MLflow; pip install 'rag-workbench\[mlflow\]'"):
            call()


def test_names_have_no_character_that_mlflow_refuses() -> None:
    names = [mlflow_name(metric) for metric in ("recall@5", "span_recall@2000t", "end_to_end")]
    assert names == ["recall_at_5", "span_recall_at_2000t", "end_to_end"]


RELEVANT = {"relevant_doc_ids": ["leave", "pay"]}


def test_a_scorer_has_the_value_of_the_metric() -> None:
    scorer = wb.mlflow_scorer("recall@2")
    assert scorer.name == "recall_at_2"
    chunks = [{"doc_id": "leave", "text": "a"}, {"doc_id": "leave", "text": "b"}, {"doc_id": "pay"}]
    for outputs, value in ((["leave", "taxi"], 0.5), ({"documents": chunks}, 1.0), ([], 0.0)):
        assert scorer(outputs=outputs, expectations=RELEVANT) == value
    graded = wb.mlflow_scorer(wb.ndcg @ 2)(outputs=["pay", "leave"], expectations={"relevant_doc_ids": {"leave": 2, "pay": 1}})
    assert 0.8 < graded < 0.9


def test_a_scorer_reads_the_last_retriever_of_a_trace() -> None:
    documents = [{"page_content": "a", "metadata": {"doc_uri": "pay"}}, {"page_content": "b", "metadata": {"doc_uri": "leave"}}]
    spans = [SimpleNamespace(outputs=["taxi"]), SimpleNamespace(outputs=documents)]
    trace = SimpleNamespace(search_spans=lambda span_type: spans if span_type == "RETRIEVER" else [])
    assert row_scorer(Metric.parse("recall@2"))(outputs="25 days", expectations=RELEVANT, trace=trace) == 1


def test_a_row_that_cannot_be_scored_is_one_line(wording) -> None:
    cases = {
        "no expectations": ([], {}),
        "no documents": ("25 days", RELEVANT),
        "no id": ([{"text": "25 days"}], RELEVANT),
        "another kind of label": (["leave"], {"relevant_doc_ids": "leave"}),
    }
    wording(lambda name: row_scorer(Metric.parse("recall@2"))(*cases[name]), dict(zip(cases, cases, strict=True)))
    with pytest.raises(InputError, match=r"span_recall@500t needs the documents"):
        wb.mlflow_scorer("span_recall@500t")
