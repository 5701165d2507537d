"""A model that converts, distils and encodes in a moment: for tests of backends, caches and processes, not of meaning."""

import json
from pathlib import Path

import pytest
import tokenizers

from tests.shared import built_once
from workbench.llm.models.files import MINILM, locate

WORDS, POSITIONS = 3_000, 512


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of sentence-transformers with a BERT of one layer, random weights and the first 3,000 tokens of all-MiniLM-L6-v2."""
    return str(built_once(tmp_path_factory, "tiny-model", save_tiny_model) / "model")


def save_tiny_model(folder: Path) -> None:
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    sizes = {"hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    torch.manual_seed(0)
    bert = transformers.BertConfig(vocab_size=WORDS, max_position_embeddings=POSITIONS, initializer_range=0.3, **sizes)
    transformers.BertModel(bert).save_pretrained(folder / "plain")
    special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=small_tokenizer(), model_max_length=POSITIONS, model_input_names=["input_ids", "attention_mask"], **special
    ).save_pretrained(folder / "plain")
    parts = [modules.Transformer(str(folder / "plain")), modules.Pooling(sizes["hidden_size"], pooling_mode="mean")]
    SentenceTransformer(modules=parts, device="cpu").save(str(folder / "model"), create_model_card=False)


def small_tokenizer() -> tokenizers.Tokenizer:
    """The tokenizer of all-MiniLM-L6-v2 with its first 3,000 tokens."""
    raw = json.loads((locate(MINILM) / "tokenizer.json").read_text("utf-8"))
    raw["model"]["vocab"] = {word: number for word, number in raw["model"]["vocab"].items() if number < WORDS}
    return tokenizers.Tokenizer.from_str(json.dumps(raw | {"truncation": None, "padding": None}))
