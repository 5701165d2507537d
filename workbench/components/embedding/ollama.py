"""Embed with models of an Ollama server through its own /api/embed."""

import functools
from typing import TYPE_CHECKING, Any, Literal

from workbench.components.embedding.base import Role
from workbench.components.embedding.remote_base import RemoteEmbedder
from workbench.core.errors import ModelError, RunError
from workbench.llm.models.server import OllamaModel

if TYPE_CHECKING:
    from openai import OpenAI


class OllamaEmbedder(OllamaModel, RemoteEmbedder):
    """A model pulled with `ollama pull` and identified by its digest. If a later pull changes the weights, it is another embedder."""

    kind: Literal["ollama"] = "ollama"

    def identity(self, role: Role) -> dict[str, Any]:
        """Return everything that determines a vector. The weights are identified by their digest, on any server."""
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
