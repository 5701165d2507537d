import numpy as np
import pytest

from workbench.components.embedding.base import NO_WINDOW
from workbench.components.embedding.embed import embed
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.errors import ModelError
from workbench.core.storage.vector_cache import VectorCache

TEXTS = ["the city council voted for a new school", "the school and the city", "he plays music in a band", "music", "😀", "", "\x00"]


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def static(small_model, cache_folder, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(cache_folder))
    return StaticEmbedder(model=small_model, dimensions=64)


def test_every_text_has_a_unit_vector_whatever_is_in_it(static):
    made = static.encode(TEXTS, "document")
    assert (made.shape, made.dtype) == ((7, 64), np.float32)
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(made[4], made[5])


def test_texts_about_one_thing_are_nearer_than_others(static):
    made = static.encode(TEXTS, "document")
    assert made[0] @ made[1] > 0.1 + made[0] @ made[2]
    assert made[2] @ made[3] > 0.1 + made[1] @ made[3]


def test_a_vector_is_the_weighted_mean_of_its_tokens_whatever_is_beside_it(static):
    together = static.encode(TEXTS, "document")
    np.testing.assert_array_equal(together, np.concatenate([static.encode([text], "query") for text in TEXTS]))
    words = static.encode(["music", "city", "music city", "city music"], "document").astype(float)
    np.testing.assert_allclose(words[2], words[3], atol=1e-6)
    assert np.linalg.matrix_rank(words[:3], tol=1e-4) == 2


def test_frequent_tokens_weigh_less(static):
    music, the, both = static.encode(["music", "the", "music the"], "document")
    assert both @ music > 0.1 + both @ the


def test_nothing_is_truncated_unless_a_window_is_asked_for(static, tmp_path):
    long = "music " * 5_000 + "city"
    assert static.window() == NO_WINDOW
    narrow = static.model_copy(update={"max_tokens": 8})
    cache = VectorCache(tmp_path / "vectors.sqlite")
    made, cut = embed([long], static, "document", cache), embed([long], narrow, "document", cache)
    assert made.lengths.tolist() == cut.lengths.tolist() == [5_001]
    assert (made.tokens_encoded, cut.tokens_encoded) == (5_001, 8)
    np.testing.assert_allclose(cut.vectors[0], narrow.encode(["music " * 8], "document")[0], atol=1e-6)
    assert not np.array_equal(made.vectors, cut.vectors)
    assert static.identity("query") == static.identity("document") != narrow.identity("document")


@pytest.mark.slow
def test_it_is_distilled_once_for_all_processes_and_always_to_the_same_bytes(tiny_model, tmp_path, monkeypatch, fork):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    made = StaticEmbedder(model=tiny_model, dimensions=64).encode(TEXTS, "document")
    (entry,) = (tmp_path / "cache" / "static").glob("*/table.npy")
    script = f"""
import sys
from workbench.components.embedding.static import StaticEmbedder
made = StaticEmbedder(model={tiny_model!r}, dimensions=64).encode({TEXTS!r}, "document")
print("torch" in sys.modules, made.tobytes().hex())
"""
    for folder, loaded in (("cache", "False"), ("other", "True")):
        assert fork(script, env={"WORKBENCH_CACHE": str(tmp_path / folder)}).output().split() == [loaded, made.tobytes().hex()]
    (again,) = (tmp_path / "other" / "static").glob("*/table.npy")
    assert again.parent.name == entry.parent.name
    assert again.read_bytes() == entry.read_bytes()


def test_no_more_dimensions_than_the_model_has(static):
    with pytest.raises(ModelError, match=r"dimensions 400 is beyond the 384 of .*; choose at most 384"):
        StaticEmbedder(model=static.model, dimensions=400).window()


def test_the_distillation_is_announced_until_it_is_done(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    embedder = StaticEmbedder(model=tiny_model, dimensions=8)
    least, most = embedder.preparation()
    assert 0 < least < most
    assert not list(tmp_path.iterdir())
    embedder.encode(["music"], "document")
    assert embedder.preparation() == (0, 0)
