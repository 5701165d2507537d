import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tests.components.reranking.conftest import save_model
from workbench.core.records import Dataset, Document, Need, Query, Span
from workbench.core.text.formatting import encodable
from workbench.measures.metrics.inputs import Labels
from workbench.runner.execution.collect import collect, covering_passages, questions_table
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import experiment_of

EXPLAINED = ("context", "causes", "query_details", "chunk_faults", "configurations")


def test_explanations_are_computed_once(few: Outcome) -> None:
    store = few.run.workspace.store.root
    first = {path: path.stat().st_mtime_ns for kind in ("explanations", "chunk_faults") for path in (store / kind).glob("*/entry.json")}
    assert len(first) >= 2 * len(few.results)
    again = collect(run_experiment(few.experiment, few.run.workspace.outputs, lambda _: None))
    for name in EXPLAINED:
        pd.testing.assert_frame_equal(again.table(name), collect(few).table(name))
    assert {path: path.stat().st_mtime_ns for path in first} == first


def test_another_primary_metric_has_separate_explanations(few: Outcome) -> None:
    experiment = experiment_of(few.experiment.settings | {"primary": "recall@5"}, "here")
    other = collect(run_experiment(experiment, few.run.workspace.outputs, lambda _: None))
    assert (other.causes["need"] == -1).all()
    assert other.causes["evidence"].tolist() == other.causes["doc_id"].tolist()
    assert other.query_details["judged"].between(0, 1).all()
    scored = other.query_details.dropna(subset="unjudged_low")
    assert (scored["unjudged_low"] <= scored["unjudged_high"]).all()
    texts = collect(few)
    assert (texts.causes["need"] >= 0).all()
    assert texts.query_details[["judged", "unjudged_low", "unjudged_high"]].isna().all(axis=None)


def test_the_context_is_cut_where_the_primary_metric_is(few: Outcome) -> None:
    run = collect(few)
    context = run.context
    assert (context["kept"].between(context["start"], context["end"])).all()
    delivered = context[context["kept"] > context["start"]]
    # By rank from 1 without a gap, and nothing after what was cut.
    for _, rows in delivered.groupby(["configuration", "query_id"]):
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
        assert (rows["kept"] == rows["end"])[:-1].all()
    assert run.configurations["context_tokens"].between(400, 500).all()
    later = context[context["kept"] == context["start"]]
    assert later.groupby(["configuration", "query_id"]).size().max() <= 5


def test_the_lengths_of_chunks_add_up(few: Outcome) -> None:
    run = collect(few)
    counted = run.chunk_lengths.groupby("configuration")["chunks"].sum()
    assert counted.to_dict() == {name: facts["chunks"] for name, facts in run.facts.items()}


def test_metadata_and_examples_are_json(few: Outcome) -> None:
    run = collect(few)
    assert [json.loads(text) for text in run.questions["metadata"]] == [dict(query.metadata) for query in few.run.dataset.queries]
    assert all(isinstance(json.loads(text), list) for text in run.chunk_faults["examples"])


def test_half_a_surrogate_pair_is_replaced_by_one_character() -> None:
    dataset = Dataset("odd", (Document("d", "a\ud800b. What?"),), (Query("q", "\udfff?"),), (), (Need("q", (Span("d", 0, 3),)),))
    labels = Labels.of(dataset)
    assert encodable("a\ud800b") == "a\ufffdb"
    assert questions_table(dataset, labels)["text"].tolist() == ["\ufffd?"]
    assert covering_passages(dataset, labels, [])["text"].tolist() == ["a\ufffdb. What?"]


def test_passages_of_neighbouring_slices_are_one(few: Outcome) -> None:
    dataset, labels = few.run.dataset, few.run.labels
    nothing = replace(labels, **{f"alternative_{part}": np.zeros(0, dtype=np.int64) for part in ("need", "doc", "start", "end")})
    shown = pd.DataFrame({"doc": [1, 1, 1, 0], "start": [0, 10, 30, 5], "end": [10, 20, 40, 8]})
    found = covering_passages(dataset, nothing, [shown])
    assert list(zip(found["doc_id"], found["start"], found["end"], strict=True)) == [
        (dataset.documents[0].doc_id, 5, 8),
        (dataset.documents[1].doc_id, 0, 20),
        (dataset.documents[1].doc_id, 30, 40),
    ]


def test_the_manifest_names_the_pickled_weights_of_every_model(few: Outcome, tmp_path: Path) -> None:
    assert collect(few).manifest["pickles"] == {}
    model, other = (save_model(tmp_path / name, "BertModel") for name in ("model", "other"))
    for folder in (model, other):
        (Path(folder) / "2_Dense").mkdir()
        (Path(folder) / "2_Dense" / "pytorch_model.bin").touch()
    (tmp_path / "documents.jsonl").write_text(json.dumps({"doc_id": "d", "text": "Ada wrote it."}))
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "Who?", "relevant_doc_ids": ["d"]}))
    embedding = {"kind": "sentence-transformers", "model": model, "backend": "torch", "allow_pickle": True}
    pipeline = {"embedding": embedding, "rerank": {"kind": "late-interaction", "model": other, "allow_pickle": True}}
    settings = {"name": "x", "dataset": {"kind": "golden", "path": str(tmp_path)}, "pipeline": pipeline}
    outcome = run_experiment(experiment_of(settings | {"metrics": ["recall@1"]}, "test"), tmp_path / "outputs", lambda _: None)
    assert collect(outcome).manifest["pickles"] == {path: ["2_Dense/pytorch_model.bin"] for path in (model, other)}
