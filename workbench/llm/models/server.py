"""The base of components whose model is on a server: the address, one client, requests with retries, and one line for any failure."""

import atexit
import functools
import os
import re
from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from workbench.core.component import Component
from workbench.core.environment import is_local, require_installed
from workbench.core.errors import ModelError, RunError, WorkbenchError
from workbench.core.text.printable import printable

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar("T")
OPENAI_ADDRESS = "https://api.openai.com/v1"
# How servers say that an input is beyond the window.
TOO_LONG = re.compile(r"context.{0,10}(length|window|size)|maximum.{0,20}(length|tokens)|too (long|large)", re.IGNORECASE)
_MESSAGE = 200
# A reply may take as long as the wait for this many parts of it.
_PARTS = 10
_OLLAMA_PORT = 11434
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# A key of the usual form, or a named one, in a path.
_SECRET = re.compile(r"\bsk-[\w-]{6,}|(key|token|secret)=", re.IGNORECASE)


class ServedModel(Component, ABC):
    """A model on a server. Requests go through OpenAI's client, whose backoff obeys Retry-After (two minutes at most).

    A request has `retries` + 1 tries. Each fails if nothing arrives for `timeout` seconds, or sends too large a reply.
    """

    # The stage of an experiment that the component belongs to, what the server returns, and the extra that installs the client.
    stage: ClassVar[str]
    returns: ClassVar[str]
    extra: ClassVar[str] = "openai"
    # What to change if the server finds an input too long.
    shorten: ClassVar[str]
    # The variable with the address of a server without `base_url`, and the address without either.
    address_variable: ClassVar[str] = "OPENAI_BASE_URL"
    usual_address: ClassVar[str] = OPENAI_ADDRESS

    model: str = Field(min_length=1, description="The model's name on the server.")
    base_url: str | None = Field(
        default=None, description="The server's address; by default from the environment, then the provider's usual one."
    )
    timeout: float = Field(default=60, gt=0, le=3600, description="Seconds to wait for each part of a reply.")
    retries: int = Field(default=4, ge=0, le=10, description="How often a failed request is tried again.")

    @model_validator(mode="after")
    def _plain_address(self) -> "ServedModel":
        # Validate the whole model: an error of the field alone would print its value, which may contain a password.
        try:
            parts = urlsplit(self.address)
            _ = parts.port
        except ValueError:
            raise ValueError("base_url is not an address such as http://localhost:8000/v1") from None
        if "@" in parts.netloc:
            raise ValueError("base_url contains a user or password; put a key into an environment variable")
        # A query often contains a key, and manifest, report and keys of results contain the address.
        if re.search(r"[?#]", f"{self.base_url} {self.address}"):
            raise ValueError("base_url contains a query (?…) or fragment (#…); leave it out, and put a key into an environment variable")
        if _SECRET.search(f"{self.base_url} {self.address}"):
            raise ValueError("base_url contains what looks like a key; leave it out, and put the key into an environment variable")
        if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", self.address):
            raise ValueError(f"base_url {self.address!r} is not an address such as http://localhost:8000/v1")
        return self

    @property
    def address(self) -> str:
        """Return the address of the server, from `base_url`, the environment or the default."""
        return (self.base_url or os.environ.get(self.address_variable) or self.usual_address).rstrip("/")

    def _key(self) -> str:
        """Return the key for the server, or an empty text if it needs none."""
        return ""

    @property
    def label(self) -> str:
        return f"{self.stage} {self.kind!r}: {self.model} at {self.address}"

    @property
    def local(self) -> bool:
        """True if the server is on this machine."""
        return is_local(self.address)

    def _call(self, request: Callable[["OpenAI"], T]) -> T:
        """Make a request with retries. Raises the errors of `_failed`, and RunError for an unreadable answer."""
        key = self._key()
        client = _client(f"{self.stage} {self.kind!r}", self.extra, self.address, key, (self.timeout, self.retries))
        import openai

        from workbench.llm.models.http import CompressedReplyError, ReplyTooLargeError

        try:
            return request(client)
        except openai.APIStatusError as error:
            message = error.body if isinstance(error.body, str) else error.message
            # Not `from error`: its traceback goes to a file, and a server may repeat the key.
            raise self._failed(error.status_code, printable(message, [key])) from None
        except (ReplyTooLargeError, CompressedReplyError) as error:
            raise RunError(f"{self.label} sent {error}", f"check {self.stage}.base_url, or request less at once") from None
        except openai.APIConnectionError as error:
            raise self._failed(None, f"{error.message} ({type(error.__cause__ or error).__name__})") from None
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise RunError(f"{self.label} returned no {self.returns} ({type(error).__name__})", f"check {self.stage}.base_url") from None

    def _failed(self, status: int | None, message: str) -> WorkbenchError:
        """Return the error of a request that finally failed, by its HTTP status. `status` is None without an answer."""
        detail = " ".join(message.split())[:_MESSAGE]
        if status in (401, 403):
            return ModelError(f"{self.label} refused the key ({status}: {detail})", "check the key and its permissions")
        if status is not None and status < 400:
            return ModelError(f"{self.label} redirects to another address ({status})", f"write that address as {self.stage}.base_url")
        if status == 404:
            return ModelError(f"{self.label} was not found (404: {detail})", f"check {self.stage}.model and {self.stage}.base_url")
        if status not in (None, 429) and TOO_LONG.search(detail):
            return ModelError(f"{self.label} refused an input as too long ({status}: {detail})", self.shorten)
        if status is not None and status < 500 and status not in (408, 409, 429):
            return ModelError(f"{self.label} refused the request ({status}: {detail})", f"check the settings of {self.stage}")
        cause = f"{status}: {detail}" if status is not None else detail
        fix = "check that the server runs and has capacity, then run again: finished results are kept"
        return RunError(f"{self.label} failed {self.retries + 1} times, the last time with {cause}", fix)


class KeyedModel(ServedModel, ABC):
    """A model on a server that needs a key from an environment variable, unless the server is on this machine."""

    api_key_env: str = Field(
        default="OPENAI_API_KEY", description="The environment variable with the key; a server on this machine needs no key."
    )

    @model_validator(mode="after")
    def _name_of_a_variable(self) -> "KeyedModel":
        # Validate the whole model, so that the error does not print the value, which is probably a key.
        if not _VARIABLE.fullmatch(self.api_key_env):
            raise ValueError("api_key_env is not the name of an environment variable such as OPENAI_API_KEY; never write a key here")
        return self

    @property
    def billed(self) -> bool:
        """True if calls may cost money: the server is on another machine."""
        return not self.local

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and not self.local:
            fix = f"set {self.api_key_env}, or name another variable in {self.stage}.api_key_env"
            raise ModelError(f"{self.label} needs a key, and {self.api_key_env} is not set", fix)
        return key


class OllamaModel(ServedModel, ABC):
    """A model on an Ollama server, whose address is read as Ollama reads OLLAMA_HOST."""

    extra: ClassVar[str] = "ollama"

    @property
    def address(self) -> str:
        return ollama_address(self.base_url or os.environ.get("OLLAMA_HOST") or "localhost")


def ollama_address(host: str) -> str:
    """Convert a host in any form of OLLAMA_HOST (`0.0.0.0`, `:8080`, `box:8080`, `https://box`) to an address."""
    schemed = host if "://" in host else f"http://{host}"
    parts = urlsplit(schemed.rstrip("/"))
    try:
        name, port = parts.hostname, parts.port
    except ValueError:
        return schemed
    # A server binds to these to listen everywhere, but they are no address to call.
    name = "localhost" if name in (None, "0.0.0.0", "::") else f"[{name}]" if name and ":" in name else name
    usual = _OLLAMA_PORT if "://" not in host or parts.scheme == "http" else 443
    signed = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{signed}{name}:{port or usual}{parts.path}"


@functools.cache
def _client(owner: str, extra: str, address: str, key: str, limits: tuple[float, int]) -> "OpenAI":
    require_installed(owner, "openai", extra=extra)
    import openai

    from workbench.llm.models.http import LARGEST_REPLY, HttpRoute, blocking_client

    timeout, retries = limits
    http_client = blocking_client(HttpRoute(address, LARGEST_REPLY, _PARTS * timeout), timeout)
    client = openai.OpenAI(base_url=address, api_key=key or "none", timeout=timeout, max_retries=retries, http_client=http_client)
    atexit.register(client.close)
    return client
