"""Embedders on a server: the base, with configured window and vocabulary, requests in batches and checked vectors, OpenAI's endpoint and Ollama's."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.components.embedding.base import Embedder, Role, Usage
from workbench.components.embedding.embed import shown_text
from workbench.core import batching
from workbench.core.errors import ModelError, RunError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.files import MINILM
from workbench.llm.models.server import KeyedModel, OllamaModel, ServedModel
from workbench.llm.models.tokenizers import CHARACTERS, CL100K, Ints, input_lengths, special_tokens, tokenise, vocabulary_digest

if TYPE_CHECKING:
    from openai import OpenAI


class RemoteEmbedder(Embedder, ServedModel, ABC):
    """An embedding model on a server, with the window, vocabulary and prompts from its settings.

    An input beyond the window is cut here, at a token of the vocabulary, so that no server refuses or silently truncates it.
    """

    stage: ClassVar[str] = "embedding"
    returns: ClassVar[str] = "embeddings"
    shorten: ClassVar[str] = "lower embedding.max_tokens or the chunks' size; embedding.tokenizer must be the vocabulary of the model"
    # Models with a known window and the vocabulary cl100k.
    known: ClassVar[Mapping[str, int]] = {}
    examples: ClassVar = ({"model": "words:latest", "tokenizer": MINILM, "max_tokens": 64},)

    model: str = Field(min_length=1, description="The model's name on the server.")
    tokenizer: str | None = Field(default=None, description="The vocabulary that counts inputs: a hub name, a folder or cl100k.")
    query_prompt: str | None = Field(default=None, description="The text before every question.")
    document_prompt: str | None = Field(default=None, description="The text before every chunk.")
    batch_texts: int = Field(default=128, ge=1, le=2048, description="The largest number of texts in a request.")

    @abstractmethod
    def _ask(self, texts: list[str], client: "OpenAI") -> tuple[Any, int | None]:
        """Request the vectors of some texts. Returns unchecked rows of numbers and the server's token count if it reports one."""

    def _cost(self, tokens: int) -> float | None:
        """Return the cost of the tokens, or None if no price is known."""

    @property
    def vocabulary(self) -> str:
        if self.tokenizer is not None:
            return self.tokenizer
        if self.model in self.known:
            return CL100K
        fix = "give embedding.tokenizer: the model's hub name or folder, or cl100k for an estimate"
        raise ModelError(f"the vocabulary of {self.model} is not known", fix)

    def window(self) -> int:
        """Return `max_tokens` or the model's known window. Raises ModelError before anything runs, also for an unknown vocabulary."""
        _ = self.vocabulary
        longest = self.known.get(self.model)
        if self.max_tokens is None and longest is None:
            raise ModelError(f"the window of {self.model} is not known", "give embedding.max_tokens, the tokens that its server reads")
        if self.max_tokens and longest and self.max_tokens > longest:
            raise ModelError(f"embedding max_tokens {self.max_tokens} is beyond the window of {self.model}", f"choose at most {longest}")
        return self.max_tokens or longest or 0

    def prompt(self, role: Role) -> str:
        """Return the text before every input of this role."""
        return (self.query_prompt if role == "query" else self.document_prompt) or ""

    def identity(self, role: Role) -> dict[str, Any]:
        """Return everything known to determine a vector. A server's change to another model under the same name goes unnoticed."""
        return {
            "kind": self.kind,
            "version": self.version,
            "model": self.model,
            "address": self.address,
            "window": self.window(),
            "vocabulary": vocabulary_digest(self.vocabulary),
            "prompt": self.prompt(role),
        }

    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        return self._count([self.prompt(role) + text for text in texts])

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        return self.encode_metered(texts, role)[0]

    def encode_metered(self, texts: Sequence[str], role: Role) -> tuple[Vectors, Usage]:
        """Return the vectors with the server's token count, or our own count if it reports none."""
        inputs = self._fitted([self.prompt(role) + text for text in texts])
        parts, usage = [], Usage()
        for part in batching.blocks(len(inputs), self.batch_texts):
            batch = inputs[part]
            rows, counted = self._call(functools.partial(self._ask, batch))
            parts.append(self._checked(rows, batch))
            tokens = int(self._count(batch).sum()) if counted is None else counted
            usage += Usage(tokens, self._cost(tokens))
        if len({part.shape[1] for part in parts}) > 1:
            raise RunError(f"{self.label} returned vectors of different dimensions", "check which model the server runs")
        return (np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)), usage

    def _count(self, texts: list[str]) -> Ints:
        if self.vocabulary in (CL100K, CHARACTERS):
            return np.array([len(tokens.starts) for tokens in tokenise(texts, self.vocabulary)], dtype=np.int64)
        return input_lengths(texts, self.vocabulary)

    def _fitted(self, texts: list[str]) -> list[str]:
        """Cut each text after the last token within the window."""
        room = self.window() - special_tokens(self.vocabulary)
        long = [index for index, length in enumerate(self._count(texts)) if length > self.window()]
        for index in long:
            (tokens,) = tokenise([texts[index]], self.vocabulary)
            texts[index] = texts[index][: int(tokens.ends[room - 1])]
        return texts

    def _checked(self, rows: Any, texts: list[str]) -> Vectors:
        """Return unit vectors. Raises RunError unless the rows are one for each text, of one dimension, finite and not zero."""
        fix = f"check that the server serves an embedding model under the name {self.model!r}"
        try:
            matrix = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            raise RunError(f"{self.label} returned vectors of different dimensions, or no numbers", fix) from None
        if matrix.ndim != 2 or len(matrix) != len(texts) or not matrix.shape[1]:
            received = len(matrix) if matrix.ndim else 0
            raise RunError(f"{self.label} returned {received} instead of {len(texts)} vectors", fix)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        if len(wrong := np.flatnonzero(~np.isfinite(norms))):
            raise RunError(f"{self.label} returned a vector that is not finite for {shown_text(texts, int(wrong[0]))}", fix)
        if len(wrong := np.flatnonzero(norms == 0)):
            raise RunError(f"{self.label} returned a vector of zeros, which has no direction, for {shown_text(texts, int(wrong[0]))}", fix)
        return np.asarray(matrix / norms, dtype=np.float32)


class OpenAIEmbedder(RemoteEmbedder, KeyedModel):
    """A model behind `/v1/embeddings`. With `price_per_million`, its cost is in timings.parquet.

    `api_key_env` names the environment variable with the key. A server on this machine needs no key.
    """

    known: ClassVar[Mapping[str, int]] = dict.fromkeys(("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"), 8191)

    kind: Literal["openai"] = "openai"
    dimensions: int | None = Field(default=None, ge=1, description="The length of the vectors to request; by default the model's own.")
    price_per_million: float | None = Field(default=None, ge=0, description="The price of a million tokens, for the costs in timings.")

    def identity(self, role: Role) -> dict[str, Any]:
        return super().identity(role) | {"dimensions": self.dimensions}

    def _cost(self, tokens: int) -> float | None:
        return None if self.price_per_million is None else tokens * self.price_per_million / 1e6

    def _ask(self, texts: list[str], client: "OpenAI") -> tuple[Any, int | None]:
        import openai

        # Request decimals: not every compatible server supports base64.
        dimensions = self.dimensions or openai.omit
        answer = client.embeddings.create(model=self.model, input=texts, encoding_format="float", dimensions=dimensions)
        rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        return rows, answer.usage.prompt_tokens if answer.usage else None

    def _checked(self, rows: Any, texts: list[str]) -> Vectors:
        vectors = super()._checked(rows, texts)
        if self.dimensions is not None and vectors.shape[1] != self.dimensions:
            what = f"{self.label} returned vectors of {vectors.shape[1]} dimensions, not the requested {self.dimensions}"
            raise RunError(what, "leave embedding.dimensions out: the server does not shorten vectors")
        return vectors


class OllamaEmbedder(OllamaModel, RemoteEmbedder):
    """A model pulled with `ollama pull` and identified by its digest. If a later pull changes the weights, it is another embedder."""

    kind: Literal["ollama"] = "ollama"

    def identity(self, role: Role) -> dict[str, Any]:
        return {key: value for key, value in super().identity(role).items() if key != "address"} | {"model": _digest(self)}

    def _ask(self, texts: list[str], client: "OpenAI") -> tuple[Any, int | None]:
        # truncate: the server must refuse inputs beyond its window. num_ctx: by default its window may be smaller than the model's.
        body = {"model": self.model, "input": texts, "truncate": False, "options": {"num_ctx": self.window()}}
        answer = self._mapping(client.post("/api/embed", cast_to=object, body=body))
        return answer.get("embeddings"), answer.get("prompt_eval_count")

    def _mapping(self, answer: object) -> dict[str, Any]:
        if not isinstance(answer, dict):
            raise RunError(f"{self.label} did not answer as Ollama does", "give the address of an Ollama server as embedding.base_url")
        return answer


@functools.cache
def _digest(embedder: OllamaEmbedder) -> str:
    """Return the digest of the model's weights, requested once per process so that the embedder cannot change during a run."""
    names = (embedder.model, f"{embedder.model}:latest")
    answer = embedder._mapping(embedder._call(lambda client: client.get("/api/tags", cast_to=object)))
    digest = next(
        (str(model["digest"]) for model in answer.get("models") or [] if model.get("name") in names and model.get("digest")), None
    )
    if digest is None:
        raise ModelError(f"{embedder.label} was not found", f"ollama pull {embedder.model}")
    return digest
