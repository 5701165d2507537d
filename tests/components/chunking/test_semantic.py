import numpy as np
import pytest

from workbench.components.chunking.semantic import SemanticChunker, distances
from workbench.components.chunking.sentences import sentences
from workbench.components.embedding.embed import using_vector_cache
from workbench.core.records import Document
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.models.files import MINILM, model_fingerprint
from workbench.llm.models.tokenizers import input_lengths

CATS = "Cats are small animals that purr. A kitten is a young cat. Cats hunt mice at night. Most cats dislike water. "
BANKS = "Interest rates rose last quarter. The central bank fights inflation. Bonds lose value when rates rise. Lenders raised their fees. "


def read(chunker: SemanticChunker, text: str) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in chunker.split(Document("d", text))]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_it_breaks_where_the_topic_changes(window: int) -> None:
    assert read(SemanticChunker(size=256, window=window), CATS + BANKS) == [CATS.strip(), BANKS.strip()]


def test_a_lower_percentile_breaks_more_often() -> None:
    counts = [len(read(SemanticChunker(size=256, percentile=percentile), CATS + BANKS)) for percentile in (95, 60, 20)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_what_is_too_long_is_cut_at_its_widest_seam() -> None:
    parts = read(SemanticChunker(size=80, percentile=99, tokens="characters"), CATS + BANKS)
    assert all(len(part) <= 80 for part in parts)
    assert " ".join(parts) == (CATS + BANKS).strip()


def test_sentences_that_are_all_alike_are_cut_by_size_alone_and_evenly() -> None:
    parts = read(SemanticChunker(size=50, tokens="characters"), "The same one. " * 16)
    assert {len(part) for part in parts} == {27}


def test_the_distance_is_one_less_the_cosine_of_the_sentences_on_both_sides() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32)
    assert distances(vectors, 1).tolist() == [0, 1, 0]
    assert distances(vectors, 2).tolist() == pytest.approx([1 - 0.5**0.5, 1, 1 - 0.5**0.5], abs=1e-5)


def test_no_input_is_longer_than_the_size_on_real_documents(corpus) -> None:
    for document in sorted(corpus("covid-qa"), key=lambda document: len(document.text))[:3]:
        chunks = SemanticChunker(size=128).split(document)
        assert input_lengths([chunk.embedded_text for chunk in chunks], MINILM).max() <= 128
        starts = {start for start, _ in sentences(document.text)}
        assert np.mean([chunk.start in starts for chunk in chunks]) > 0.9


def test_a_cache_that_is_open_keeps_the_sentences_and_changes_no_chunk(tmp_path) -> None:
    document = Document("d", CATS + BANKS)
    alone = SemanticChunker(size=256).split(document)
    cache = VectorCache(tmp_path / "vectors.sqlite")
    puts = []
    put = cache.put
    cache.put = lambda keys, vectors: (puts.append(len(keys)), put(keys, vectors))[1]
    for _ in range(2):
        with using_vector_cache(cache):
            assert SemanticChunker(size=256).split(document) == alone
    assert sum(puts) == len(sentences(document.text))


def test_its_identity_holds_the_model_however_sizes_are_counted() -> None:
    identity = SemanticChunker(size=256, tokens="cl100k").identity()
    assert identity["embedding"]["model"] == model_fingerprint(MINILM)


def test_names_say_what_is_not_the_default() -> None:
    assert SemanticChunker(size=256).name == "semantic-256"
    assert SemanticChunker(size=256, percentile=80).name == "semantic-256-p80"
    assert SemanticChunker(size=256, window=1).name == "semantic-256-w1"
