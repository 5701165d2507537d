"""Average token vectors that were distilled once from a sentence-transformers model."""

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.components.embedding.base import NO_WINDOW, AllowPickle, Embedder, Role
from workbench.components.embedding.torch_model import model_settings, token_states
from workbench.core import batching
from workbench.core.environment import cache_folder, require_installed
from workbench.core.errors import ModelError
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.result_store import Store
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.progress import ProgressBar
from workbench.llm.models.files import MINILM, model_fingerprint, require_safetensors
from workbench.llm.models.tokenizers import Ints, model_tokenizer, special_ids

if TYPE_CHECKING:
    import tokenizers

# The weight of a token of probability p is _SIF / (_SIF + p) (Arora et al. 2017; the value is model2vec's).
_SIF = 1e-4
_BATCH = 1024
# Seconds on two cores, quiet and busy, with all-MiniLM-L6-v2 (docs/performance.md).
_DISTILLING = (40.0, 200.0)
_UNUSED = re.compile(r"\[unused\d+\]|<unused\d+>|<pad>")
# Marks of WordPiece and SentencePiece for a token's place in its word.
_CONTINUED = re.compile(r"^(##|▁|Ġ)")

Doubles = NDArray[np.float64]


class StaticEmbedder(Embedder):
    """The mean of a text's token vectors, distilled once from a sentence-transformers model: a hundred times as fast, but coarser.

    The distillation is that of model2vec (Tulkens & van Dongen 2024): the model encodes every token of the vocabulary, the vectors are
    reduced to their principal components, and frequent tokens get a lower weight by Zipf's law over the vocabulary's order. The first
    use takes a minute and saves the table in WORKBENCH_CACHE. Without `max_tokens`, nothing is truncated. A text without a known token
    gets the mean vector of the vocabulary.
    """

    kind: Literal["static"] = "static"
    model: str = Field(default=MINILM, min_length=1, description="The sentence-transformers model that the vectors are distilled from.")
    dimensions: int = Field(default=256, ge=8, description="The length of a vector, at most the model's own.")
    allow_pickle: AllowPickle = False

    def check(self) -> None:
        require_installed(f"the model {self.model}", "torch", "sentence_transformers")
        require_safetensors(self.model, self.allow_pickle)
        super().check()

    def identity(self, role: Role) -> dict[str, Any]:
        return {"kind": self.kind, "table": _recipe(self.model, self.dimensions), "window": self.window()}

    def window(self) -> int:
        hidden = model_settings(self.model, "config.json").get("hidden_size", self.dimensions)
        if self.dimensions > hidden:
            what = f"embedding dimensions {self.dimensions} is beyond the {hidden} of {self.model}"
            raise ModelError(what, f"choose at most {hidden}")
        return self.max_tokens or NO_WINDOW

    def preparation(self) -> tuple[float, float]:
        return (0.0, 0.0) if Store(cache_folder()).has("static", _recipe(self.model, self.dimensions)) else _DISTILLING

    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        return np.array([len(ids) for ids in self._ids(texts)], dtype=np.int64)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        self.check()
        table = _table(self.model, self.dimensions)
        means = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for index, ids in enumerate(self._ids(texts)):
            means[index] = table[ids[: self.window()]].sum(axis=0)
        unknown = ~means.any(axis=1)
        means[unknown] = table.sum(axis=0)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = model_tokenizer(self.model).encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


@functools.lru_cache(maxsize=4)
def _table(model: str, dimensions: int) -> Vectors:
    """Return a vector for each token, float32 (vocabulary, dimensions), zero for meaningless tokens. Distilled once for all processes."""
    store, key = Store(cache_folder()), _recipe(model, dimensions)
    entry = store.obtain("static", key, lambda writer: writer.array("table", _distil(model, dimensions)))
    return np.array(entry.array("table"), dtype=np.float32)


def _recipe(model: str, dimensions: int) -> str:
    return fingerprint("static", StaticEmbedder.version, model_fingerprint(model), dimensions, _SIF)


def _distil(model: str, dimensions: int) -> Vectors:
    tokens = _meaningful(model_tokenizer(model))
    vectors = _through_model(model, tokens)
    centred = vectors - vectors.mean(axis=0)
    # Eigenvectors come in ascending order of eigenvalue.
    _, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :dimensions]
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(dimensions)])
    # Zipf's law: the probability of the token of rank r is proportional to 1 / r.
    probabilities = 1 / np.arange(2, len(tokens) + 2)
    weights = _SIF / (_SIF + probabilities / probabilities.sum())
    table = np.zeros((model_tokenizer(model).get_vocab_size(), dimensions), dtype=np.float32)
    table[tokens] = (centred @ directions) * weights[:, None]
    return table


def _meaningful(tokenizer: "tokenizers.Tokenizer") -> Ints:
    """Return the ids of text tokens, frequent ones first: not special, not unused, not the one for unknown words."""
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    unknown = getattr(tokenizer.model, "unk_token", None)
    words = {word: number for word, number in tokenizer.get_vocab().items() if word != unknown and not _UNUSED.fullmatch(word)}
    order = sorted(words, key=lambda word: (_alphabet(word), words[word]))
    return np.array([words[word] for word in order if words[word] not in special], dtype=np.int64)


def _alphabet(token: str) -> int:
    """Rank a token: vocabularies begin with an unordered alphabet, whose ASCII letters are in every text and other letters in few."""
    text = _CONTINUED.sub("", token)
    return 1 if len(text) != 1 else 0 if text.isascii() else 2


def _through_model(model: str, ids: Ints) -> Doubles:
    """Return the model's last hidden state of each token, alone between the special tokens: float64 (tokens, hidden)."""
    before, after = special_ids(model)
    parts = []
    with ProgressBar(total=len(ids), unit="token", desc=f"distil {model} (once)") as bar:
        for part in batching.blocks(len(ids), _BATCH):
            rows = [[*before, token, *after] for token in ids[part]]
            parts.append(np.array([states[len(before)] for states in token_states(rows, model, 8)], dtype=np.float64))
            bar.update(len(rows))
    return np.concatenate(parts)
