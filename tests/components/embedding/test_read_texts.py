"""Texts are read once in a process."""

import numpy as np

from workbench.components.embedding.embed import MemoryVectorCache, embed, read_texts, text_keys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder

EMBEDDER = SentenceTransformerEmbedder()
TEXTS = ["Leave lapses on 30 June.", "Cards are suspended.", "Leave lapses on 30 June."]


def test_a_text_has_its_vector_and_the_stems_of_its_words() -> None:
    read = read_texts(TEXTS, EMBEDDER, "document", MemoryVectorCache())
    assert list(read) == TEXTS[:2]
    assert read["Cards are suspended."].words == {"card", "suspend"}
    np.testing.assert_array_equal(
        [text.vector for text in read.values()], embed(TEXTS[:2], EMBEDDER, "document", MemoryVectorCache()).vectors
    )


def test_a_text_is_embedded_once_by_a_process() -> None:
    read_texts(TEXTS, EMBEDDER, "document", MemoryVectorCache())
    second = MemoryVectorCache()
    again = read_texts([*TEXTS, "A berth is closed."], EMBEDDER, "document", second)
    assert list(again)[-1] == "A berth is closed."
    assert second.present(text_keys(list(again), EMBEDDER, "document")) == set(text_keys(["A berth is closed."], EMBEDDER, "document"))
