"""Rerank with a cross-encoder: a model that reads query and text together."""

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.components.embedding.base import AllowPickle
from workbench.components.embedding.torch_model import from_files, model_settings, positions
from workbench.components.reranking.base import Floats, Pair, PairReranker
from workbench.core import batching
from workbench.core.environment import require_installed
from workbench.core.errors import ModelError
from workbench.llm.models.files import locate, model_fingerprint, require_safetensors
from workbench.llm.models.tokenizers import input_lengths, special_tokens, tokenizer_file

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

# The padded tokens and the pairs of a batch.
_TOKENS, _PAIRS = 8_192, 128
_FIX = "name a folder or a hub's name such as cross-encoder/ms-marco-MiniLM-L6-v2"


class CrossEncoderReranker(PairReranker):
    """A sentence-transformers CrossEncoder, run by torch. The score is the model's logit, which has no fixed scale.

    A pair beyond the window is truncated, the longer of query and text first.
    """

    assumed_speed: ClassVar[tuple[float, float]] = (3, 60)

    kind: Literal["cross-encoder"] = "cross-encoder"
    model: str = Field(min_length=1, description="The model: a folder, or a name on the Hugging Face Hub.")
    max_tokens: int | None = Field(
        default=None, ge=8, description="The window of query and text together: what is beyond is truncated. Default: the model's."
    )
    allow_pickle: AllowPickle = False

    def models(self) -> tuple[str, ...]:
        return (self.model,)

    def window(self) -> int:
        """Return `max_tokens` or the model's own window, read from its settings."""
        most = positions(self.model)
        if self.max_tokens and self.max_tokens > most:
            raise ModelError(f"max_tokens {self.max_tokens} is beyond the {most} positions of {self.model}", f"choose at most {most}")
        limit = model_settings(self.model, "sentence_bert_config.json").get("max_seq_length")
        own = limit or model_settings(self.model, "tokenizer_config.json").get("model_max_length", most)
        return self.max_tokens or min(most, int(own))

    def check(self) -> None:
        """Raise ModelError if a package or the model is missing, has pickles, or is no cross-encoder with one score."""
        require_installed(f"the model {self.model}", "torch", "sentence_transformers")
        try:
            locate(self.model)
        except ModelError as error:
            raise ModelError(error.what, _FIX) from error
        tokenizer_file(self.model)
        require_safetensors(self.model, self.allow_pickle)
        self.window()
        settings = model_settings(self.model, "config.json")
        architectures = [str(name) for name in settings.get("architectures") or ()]
        if not any(name.endswith("ForSequenceClassification") for name in architectures):
            # The library would add a head of random weights.
            what = f"{self.model} is not a cross-encoder: config.json names {', '.join(architectures) or 'no architecture'}"
            raise ModelError(f"{what}, not one ForSequenceClassification", _FIX)
        labels = len(settings.get("id2label") or ()) or int(settings.get("num_labels", 2))
        if labels != 1:
            raise ModelError(f"{self.model} gives a pair {labels} scores, not one", _FIX)

    def identity(self) -> dict[str, Any]:
        model, window = model_fingerprint(self.model), self.window()
        return {"kind": self.kind, "version": self.version, "pool": self.pool, "model": model, "window": window}

    def batches(self, pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
        texts = list(dict.fromkeys(part for pair in pairs for part in pair))
        tokens = dict(zip(texts, (input_lengths(texts, self.model) - special_tokens(self.model)).tolist(), strict=True))
        lengths = np.array([tokens[query] + tokens[text] for query, text in pairs], dtype=np.int64)
        for batch in batching.padded_batches(np.minimum(lengths, self.window()), _TOKENS, _PAIRS):
            yield [pairs[index] for index in batch.tolist()]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        import torch

        self.check()
        # The usual sigmoid would make the best scores equal.
        scores = _loaded(self.model, self.window()).predict(
            list(pairs), batch_size=len(pairs), activation_fn=torch.nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float64)


@functools.lru_cache(maxsize=2)
def _loaded(model: str, window: int) -> "CrossEncoder":
    """Load the model, cut at `window` tokens, on CUDA if torch supports it. The last two models stay in memory."""
    import torch
    from sentence_transformers import CrossEncoder

    return from_files(model, CrossEncoder, _FIX, device="cuda" if torch.cuda.is_available() else "cpu", max_length=window)
