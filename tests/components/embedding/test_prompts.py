"""Prompts of a model's own settings, as models on the hub bring them."""

import json
from pathlib import Path

import numpy as np
import pytest

from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder

from .conftest import copy_model

SETTINGS = "config_sentence_transformers.json"
TEXTS = ["the cat sat on the mat", "short"]


def with_prompts(folder: Path, prompts: dict[str, str], default: str | None = None) -> SentenceTransformerEmbedder:
    copy_model(folder, SETTINGS)
    (folder / SETTINGS).write_text(json.dumps({"prompts": prompts, "default_prompt_name": default}))
    return SentenceTransformerEmbedder(model=str(folder))


@pytest.mark.parametrize("name", ["document", "passage", "corpus"])
def test_a_models_own_prompts_are_before_the_texts_of_each_role(tmp_path, name):
    own, plain = with_prompts(tmp_path, {"query": "search query: ", name: "passage: "}), SentenceTransformerEmbedder()
    for role, prompt in (("query", "search query: "), ("document", "passage: ")):
        written = [prompt + text for text in TEXTS]
        np.testing.assert_allclose(own.encode(TEXTS, role), plain.encode(written, role), atol=1e-6)
        assert own.lengths(TEXTS, role).tolist() == plain.lengths(written, role).tolist()
    assert (np.sum(own.encode(TEXTS, "query") * own.encode(TEXTS, "document"), axis=1) < 0.999).all()
    assert own.identity("query") != own.identity("document")


def test_an_empty_prompt_turns_the_models_own_and_its_default_one_off(tmp_path):
    own = with_prompts(tmp_path, {"query": "search query: ", "document": "passage: "}, default="query")
    off = own.model_copy(update={"query_prompt": "", "document_prompt": ""})
    for role in ("query", "document"):
        np.testing.assert_allclose(off.encode(TEXTS, role), SentenceTransformerEmbedder().encode(TEXTS, role), atol=1e-6)
        assert off.lengths(TEXTS, role).tolist() == SentenceTransformerEmbedder().lengths(TEXTS, role).tolist()
