from pathlib import Path

import pytest

from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.embedding.static import StaticEmbedder
from workbench.execution.plan import assumed_rate, measured_rate
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
