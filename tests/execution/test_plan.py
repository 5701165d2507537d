from pathlib import Path

import pytest

from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.embedding.static import StaticEmbedder
from workbench.execution.plan import assumed_rate, measured_rate, plan_experiment, plan_lines
from workbench.experiment.read import experiment_of
from workbench.storage.result_store import Draft, Store


def test_the_speed_is_that_of_the_encoders_in_use(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for key, encoder in (("a", "openvino bfloat16"), ("b", None)):

        def compute(draft: Draft, encoder: str | None = encoder) -> None:
            draft.values("encoded", {"tokens": 1000} | ({"encoder": encoder} if encoder else {}))

        store.obtain("vectors", key, compute)
    # An entry that does not say so was made before there were backends, by torch.
    seconds = {key: store.get("vectors", key).seconds for key in "ab"}
    assert measured_rate(store, {"openvino bfloat16"}) == pytest.approx(1000 / seconds["a"])
    assert measured_rate(store, {"torch float32"}) == pytest.approx(1000 / seconds["b"])
    assert measured_rate(store, {"openvino bfloat16", "torch float32"}) == pytest.approx(2000 / sum(seconds.values()))
    assert measured_rate(store, {"openai"}) is None


def test_before_anything_was_measured_the_slowest_encoder_decides() -> None:
    fast, plain, static = (
        embedder.encoder().name
        for embedder in (
            SentenceTransformerEmbedder(backend="openvino"),
            SentenceTransformerEmbedder(backend="torch"),
            StaticEmbedder(),
        )
    )
    assert assumed_rate({static}) > assumed_rate({fast}) > assumed_rate({plain}) == assumed_rate({fast, plain, static})
    assert assumed_rate({"a served model"}) == assumed_rate({plain}) == assumed_rate(set())


def test_the_plan_names_deliveries_that_are_not_what_is_measured(place: Path) -> None:
    def lines(metrics: list[str], **retrieval: object) -> list[str]:
        settings = {
            "name": "planned",
            "dataset": {"kind": "golden", "path": str(place / "data")},
            "sweep": {"chunking": [{"kind": "fixed", "size": [16, 32]}], "retrieval": {"kind": "bm25", **retrieval}},
            "metrics": metrics,
        }
        return plan_lines(plan_experiment(experiment_of(settings, "here"), place / "outputs"))[5:]

    both = "all 2 configurations"
    assert lines(["span_recall@10t"]) == []
    assert lines(["span_recall@10t"], deliver={"tokens": 20}) == [
        f"What is measured is not what is delivered: span_recall@10t reads 10 tokens, but {both} deliver 20."
    ]
    assert lines(["span_recall@50000t"]) == [
        f"The whole corpus fits into 50,000 tokens: {both} deliver everything that they find, and its order does not matter."
    ]
    assert lines(["recall@1", "span_recall@40t"], k=2) == [
        "Metrics at 40t read 40 tokens of the ranking, but the k chunks that fixed-16-0 delivers hold fewer."
    ]
