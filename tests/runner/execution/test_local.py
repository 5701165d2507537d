import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.made_runs import SIZES
from workbench.core.schemas import SCHEMAS
from workbench.core.text.progress import sweep_progress
from workbench.llm.models.files import MINILM, locate
from workbench.measures.metrics.case import MetricValues
from workbench.measures.metrics.registry import METRICS
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.execution.plan import plan_experiment, plan_lines
from workbench.runner.experiment.read import experiment_of, read_experiment


@pytest.fixture
def copied(outcome, tmp_path):
    """The finished run's outputs, to be changed."""
    outputs = tmp_path / "outputs"
    shutil.copytree(outcome.run.workspace.outputs, outputs)
    return outputs


def test_a_second_run_embeds_nothing_and_leaves_the_same_tables(outcome, experiment_file, copied):
    said: list[str] = []
    again = run_experiment(read_experiment(experiment_file), copied, said.append)
    assert said[0] == "small: 3 configurations, 35 questions, 18 documents"
    assert all(line.endswith("all from the store") for line in said[1:])
    assert len(said) == 4
    write_outputs(again)
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        pd.testing.assert_frame_equal(
            pd.read_parquet(copied / "small" / f"{name}.parquet"), pd.read_parquet(outcome.folder / f"{name}.parquet")
        )
    one, other = (json.loads((folder / "manifest.json").read_bytes()) for folder in (copied / "small", outcome.folder))
    assert one.pop("arguments") == [str(experiment_file)]
    assert other.pop("arguments")
    assert one == other


def test_a_log_has_a_line_with_score_and_seconds_for_each_configuration_and_a_terminal_only_those_that_failed(
    run: Callable[..., Outcome],
) -> None:
    def said(live: bool, verbose: bool = False) -> list[str]:
        lines: list[str] = []
        with sweep_progress("said", verbose) as progress:
            progress.live = live
            experiment = run(name="said", sweep=SIZES).experiment
            run_experiment(experiment, outcome.run.workspace.outputs, lines.append)
            assert progress.best.startswith(f"{outcome.primary} ")
        return lines[1:]

    outcome = run(name="said", sweep=SIZES)
    values = {row["configuration"]: row["value"] for row in means_of(outcome)}
    expected = [f"[{number}/3] {name}: {outcome.primary} {values[name]:.3f}, all from the store" for number, name in enumerate(values, 1)]
    assert said(live=False) == expected
    assert said(live=True) == []
    assert said(live=True, verbose=True) == [f"{line}: all from the store" for line in expected]


def means_of(outcome: Outcome) -> list[dict[str, Any]]:
    metrics = collect(outcome).metrics
    return metrics[(metrics["metric"] == str(outcome.primary)) & (metrics["slice"] == "all")].to_dict("records")


def test_a_second_run_writes_no_table_again_but_one_that_was_altered(experiment_file, copied):
    def written() -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in [*copied.glob("small/*.parquet"), *copied.glob("small/runs/*.trec")]}

    read = read_experiment(experiment_file)
    write_outputs(run_experiment(read, copied, lambda _: None))
    before, table = written(), copied / "small" / "hits.parquet"
    write_outputs(run_experiment(read, copied, lambda _: None))
    assert {name for name, place in written().items() if place != before[name]} == {"timings.parquet"}
    whole = table.read_bytes()
    table.write_bytes(whole[:-9] + b"tampered!")
    write_outputs(run_experiment(read, copied, lambda _: None))
    assert table.read_bytes() == whole


@pytest.mark.slow
def test_adding_a_configuration_computes_only_that_one(experiment_file, copied):
    experiment_file.write_text(experiment_file.read_text().replace("size: [128, 512]", "size: [128, 512, 256]"))
    said: list[str] = []
    run_experiment(read_experiment(experiment_file), copied, said.append)
    assert [line.endswith("all from the store") for line in said if line.startswith("[")] == [True, True, False, True]
    assert said[-1] == "latency: 4 configurations in 5 rounds, one question at a time"


def test_another_metric_computes_only_itself(outcome, experiment_file, copied):
    def stored() -> set[str]:
        return {path.parent.name for path in copied.glob(".store/scores/*/entry.json")}

    before = stored()
    metrics = [str(metric) for metric in outcome.experiment.metrics]
    read = read_experiment(experiment_file, [f"metrics=[{', '.join([*metrics, 'recall@7'])}]"])
    said: list[str] = []
    with sweep_progress("small", verbose=True):
        again = run_experiment(read, copied, said.append)
    assert all(line.rpartition(": ")[2].startswith("scores ") and "," not in line.rpartition(": ")[2] for line in said[1:])
    assert len(stored() - before) == len(said[1:]) == 3
    assert "recall@7" in set(again.results[0].scores_table["metric"])


def test_a_metric_whose_version_rises_is_scored_again_and_no_other(outcome, experiment_file, copied, monkeypatch):
    kind = METRICS["mrr"]
    monkeypatch.setitem(METRICS.builtin, "mrr", replace(kind, compute=lambda case, _: MetricValues(np.ones(case.labels.queries))))
    kept = run_experiment(read_experiment(experiment_file), copied, lambda _: None)
    assert kept.results[0].scores_table.equals(outcome.results[0].scores_table)
    monkeypatch.setitem(METRICS.builtin, "mrr", replace(METRICS["mrr"], version=kind.version + 1))
    again = run_experiment(read_experiment(experiment_file), copied, lambda _: None)
    before, after = (found.results[0].scores_table.set_index(["metric", "query"])["value"] for found in (outcome, again))
    assert set(before.index[before.ne(after) & before.notna()].get_level_values("metric")) == {"mrr@10"}
    assert set(after["mrr@10"].dropna()) == {1.0}


@pytest.mark.slow
def test_a_failing_configuration_is_reported_and_the_others_continue(outcome, experiment_file, copied):
    (node, *_) = outcome.graph.nodes(outcome.experiment.configurations[0], ["scores"])
    key = outcome.graph.key(node)
    broken = copied / ".store" / "scores" / key / "scores.parquet"
    broken.write_bytes(broken.read_bytes()[:-7])
    again = run_experiment(read_experiment(experiment_file), copied, lambda _: None)
    assert list(again.failures) == ["fixed-128-0"]
    assert (
        "is corrupt (scores.parquet has changed since it was written); run workbench doctor, or delete the folder"
        in again.failures["fixed-128-0"]
    )
    assert [result.configuration.name for result in again.results] == ["fixed-512-0", "hierarchical-64-256"]
    write_outputs(again)
    table = pd.read_parquet(copied / "small" / "configurations.parquet").set_index("configuration")
    assert "corrupt" in table.loc["fixed-128-0", "error"]
    assert (copied / "small" / "errors" / "fixed-128-0.txt").read_text().startswith("Traceback")
    assert not (copied / "small" / "runs" / "fixed-128-0.trec").exists()
    shutil.rmtree(broken.parent)
    repaired = run_experiment(read_experiment(experiment_file), copied, lambda _: None)
    assert not repaired.failures
    write_outputs(repaired)
    assert not list((copied / "small" / "errors").iterdir())


def test_what_foreign_code_raises_is_printable_in_its_line_and_in_its_traceback(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"raising_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("def cut(text):\n    raise LookupError('no \\x1b]0;owned\\x07 at http://me:hunter2@host')\n")
    (tmp_path / "documents.jsonl").write_text(json.dumps({"doc_id": "d", "text": "Ada wrote it."}))
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "Who?", "relevant_doc_ids": ["d"]}))
    pipeline = {"chunking": {"kind": "callable", "callable": f"{name}:cut"}, "retrieval": {"kind": "bm25"}}
    settings = {"name": "x", "dataset": {"kind": "golden", "path": str(tmp_path)}, "pipeline": pipeline}
    outcome = run_experiment(replace(experiment_of(settings, "test"), allow_code=True), tmp_path / "outputs", lambda _: None)
    (line,), (saved,) = outcome.failures.values(), outcome.tracebacks.values()
    assert saved.startswith("Traceback")
    for text in (line, saved):
        assert r"LookupError: no \x1b]0;owned\x07 at http://host" in text
        assert not {"\x1b", "\x07"} & set(text)


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


def test_the_plan_counts_only_new_tokens_and_each_once(experiment_file, tmp_path, copied):
    fresh = plan_experiment(read_experiment(experiment_file), tmp_path / "empty")
    assert [one.name for one in fresh.configurations] == ["fixed-128-0", "fixed-512-0", "hierarchical-64-256"]
    assert all(one.tokens > 10_000 for one in fresh.configurations)
    assert fresh.configurations[1].truncated > 0
    assert fresh.configurations[0].truncated == 0
    assert plan_experiment(read_experiment(experiment_file), copied).complete
    experiment_file.write_text(experiment_file.read_text().replace("size: [128, 512]", "size: [128, 512, 256]"))
    added = plan_experiment(read_experiment(experiment_file), copied)
    assert [one.tokens > 0 for one in added.configurations] == [False, False, True, False]
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
    assert [result.configuration.name for result in finished.results] == ["fixed-256-0-model_tokens-bm25"]
    assert list(finished.failures) == ["fixed-256-0-model-openvino"]
    assert "backend: openvino cannot run" in finished.failures["fixed-256-0-model-openvino"]
    write_outputs(finished)
    table = pd.read_parquet(tmp_path / "outputs" / "x" / "configurations.parquet").set_index("configuration")
    assert "backend: openvino cannot run" in table.loc["fixed-256-0-model-openvino", "error"]


@pytest.mark.slow
def test_planning_embeds_nothing_loads_nothing_and_counts_the_sentences_of_a_semantic_chunker(tmp_path, handbook_few, fork):
    """On a machine where no model was ever converted."""
    path = tmp_path / "semantic.yaml"
    path.write_text(f"""
name: semantic
dataset: {{kind: golden, path: {handbook_few}}}
sweep: {{chunking: [{{kind: semantic, size: 128}}, {{kind: fixed, size: 128}}]}}
""")
    script = """
import json, sys
from pathlib import Path
from workbench.runner.execution.plan import plan_experiment, plan_lines
from workbench.runner.experiment.read import read_experiment
plan = plan_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]))
print(json.dumps([[one.name, one.tokens, one.chunks, one.exact, one.error] for one in plan.configurations]))
loaded = {"torch", "openvino", "transformers", "sentence_transformers"} & set(sys.modules)
assert not loaded, loaded
"""
    cache = tmp_path / "cache"
    told = fork(script, path, tmp_path / "outputs", env={"WORKBENCH_CACHE": str(cache)}).output()
    (semantic, tokens, chunks, exact, error), (fixed, plain, _, _, none) = json.loads(told)
    assert (semantic, fixed, exact, error, none) == ("semantic-128", "fixed-128-0", False, "", "")
    # Its sentences, and then its chunks.
    assert tokens > 1.5 * plain > 1_000
    assert chunks > 10
    assert not cache.exists()
    assert not list((tmp_path / "outputs").glob(".store/vectors/*"))


def test_a_chunker_that_fails_keeps_nobody_from_planning_the_others(tmp_path, handbook_few, monkeypatch):
    (tmp_path / "breaking.py").write_text("def split(text):\n    raise RuntimeError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "two.yaml"
    path.write_text(f"""
name: two
dataset: {{kind: golden, path: {handbook_few}}}
pipeline: {{retrieval: {{kind: bm25}}}}
sweep: {{chunking: [{{kind: callable, callable: "breaking:split"}}, {{kind: fixed, size: 64}}]}}
""")
    plan = plan_experiment(read_experiment(path, allow_code=True), tmp_path / "outputs")
    assert [bool(one.error) for one in plan.configurations] == [True, False]
    assert plan.configurations[1].chunks > 10
    assert any("cannot be planned and will fail: " in line and "no" in line for line in plan_lines(plan))
