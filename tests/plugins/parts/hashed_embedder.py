"""An embedder of another package that needs no model: sums of random vectors of tokens. Tests that are not about meaning embed with it."""

import functools
from typing import Literal

import numpy as np

from workbench.components.embedding.base import Embedder
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import input_lengths, model_tokenizer


class HashedEmbedder(Embedder):
    """Texts are near each other that share rare tokens of all-MiniLM-L6-v2, whose window it has too."""

    kind: Literal["hashed"] = "hashed"
    model: str = MINILM
    dimensions: int = 384

    def identity(self, role):
        return {"kind": self.kind, "version": self.version, "dimensions": self.dimensions, "window": self.window()}

    def window(self):
        return self.max_tokens or 256

    def lengths(self, texts, role):
        return input_lengths(texts, self.model)

    def encode(self, texts, role):
        encodings = model_tokenizer(self.model).encode_batch_fast(list(texts))
        table = token_vectors(self.model, self.dimensions)
        # The window as the model cuts it: the first tokens, and the special one at the end.
        sums = np.array([table[list({*encoding.ids[: self.window() - 1], encoding.ids[-1]})].sum(axis=0) for encoding in encodings])
        sums = sums.reshape(len(texts), self.dimensions)
        return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)


@functools.cache
def token_vectors(model, dimensions):
    """A random direction for each token, with more weight for rare ones: WordPiece numbers them by frequency."""
    tokens = model_tokenizer(model).get_vocab_size()
    directions = np.random.default_rng(0).standard_normal((tokens, dimensions))
    return directions * np.log2(2 + np.arange(tokens))[:, None] ** 2
