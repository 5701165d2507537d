from pathlib import Path

import pytest

from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.storage.result_store import MANIFEST, Store
from workbench.core.storage.stored_files import EntryManifest
from workbench.runner.execution.plan import EncodingModel, Speed, speeds_of

MINILM = EncodingModel("all-MiniLM-L6-v2", "openvino bfloat16")


def measured(store: Store, key: str, tokens: int, seconds: float, model: EncodingModel | None = MINILM) -> None:
    """Store a result that encoded so many tokens in so many seconds."""
    named = {"model": model.model, "encoder": model.encoder} if model else {}
    entry = store.obtain("vectors", key, lambda writer: writer.values("encoded", {"tokens": tokens} | named))
    path = entry.folder / MANIFEST
    manifest = EntryManifest.read(path.read_bytes())
    path.write_text(EntryManifest.of(manifest.kind, manifest.key, seconds, manifest.files).model_dump_json())


def test_the_speed_is_the_range_of_what_the_model_measured_and_a_little_more(tmp_path: Path) -> None:
    store = Store(tmp_path)
    measured(store, "a", 40_000, 10)
    measured(store, "b", 80_000, 10)
    measured(store, "c", 500_000, 10, EncodingModel("all-MiniLM-L6-v2", "torch float32"))
    measured(store, "d", 500_000, 10, EncodingModel("other", "openvino bfloat16"))
    assert speeds_of(store, [MINILM]) == {MINILM: Speed(3_200, 10_000, True)}


@pytest.mark.parametrize(("tokens", "seconds"), [(36, 3.0), (19_999, 30.0), (20_000, 1.9)])
def test_results_that_are_too_small_to_measure_a_speed_are_ignored(tmp_path: Path, tokens: int, seconds: float) -> None:
    store = Store(tmp_path)
    measured(store, "toy", tokens, seconds)
    assert speeds_of(store, [MINILM]) == speeds_of(Store(tmp_path / "empty"), [MINILM])
    measured(store, "large", 20_000, 2)
    assert speeds_of(store, [MINILM]) == {MINILM: Speed(8_000, 12_500, True)}


def test_results_of_earlier_versions_do_not_name_their_model_and_are_ignored(tmp_path: Path) -> None:
    store = Store(tmp_path)
    measured(store, "a", 40_000, 10, None)
    assert not speeds_of(store, [MINILM])[MINILM].measured


def test_an_assumed_speed_depends_on_the_encoder_and_allows_for_a_busy_machine(tmp_path: Path) -> None:
    embedders = StaticEmbedder(), SentenceTransformerEmbedder(backend="openvino"), SentenceTransformerEmbedder(backend="torch")
    models = [*map(EncodingModel.of, embedders), EncodingModel("served", "a provider")]
    static, fast, plain, served = speeds_of(Store(tmp_path), models).values()
    assert static.low > fast.high > plain.high == served.high
    for speed in (static, fast, plain, served):
        assert speed.high == 5 * speed.low
        assert not speed.measured
