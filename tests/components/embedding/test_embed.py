import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from workbench.components.embedding.embed import embed, missing_batches, text_keys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core import batching
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.models.tokenizers import input_lengths

TEXTS = ["the cat sat on the mat", "a theory of everything", "the cat sat on the mat", "short", "😀 naïve café"]

# Embeds the texts of a JSON file into a cache.
EMBED = """
import json, sys
from pathlib import Path
from workbench.core.storage.vector_cache import VectorCache
from workbench.components.embedding.embed import embed
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
texts = json.loads(Path(sys.argv[1]).read_text())
embed(texts, SentenceTransformerEmbedder(), "document", VectorCache(Path(sys.argv[2])))
"""


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.sqlite")


def test_vectors_come_in_the_order_of_the_texts_and_equal_texts_have_equal_ones(
    minilm: SentenceTransformerEmbedder, cache: VectorCache
) -> None:
    made = embed(TEXTS, minilm, "document", cache)
    assert made.vectors.shape == (5, 384)
    assert made.vectors.dtype == np.float32
    np.testing.assert_array_equal(made.vectors[0], made.vectors[2])
    alone = np.stack([minilm.encode([text], "document")[0] for text in TEXTS])
    assert (np.sum(made.vectors * alone, axis=1) > 0.99999).all()
    assert (made.vectors @ alone.T).argmax(axis=1).tolist() == [0, 1, 0, 3, 4]


def test_only_what_is_missing_is_encoded(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    first = embed(TEXTS, minilm, "document", cache)
    assert first.lengths.tolist() == input_lengths(TEXTS, minilm.model).tolist()
    assert first.tokens_encoded == first.lengths.sum() - first.lengths[2]
    again = embed([*reversed(TEXTS), "new"], minilm, "document", VectorCache(cache.path))
    assert again.tokens_encoded == 3
    np.testing.assert_array_equal(again.vectors[:5], first.vectors[::-1])
    # Without prompts a query is embedded as a document is.
    assert embed(TEXTS, minilm, "query", cache).tokens_encoded == 0


def test_no_texts_have_no_vectors(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    made = embed([], minilm, "document", cache)
    assert (len(made.vectors), len(made.lengths), made.tokens_encoded) == (0, 0, 0)


def test_a_prompt_changes_keys_vectors_and_lengths(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    asking = SentenceTransformerEmbedder(query_prompt="query: ")
    assert text_keys(TEXTS, asking, "document") == text_keys(TEXTS, minilm, "document")
    assert not set(text_keys(TEXTS, asking, "query")) & set(text_keys(TEXTS, minilm, "query"))
    plain, prompted = embed(TEXTS, minilm, "query", cache), embed(TEXTS, asking, "query", cache)
    assert (prompted.lengths - plain.lengths).tolist() == [2] * 5
    assert (np.sum(prompted.vectors * plain.vectors, axis=1) < 0.999).all()
    written = embed([f"query: {text}" for text in TEXTS], minilm, "query", cache)
    np.testing.assert_allclose(prompted.vectors, written.vectors, atol=1e-6)


def test_the_window_changes_keys_and_vectors_and_lengths_tell_what_was_cut(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    narrow = SentenceTransformerEmbedder(max_tokens=8)
    texts = ["one two three four five six seven eight nine ten", "short"]
    assert not set(text_keys(texts, narrow, "document")) & set(text_keys(texts, minilm, "document"))
    cut, whole = embed(texts, narrow, "document", cache), embed(texts, minilm, "document", cache)
    assert cut.lengths.tolist() == whole.lengths.tolist() == [12, 3]
    assert (cut.tokens_encoded, whole.tokens_encoded) == (8 + 3, 12 + 3)
    assert (np.sum(cut.vectors * whole.vectors, axis=1) > 0.999).tolist() == [False, True]
    # Of eight tokens two are special: six words are seen.
    np.testing.assert_allclose(cut.vectors[0], embed(["one two three four five six"], minilm, "document", cache).vectors[0], atol=1e-6)


def test_a_run_killed_midway_resumes_to_the_vectors_of_an_undisturbed_one(
    minilm: SentenceTransformerEmbedder, tmp_path: Path, fork: Callable
) -> None:
    texts = [f"number {number} of many" for number in range(400)]
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    path = tmp_path / "vectors.sqlite"
    keys = text_keys(texts, minilm, "document")
    child = fork(EMBED, tmp_path / "texts.json", path)
    while not path.exists() or not VectorCache(path).present(keys):
        assert child.poll() is None, child.communicate()
        time.sleep(0.005)
    child.kill()
    child.wait()
    done = VectorCache(path).present(keys)
    assert 0 < len(done) < len(texts)
    assert len(done) % 128 == 0
    resumed = embed(texts, minilm, "document", VectorCache(path))
    undisturbed = embed(texts, minilm, "document", VectorCache(tmp_path / "other.sqlite"))
    kept = sum(int(length) for key, length in zip(keys, resumed.lengths, strict=True) if key in done)
    assert resumed.tokens_encoded == undisturbed.tokens_encoded - kept
    np.testing.assert_array_equal(resumed.vectors, undisturbed.vectors)


def test_texts_in_blocks_are_embedded_as_all_at_once(
    minilm: SentenceTransformerEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"text {number % 60} of many" + " and more" * (number % 5) for number in range(150)]
    whole = embed(texts, minilm, "document", VectorCache(tmp_path / "one.sqlite"))
    monkeypatch.setattr("workbench.components.embedding.embed._TEXTS", 7)
    monkeypatch.setattr(batching, "BYTES", 16 * 384 * 11)
    room = np.full((150, 384), np.nan, dtype=np.float32)
    made = embed(texts, minilm, "document", VectorCache(tmp_path / "two.sqlite"), buffer=lambda shape: room[: shape[0]])
    assert made.vectors.base is room
    np.testing.assert_array_equal(room, whole.vectors)
    assert made.lengths.tolist() == whole.lengths.tolist()
    assert (
        made.tokens_encoded
        == whole.tokens_encoded
        == sum({text: int(length) for text, length in zip(texts, whole.lengths, strict=True)}.values())
    )


def test_what_is_missing_is_named_once_where_it_comes_first(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    sequences = [TEXTS[:2], [], [*TEXTS, "new, and longer than all the others"]]
    embed(["short"], minilm, "document", cache)
    batches = missing_batches(sequences, minilm, "document", cache)
    where = [pair for batch in batches for pair in zip(batch.sequences.tolist(), batch.places.tolist(), strict=True)]
    texts = [text for batch in batches for text in batch.texts(sequences)]
    assert dict(zip(where, texts, strict=True)) == {(0, 0): TEXTS[0], (0, 1): TEXTS[1], (2, 4): TEXTS[4], (2, 5): sequences[2][5]}
    assert [key for batch in batches for key in batch.cache_keys] == text_keys(texts, minilm, "document")
    lengths = [int(tokens) for batch in batches for tokens in batch.tokens]
    assert lengths == input_lengths(texts, minilm.model).tolist() == sorted(lengths, reverse=True)
    assert missing_batches([[]], minilm, "document", cache) == []


def test_missing_texts_are_counted_without_keeping_them_in_memory(minilm: SentenceTransformerEmbedder, cache: VectorCache) -> None:
    class Long(Sequence[str]):
        """Texts of 2,000 characters, made when they are asked for."""

        def __len__(self) -> int:
            return 4_000

        def __getitem__(self, rows: slice) -> list[str]:  # type: ignore[override]  # slices are all that is asked for here
            return [f"{row} " + "x" * 2_000 for row in range(*rows.indices(len(self)))]

    tracemalloc.start()
    try:
        batches = missing_batches([Long()], minilm, "document", cache)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(len(batch.places) for batch in batches) == 4_000
    # The texts are 8 MB.
    assert held < 1.6e6
