"""Embed with any server that offers OpenAI's /v1/embeddings: OpenAI itself, vLLM, llama.cpp, text-embeddings-inference."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from workbench.components.embedding.base import Role
from workbench.components.embedding.remote_base import RemoteEmbedder
from workbench.core.errors import RunError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.server import KeyedModel

if TYPE_CHECKING:
    from openai import OpenAI


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
