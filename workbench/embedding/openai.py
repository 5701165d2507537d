"""Any server with OpenAI's /v1/embeddings: OpenAI itself, vLLM, llama.cpp, text-embeddings-inference."""

import atexit
import functools
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.core.distribution import advice
from workbench.embedding.base import Role
from workbench.embedding.remote_base import EmbeddingReply, RemoteEmbedder
from workbench.errors import ModelError, RunError
from workbench.storage.vector_cache import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

_OFFICIAL = "https://api.openai.com/v1"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class OpenAIEmbedder(RemoteEmbedder):
    """A model behind `/v1/embeddings`, asked through the official client, whose backoff obeys Retry-After (two minutes at most).

    `api_key_env` names the environment variable that holds the key; a server on this machine needs none. With
    `price_per_million` what was spent is in timings.parquet.
    """

    known: ClassVar[Mapping[str, int]] = {
        "text-embedding-3-small": 8191,
        "text-embedding-3-large": 8191,
        "text-embedding-ada-002": 8191,
    }

    kind: Literal["openai"] = "openai"
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: Annotated[int, Field(ge=1)] | None = None
    price_per_million: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _name_of_a_variable(self) -> "OpenAIEmbedder":
        # Of the whole value, so that what is refused is not printed: it is a key, most likely.
        if not _VARIABLE.fullmatch(self.api_key_env):
            raise ValueError("api_key_env is not the name of an environment variable such as OPENAI_API_KEY; never write a key here")
        return self

    @property
    def address(self) -> str:
        """`base_url`, else OPENAI_BASE_URL, else OpenAI's own."""
        return (self.base_url or os.environ.get("OPENAI_BASE_URL") or _OFFICIAL).rstrip("/")

    def identity(self, role: Role) -> dict[str, Any]:
        """All that is known to decide a vector."""
        return super().identity(role) | {"dimensions": self.dimensions}

    def _cost(self, tokens: int) -> float | None:
        return None if self.price_per_million is None else tokens * self.price_per_million / 1e6

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and not self.local:
            fix = f"set {self.api_key_env}, or name another variable in embedding.api_key_env"
            raise ModelError(f"{self.where} needs a key, and {self.api_key_env} is not set", fix)
        return key or "none"

    def _ask(self, texts: list[str]) -> EmbeddingReply:
        key = self._key()
        client = _client(self.address, key, self.timeout, self.retries, self.local)
        import openai

        try:
            # As decimals: not every compatible server knows base64.
            answer = client.embeddings.create(
                model=self.model, input=texts, encoding_format="float", dimensions=self.dimensions or openai.omit
            )
            rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            return EmbeddingReply(rows, answer.usage.prompt_tokens if answer.usage else None)
        except openai.APIStatusError as error:
            # Not `from error`: its trace is kept in a file, and a server may repeat the key.
            raise self._failed(error.status_code, error.message.replace(key, "…")) from None
        except openai.APIConnectionError as error:
            raise self._failed(None, f"{error.message} ({type(error.__cause__ or error).__name__})") from None
        except (openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
            raise RunError(f"{self.where} gave no list of embeddings ({type(error).__name__})", "check embedding.base_url") from None

    def _checked(self, rows: Any, count: int) -> Vectors:
        found = super()._checked(rows, count)
        if self.dimensions is not None and found.shape[1] != self.dimensions:
            what = f"{self.where} gave vectors of {found.shape[1]} dimensions, not the {self.dimensions} asked for"
            raise RunError(what, "leave embedding.dimensions out: the server does not shorten vectors")
        return found


@functools.cache
def _client(address: str, key: str, timeout: float, retries: int, local: bool) -> "OpenAI":
    try:
        import openai
    except ImportError:
        raise ModelError("embedding 'openai' needs OpenAI's client", advice("openai")) from None
    # What is on this machine is not asked through a proxy.
    http_client = openai.DefaultHttpxClient(trust_env=False) if local else None
    client = openai.OpenAI(base_url=address, api_key=key, timeout=timeout, max_retries=retries, http_client=http_client)
    atexit.register(client.close)
    return client
