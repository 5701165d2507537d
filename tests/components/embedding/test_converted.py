"""Models of many kinds, tiny and of random weights: each goes through OpenVINO with torch's vectors, or through torch with a reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as models

from tests.tiny_models import WORDS, small_tokenizer
from workbench.components.embedding.embed import embed
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder, encoder_of
from workbench.core.errors import ModelError
from workbench.core.storage.vector_cache import VectorCache

SIZES = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
POSITIONS = 96
ROTARY = {**SIZES, "max_position_embeddings": POSITIONS, "head_dim": 8, "num_key_value_heads": 2}
LOCAL = {"max_position_embeddings": POSITIONS, "num_hidden_layers": 2, "local_attention": 16, "global_attn_every_n_layers": 2}
# Of odd lengths, of one word, of none, and of more than all positions.
TEXTS = ["the harbour", "", "who keeps the log? " * 9, "word " * 37, "No. " * 255, "a b c d e f g h i j k l m n o p q", "quay"]


def fairseq(model: Any, config: Any) -> Any:
    return model(config(**SIZES, max_position_embeddings=POSITIONS + 2, pad_token_id=1))


FAMILIES: dict[str, Callable[[], Any]] = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**SIZES, max_position_embeddings=POSITIONS, initializer_range=0.3)),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(vocab_size=WORDS, dim=32, n_layers=1, n_heads=4, hidden_dim=64, max_position_embeddings=POSITIONS)
    ),
    "roberta": lambda: fairseq(transformers.RobertaModel, transformers.RobertaConfig),
    "mpnet": lambda: fairseq(transformers.MPNetModel, transformers.MPNetConfig),
    # Two layers, of which the second sees only what is near.
    "modernbert": lambda: transformers.ModernBertModel(
        transformers.ModernBertConfig(**{**SIZES, **LOCAL, **{f"{name}_token_id": 1 for name in ("pad", "cls", "bos", "sep", "eos")}})
    ),
    "qwen3": lambda: transformers.Qwen3Model(transformers.Qwen3Config(**ROTARY)),
    "gpt2": lambda: transformers.GPT2Model(
        transformers.GPT2Config(vocab_size=WORDS, n_embd=32, n_layer=1, n_head=4, n_positions=POSITIONS, bos_token_id=101, eos_token_id=102)
    ),
    "t5": lambda: transformers.T5EncoderModel(
        transformers.T5Config(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4)
    ),
    "gemma3": lambda: transformers.Gemma3TextModel(transformers.Gemma3TextConfig(**ROTARY, use_bidirectional_attention=True)),
}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A model of a family as sentence-transformers saves it, with a cache of its own."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))

    def save(family: str, *rest: torch.nn.Module, pooling: str = "mean", **settings: Any) -> str:
        torch.manual_seed(0)
        plain = tmp_path / "plain"
        FAMILIES[family]().save_pretrained(plain)
        special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=small_tokenizer(), model_max_length=POSITIONS, model_input_names=["input_ids", "attention_mask"], **special
        ).save_pretrained(plain)
        parts = [models.Transformer(str(plain)), models.Pooling(32, pooling_mode=pooling), *rest]
        SentenceTransformer(modules=parts, device="cpu", **settings).save(str(tmp_path / family), create_model_card=False)
        return str(tmp_path / family)

    return save


def is_as_sentence_transformers_has_it(model: str) -> str:
    """The backend that was taken, once its vectors are those of the library and do not depend on their batch."""
    embedder = SentenceTransformerEmbedder(model=model)
    encoder = embedder.encoder()
    ours = embedder.encode(TEXTS, "document")
    theirs = SentenceTransformer(model, device="cpu").encode(TEXTS, prompt=embedder.prompt("document"), normalize_embeddings=True)
    assert ours.shape == theirs.shape
    assert (ours * theirs).sum(axis=1).min() >= 0.9999
    # So that a cosine of .9999 means the same text.
    assert (ours @ ours.T).min() < 0.99
    alone = np.vstack([embedder.encode([text], "document") for text in TEXTS])
    assert np.abs(ours - alone).max() <= (1e-7 if encoder.backend == "openvino" else 1e-6)
    return encoder.name if encoder.backend == "openvino" else encoder.why


@pytest.mark.slow
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("bert", "gemma3")])
def test_a_family_of_models_goes_through_openvino(family: str, saved: Callable[..., str]) -> None:
    model = saved(family, pooling="lasttoken" if family in ("qwen3", "gpt2") else "mean")
    assert SentenceTransformerEmbedder(model=model).window() == POSITIONS
    assert is_as_sentence_transformers_has_it(model).startswith("openvino")


ALONE = """
import os, sys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
if sys.argv[2] == "core":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
embedder = SentenceTransformerEmbedder(model=sys.argv[1])
print(*embedder.encode(["the harbour"], "document")[0].tolist(), embedder.encoder().backend)
"""


@pytest.mark.slow
@pytest.mark.parametrize("one", ["thread", "core"])
def test_a_gated_model_on_one_thread_or_core_does_not_end_the_process(
    one: str, saved: Callable[..., str], run_python: Callable[..., str]
) -> None:
    model = saved("qwen3", pooling="lasttoken")
    *numbers, backend = run_python(ALONE, model, one, env={"OMP_NUM_THREADS": "1"} if one == "thread" else None).split()
    theirs = SentenceTransformer(model, device="cpu").encode("the harbour", normalize_embeddings=True)
    assert (np.array(numbers, dtype=np.float32) * theirs).sum() >= 0.9999
    assert backend == "openvino"


def test_a_conversion_is_announced_until_it_is_done(saved: Callable[..., str], tmp_path: Path) -> None:
    embedder = SentenceTransformerEmbedder(model=saved("bert"), backend="openvino")
    least, most = embedder.preparation()
    assert 0 < least < most
    assert not (tmp_path / "cache").exists()
    embedder.encode(["the harbour"], "document")
    assert embedder.preparation() == (0, 0)


# After each test the conftest compares the root logger, which OpenVINO sets, with that before.
def test_what_openvino_cannot_trace_goes_through_torch_and_says_so(saved: Callable[..., str]) -> None:
    assert is_as_sentence_transformers_has_it(saved("gemma3")).startswith(("it cannot be converted (", "openvino"))


def test_other_pooling_a_dense_layer_prompts_and_nested_dimensions_are_in_the_vectors(saved: Callable[..., str]) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": "query"}
    model = saved("bert", models.Dense(32, 24), models.Normalize(), pooling="cls", truncate_dim=16, **prompts)
    assert is_as_sentence_transformers_has_it(model).startswith("openvino")
    embedder = SentenceTransformerEmbedder(model=model)
    assert embedder.encode(["a"], "query").shape == (1, 16)
    assert not np.allclose(embedder.encode(["a"], "query"), embedder.encode(["a"], "document"), atol=0.01)


def test_more_tokens_than_a_family_has_positions_for_are_refused(saved: Callable[..., str]) -> None:
    # Two of RoBERTa's 98 are for padding.
    with pytest.raises(ModelError, match=rf"max_tokens 97 is beyond the {POSITIONS} positions"):
        SentenceTransformerEmbedder(model=saved("roberta"), max_tokens=97).window()


def test_a_model_without_a_transformer_has_no_window_and_goes_through_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    model = str(tmp_path / "static")
    SentenceTransformer(modules=[models.StaticEmbedding(small_tokenizer(), embedding_dim=32)], device="cpu").save(
        model, create_model_card=False
    )
    embedder = SentenceTransformerEmbedder(model=model)
    assert encoder_of(model, "auto").why.endswith("is none of Transformer, Pooling, Dense, Normalize")
    texts = [text for text in TEXTS if text]
    found = embed(texts, embedder, "document", VectorCache(tmp_path / "vectors.sqlite")).vectors
    theirs = SentenceTransformer(model, device="cpu").encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    with pytest.raises(ModelError, match="has no transformer, and so no window; leave max_tokens out"):
        embedder.model_copy(update={"max_tokens": 64}).window()
