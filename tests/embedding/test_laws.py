"""What holds for every embedder of the table, by its entry alone."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from workbench.embedding.base import Embedder
from workbench.embedding.registry import EMBEDDERS

TEXTS = [
    "Cats purr when they are content.",
    "Dogs bark at strangers.",
    "a",
    "Größe, naïve, 😀",
    "word " * 200,
    "Cats purr when they are content.",
]
ENTRIES = [(kind, dict(example)) for kind in EMBEDDERS for example in EMBEDDERS[kind].examples]


@pytest.fixture(params=ENTRIES, ids=lambda entry: entry[0])
def embedder(request: pytest.FixtureRequest, new_provider: Callable, small_model: str) -> Embedder:
    kind, settings = request.param
    fields = EMBEDDERS[kind].model_fields
    if "base_url" in fields:
        settings = settings | {"base_url": new_provider().host + ("/v1" if kind == "openai" else "")}
    elif kind == "static":  # the whole vocabulary takes a minute to distil
        settings = settings | {"model": small_model}
    return EMBEDDERS[kind].model_validate(settings)


def test_vectors_are_finite_of_unit_length_and_one_for_each_text(embedder: Embedder) -> None:
    vectors = embedder.encode(TEXTS, "document")
    assert vectors.dtype == np.float32
    assert len(vectors) == len(TEXTS)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_equal_texts_have_equal_vectors_whatever_stands_beside_them(embedder: Embedder) -> None:
    together, alone = embedder.encode(TEXTS, "query"), np.vstack([embedder.encode([text], "query") for text in TEXTS])
    assert (together * alone).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert together[0] @ together[5] == pytest.approx(1, abs=1e-5)
    assert together[0] @ together[1] < 0.999


def test_lengths_count_every_input_and_the_window_is_a_number_of_tokens(embedder: Embedder) -> None:
    lengths = embedder.lengths(TEXTS, "document")
    assert lengths.dtype == np.int64
    assert lengths[4] > lengths[0] > 0
    assert lengths[0] == lengths[5]
    assert embedder.window() >= 8


def test_what_decides_a_vector_is_json_and_a_smaller_window_is_another_embedder(embedder: Embedder) -> None:
    identity = embedder.identity("document")
    assert json.loads(json.dumps(identity, allow_nan=False)) == identity
    smaller = embedder.model_copy(update={"max_tokens": 16})
    assert smaller.identity("document") != identity
    assert smaller.window() == 16
    assert embedder == EMBEDDERS[embedder.kind].model_validate(embedder.model_dump())
