import shutil

import pandas as pd
import pytest

from workbench.execution.local import run_experiment
from workbench.execution.outputs import write_outputs
from workbench.execution.plan import plan_experiment
from workbench.experiment.read import experiment_of, read_experiment
from workbench.models.files import MINILM, locate
from workbench.schemas import SCHEMAS


@pytest.fixture
def copied(outcome, tmp_path):
    """The finished run's outputs, to be changed."""
    outputs = tmp_path / "outputs"
    shutil.copytree(outcome.context.workspace.outputs, outputs)
    return outputs


def test_a_second_run_embeds_nothing_and_leaves_the_same_tables(outcome, experiment_file, copied):
    said: list[str] = []
    again = run_experiment(read_experiment(experiment_file), copied, said.append)
    assert all(line.endswith("all from the store") for line in said)
    assert len(said) == 3
    write_outputs(again)
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        pd.testing.assert_frame_equal(
            pd.read_parquet(copied / "small" / f"{name}.parquet"), pd.read_parquet(outcome.folder / f"{name}.parquet")
        )
    assert (copied / "small" / "manifest.json").read_bytes() == (outcome.folder / "manifest.json").read_bytes()


def test_adding_a_configuration_computes_only_that_one(experiment_file, copied):
    experiment_file.write_text(experiment_file.read_text().replace("size: [128, 512]", "size: [128, 512, 256]"))
    said: list[str] = []
    run_experiment(read_experiment(experiment_file), copied, said.append)
    assert [line.endswith("all from the store") for line in said] == [True, True, False, True]


def test_another_metric_scores_anew_and_embeds_nothing(experiment_file, copied):
    said: list[str] = []
    run_experiment(read_experiment(experiment_file, ["metrics=[recall@7]", "baseline=fixed-128-0"]), copied, said.append)
    assert all("vectors" not in line and "scores" in line for line in said)


def test_a_configuration_that_fails_is_told_and_the_others_go_on(outcome, experiment_file, copied):
    key = outcome.context.keys(outcome.experiment.configurations[0]).scores
    broken = copied / ".store" / "scores" / key / "scores.parquet"
    broken.write_bytes(broken.read_bytes()[:-7])
    again = run_experiment(read_experiment(experiment_file), copied, lambda _: None)
    assert list(again.failures) == ["fixed-128-0"]
    assert "is corrupt (scores.parquet is not what was written); delete the folder" in again.failures["fixed-128-0"]
    assert [result.configuration.name for result in again.results] == ["fixed-512-0", "hierarchical-64-256"]
    write_outputs(again)
    table = pd.read_parquet(copied / "small" / "configurations.parquet").set_index("configuration")
    assert "corrupt" in table.loc["fixed-128-0", "error"]
    assert (copied / "small" / "errors" / "fixed-128-0.txt").read_text().startswith("Traceback")
    assert not (copied / "small" / "runs" / "fixed-128-0.trec").exists()
    shutil.rmtree(broken.parent)
    assert not run_experiment(read_experiment(experiment_file), copied, lambda _: None).failures


def test_without_evidence_the_document_metric_decides(tmp_path):
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text("Cats purr when they are content.")
    (tmp_path / "documents" / "b.md").write_text("Dogs bark at strangers.")
    (tmp_path / "questions.json").write_text('[{"query": "why do cats purr", "relevant_doc_ids": ["a"], "irrelevant_doc_ids": ["b"]}]')
    path = tmp_path / "plain.yaml"
    path.write_text(f"name: plain\ndataset: {{kind: list, path: {tmp_path}/questions.json, documents: {tmp_path}/documents}}\n")
    finished = run_experiment(read_experiment(path), tmp_path / "outputs", lambda _: None)
    assert str(finished.primary) == "ndcg@10"
    write_outputs(finished)
    metrics = pd.read_parquet(finished.folder / "metrics.parquet").set_index("metric")
    assert metrics.loc["ndcg@10", "value"] == 1.0
    assert metrics.loc["span_recall@2000t", "n"] == 0


def test_the_plan_counts_tokens_that_are_new_and_nothing_twice(experiment_file, tmp_path, copied):
    fresh = plan_experiment(read_experiment(experiment_file), tmp_path / "empty")
    assert [one.name for one in fresh.configurations] == ["fixed-128-0", "fixed-512-0", "hierarchical-64-256"]
    assert all(one.tokens > 10_000 for one in fresh.configurations)
    assert not fresh.measured
    assert fresh.configurations[1].truncated > 0
    assert fresh.configurations[0].truncated == 0
    assert plan_experiment(read_experiment(experiment_file), copied).complete
    experiment_file.write_text(experiment_file.read_text().replace("size: [128, 512]", "size: [128, 512, 256]"))
    added = plan_experiment(read_experiment(experiment_file), copied)
    assert [one.tokens > 0 for one in added.configurations] == [False, False, True, False]
    assert added.measured
    assert not added.complete


def test_a_backend_that_cannot_run_its_model_fails_its_configuration_alone(handbook_few, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    for path in locate(MINILM).iterdir():
        if path.name != "modules.json":
            (model / path.name).symlink_to(path)
    (model / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "mine.Module"}]')
    retrieval = [{"kind": "bm25"}, {"kind": "dense"}]
    settings = {
        "name": "x",
        "dataset": {"kind": "golden", "path": str(handbook_few)},
        "pipeline": {"embedding": {"model": str(model), "backend": "openvino"}},
        "sweep": {"retrieval": retrieval},
        "metrics": ["recall@5"],
    }
    # Reading says nothing of it: only a conversion can.
    finished = run_experiment(experiment_of(settings, "x"), tmp_path / "outputs", lambda _: None)
    assert [result.configuration.name for result in finished.results] == ["fixed-256-0-bm25"]
    assert list(finished.failures) == ["fixed-256-0"]
    assert "backend: openvino cannot run" in finished.failures["fixed-256-0"]
