"""Models of an Ollama server, through its own /api/embed."""

import atexit
import functools
import os
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from workbench.core.distribution import advice
from workbench.embedding.base import Role
from workbench.embedding.remote_base import EmbeddingReply, RemoteEmbedder
from workbench.errors import ModelError, RunError

if TYPE_CHECKING:
    import httpx2

_PORT = 11434
_PASSING = (408, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 8


class OllamaEmbedder(RemoteEmbedder):
    """A model that `ollama pull` brought, named by its digest: pulled anew with other weights it is another embedder."""

    kind: Literal["ollama"] = "ollama"

    @property
    def address(self) -> str:
        """`base_url`, else OLLAMA_HOST as Ollama reads it, else http://localhost:11434."""
        return _address(self.base_url or os.environ.get("OLLAMA_HOST") or "localhost")

    def identity(self, role: Role) -> dict[str, Any]:
        """All that decides a vector: weights by their digest, wherever they are served."""
        return {key: value for key, value in super().identity(role).items() if key != "address"} | {"model": _digest(self)}

    def _ask(self, texts: list[str]) -> EmbeddingReply:
        # truncate: the server must refuse what it cannot read whole. num_ctx: else its window may be smaller than the model's.
        body = {"model": self.model, "input": texts, "truncate": False, "options": {"num_ctx": self.window()}}
        answer = self._call("POST", "/api/embed", body)
        return EmbeddingReply(answer.get("embeddings"), answer.get("prompt_eval_count"))

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        client = _client(self.address, self.timeout, self.local)
        import httpx2
        import tenacity

        def once() -> "httpx2.Response":
            return client.request(method, path, json=body).raise_for_status()

        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.retries + 1),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=_LONGEST_WAIT),
            retry=tenacity.retry_if_exception(_passing),
            reraise=True,
        )
        try:
            answer = attempts(once).json()
        except httpx2.HTTPStatusError as error:
            raise self._failed(error.response.status_code, _said(error.response)) from error
        except httpx2.TransportError as error:
            raise self._failed(None, f"{type(error).__name__}: {error}") from error
        except ValueError as error:
            raise RunError(f"{self.where} did not answer in JSON", "check embedding.base_url: is it Ollama's?") from error
        if not isinstance(answer, dict):
            raise RunError(f"{self.where} did not answer as Ollama does", "check embedding.base_url: is it Ollama's?")
        return answer


def _address(host: str) -> str:
    """A host as OLLAMA_HOST may have it (`0.0.0.0`, `:8080`, `box:8080`, `https://box`) as an address."""
    schemed = host if "://" in host else f"http://{host}"
    parts = urlsplit(schemed.rstrip("/"))
    try:
        name, port = parts.hostname, parts.port
    except ValueError:
        return schemed
    # What a server binds to say "everywhere" is no address to call.
    name = "localhost" if name in (None, "0.0.0.0", "::") else f"[{name}]" if name and ":" in name else name
    usual = _PORT if "://" not in host or parts.scheme == "http" else 443
    signed = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{signed}{name}:{port or usual}{parts.path}"


@functools.cache
def _digest(embedder: OllamaEmbedder) -> str:
    """The digest of the model's weights, asked once a process: a run must not change its embedder midway."""
    listed = embedder._call("GET", "/api/tags").get("models") or []
    names = (embedder.model, f"{embedder.model}:latest")
    found = next((str(model.get("digest")) for model in listed if model.get("name") in names and model.get("digest")), None)
    if found is None:
        raise ModelError(f"{embedder.where} is not there", f"ollama pull {embedder.model}")
    return found


@functools.cache
def _client(address: str, timeout: float, local: bool) -> "httpx2.Client":
    try:
        import httpx2
        import tenacity  # noqa: F401  # missing is told in the same words
    except ImportError:
        raise ModelError("embedding 'ollama' needs httpx2 and tenacity", advice("ollama")) from None
    # What is on this machine is not asked through a proxy.
    client = httpx2.Client(base_url=address, timeout=timeout, trust_env=not local)
    atexit.register(client.close)
    return client


def _passing(error: BaseException) -> bool:
    """Whether trying again may help."""
    import httpx2

    return isinstance(error, httpx2.TransportError) or (
        isinstance(error, httpx2.HTTPStatusError) and error.response.status_code in _PASSING
    )


def _said(response: "httpx2.Response") -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return response.text
