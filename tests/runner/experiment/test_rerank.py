"""The stage `rerank` of an experiment: how it is written, how configurations are named, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.core.errors import ExperimentError
from workbench.llm.models.files import MINILM, locate
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.configuration import Configuration

DATASET = {"kind": "golden", "path": "experiments/handbook"}


def configurations(**sections) -> tuple[Configuration, ...]:
    settings = {"name": "x", "dataset": DATASET, "metrics": ["recall@5"], **sections}
    return experiment_of(settings, "x.yaml").configurations


def named(**sections) -> list[str]:
    return [configuration.name for configuration in configurations(**sections)]


def faults(**sections) -> list[str]:
    with pytest.raises(ExperimentError) as caught:
        configurations(**sections)
    return [line.removeprefix("x.yaml: ") for line in caught.value.lines]


def test_a_reranker_is_an_axis_and_none_leaves_it_out():
    for none in (None, "none", {"kind": "none"}):
        assert named(sweep={"rerank": [none, {"kind": "late-interaction"}]}) == ["fixed-256-0", "fixed-256-0-late_interaction"]
    sweep = {"retrieval": [{"kind": "dense"}, {"kind": "bm25"}], "rerank": [None, {"kind": "late-interaction", "pool": [20, 50]}]}
    assert named(sweep=sweep) == [
        *("fixed-256-0", "fixed-256-0-late_interaction-pool20", "fixed-256-0-late_interaction"),
        *("fixed-256-0-bm25", "fixed-256-0-bm25-late_interaction-pool20", "fixed-256-0-bm25-late_interaction"),
    ]


def test_the_key_rerank_of_retrieval_is_the_same_stage():
    stage = configurations(pipeline={"rerank": {"kind": "late-interaction", "pool": 30}})
    key = configurations(pipeline={"retrieval": {"kind": "dense", "rerank": {"kind": "late-interaction", "pool": 30}}})
    assert stage == key
    retrieval = [{"kind": "dense", "rerank": {"kind": "mmr"}}, {"kind": "dense", "rerank": None}]
    assert [one.rerank.kind if one.rerank else None for one in configurations(sweep={"retrieval": retrieval})] == ["mmr", None]


def test_both_keys_at_once_are_one_line():
    retrieval = {"kind": "dense", "rerank": {"kind": "mmr"}}
    assert faults(pipeline={"retrieval": retrieval, "rerank": {"kind": "mmr"}}) == [
        "rerank is a key of retrieval and a stage of its own; keep one of them"
    ]


def test_a_mistake_is_one_line(wording):
    def line_of(settings):
        (line,) = faults(pipeline={"rerank": settings})
        assert faults(sweep={"rerank": [None, settings]}) == [line]
        return line

    wording(
        line_of,
        [
            {"kind": "late-interction"},
            {"kind": "mmr", "pol": 20},
            {"kind": "mmr", "relevance": 2},
            {"kind": "cross-encoder"},
            {"kind": "endpoint", "model": "m"},
            {"kind": "late-interaction", "embedder": {"kind": "static"}},
            "late-interaction",
            {"kind": "mmr", "pool": 5},
        ],
        None,
    )


@pytest.mark.parametrize("kind", ["late-interaction", "cross-encoder"])
def test_a_model_that_is_not_there_is_one_line(kind, tmp_path):
    (tmp_path / "empty").mkdir()
    (line,) = faults(pipeline={"rerank": {"kind": kind, "model": str(tmp_path / "empty")}})
    assert line.startswith(f"rerank: the folder {tmp_path / 'empty'} has no config.json; name ")
    (line,) = faults(pipeline={"rerank": {"kind": "cross-encoder", "model": MINILM}})
    assert line.startswith("rerank: all-MiniLM-L6-v2 is not a cross-encoder: config.json names BertModel")


def test_late_interaction_uses_the_model_of_the_embedder_for_every_retriever(tmp_path: Path):
    for path in locate(MINILM).iterdir():
        (tmp_path / path.name).symlink_to(path)
    found = configurations(
        pipeline={"embedding": {"model": str(tmp_path)}, "rerank": {"kind": "late-interaction"}},
        sweep={"retrieval": [{"kind": "dense"}, {"kind": "bm25"}]},
    )
    assert [one.embedding is None for one in found] == [False, True]
    rerankers = [one.rerank for one in found if isinstance(one.rerank, LateInteractionReranker)]
    assert [one.token_embedder.model for one in rerankers] == [str(tmp_path)] * 2
    (default,) = configurations(pipeline={"retrieval": {"kind": "bm25"}, "rerank": {"kind": "late-interaction"}})
    assert default.rerank.token_embedder == SentenceTransformerEmbedder()


def test_a_named_model_is_shown_in_the_name(tmp_path: Path):
    for path in locate(MINILM).iterdir():
        (tmp_path / path.name).symlink_to(path)
    models = [None, str(tmp_path)]
    assert named(sweep={"rerank": [{"kind": "late-interaction", "model": models}]})[0] == "fixed-256-0-late_interaction"
    assert len(set(named(sweep={"rerank": [{"kind": "late-interaction", "model": models}]}))) == 2


@pytest.mark.parametrize("embedding", [{"kind": "static"}, {"kind": "ollama", "model": "m", "max_tokens": 64, "tokenizer": MINILM}])
def test_an_embedder_without_token_vectors_is_one_line(embedding):
    rerank = {"kind": "late-interaction"}
    (line,) = faults(pipeline={"embedding": embedding, "rerank": rerank})
    assert line.startswith(
        f"rerank 'late-interaction' needs token vectors, and embedding '{embedding['kind']}' has none; name another model"
    )
    assert len(named(pipeline={"embedding": embedding, "rerank": rerank | {"model": MINILM}})) == 1


def test_several_configurations_with_the_same_fault_are_one_line():
    sweep = {"chunking": [{"kind": "fixed", "size": [64, 128, 256]}], "rerank": [{"kind": "mmr", "pool": 5}]}
    assert len(faults(sweep=sweep)) == 1


def test_a_cross_encoder_of_three_labels_is_one_line(tmp_path: Path):
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).symlink_to(locate(MINILM) / name)
    labels = {str(number): f"LABEL_{number}" for number in range(3)}
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "id2label": labels}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (line,) = faults(pipeline={"rerank": {"kind": "cross-encoder", "model": str(tmp_path)}})
    assert line.startswith(f"rerank: {tmp_path} gives a pair 3 scores, not one; name a folder or")
