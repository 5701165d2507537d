"""A service over HTTP: the address, the requests, and where its replies have what."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue, model_validator

from workbench.systems.base import System, TargetResources
from workbench.systems.http.endpoints import (
    PRESET_BLOCK,
    PRESETS,
    AnswerEndpoint,
    Endpoint,
    IngestEndpoint,
    Preset,
    RemoveEndpoint,
    RequestHeaders,
    SearchEndpoint,
    check_address,
    check_headers,
    has_secret,
    is_secret_name,
    read_headers,
)
from workbench.systems.operations import TemplateTarget

_BLOCKS: Mapping[str, type[Endpoint]] = {
    "search": SearchEndpoint,
    "answer": AnswerEndpoint,
    "ingest": IngestEndpoint,
    "remove": RemoveEndpoint,
}


class HttpTarget(TemplateTarget):
    """A service over HTTP. `search`, `answer`, `ingest` and `remove` are requests, with a JSON template and JSONPath to what the reply has.

    A preset fills bodies and paths. Requests go to the given addresses only: redirects are not followed, and a server on this machine is
    reached without proxies. A request that failed is repeated if it may succeed, after the time that the server names.
    """

    version: ClassVar[int] = 2

    kind: Literal["http"] = "http"
    url: str = Field(default="", description="The address that the requests' own `url` follow.")
    preset: Preset | None = Field(
        default=None,
        description="What fills bodies and paths: `openai-chat`, `langserve`, each with `-stream`, or `query` for "
        "`POST /query {query, k}`. Without a block the preset answers; `search: {}` searches with it.",
    )
    model: str = Field(default="", description="The model's name, `{model}` in templates, for servers of several.")
    headers: dict[str, str] = Field(default_factory=dict, description="Headers of every request, without secrets.")
    headers_env: dict[str, str] = Field(
        default_factory=dict, description="Headers from environment variables, such as `{authorization: 'Bearer {MY_KEY}'}`."
    )
    retries: int = Field(default=4, ge=0, le=10, description="How often a failed request is tried again.")
    search: SearchEndpoint | None = Field(default=None, description="The request of a search.")
    answer: AnswerEndpoint | None = Field(default=None, description="The request of an answer.")
    ingest: IngestEndpoint | None = Field(default=None, description="The request that adds documents.")
    remove: RemoveEndpoint | None = Field(default=None, description="The request that deletes documents.")

    @model_validator(mode="after")
    def _complete(self) -> "HttpTarget":
        # Validate the whole model: an error of a field would print its value, which may contain a password.
        check_headers(self.headers, self.headers_env)
        blocks = self.operations
        if not self.searches and not self.answers:
            raise ValueError("give search, answer or preset: what the service can do")
        for name, block in blocks.items():
            self._check_block(name, block)
        return self

    def _check_block(self, name: str, block: Endpoint) -> None:
        try:
            block.check()
            check_headers(block.headers, block.headers_env)
            for parameter in block.params or {}:
                if is_secret_name(parameter):
                    raise ValueError(f"the parameter {parameter} has a secret; put it into a header by headers_env")
            if field := next((field for field, value in _fields(block.body) if has_secret(field, value)), ""):
                raise ValueError(f"the field {field} of the body has a secret; put it into a header by headers_env")
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        check_address(self.address(block), f"the url of {name}" if block.url else "url")

    @property
    def operations(self) -> dict[str, Endpoint]:
        """Return the requests that the service takes, by name, completed by the preset."""
        preset = PRESETS[self.preset] if self.preset else {}
        given: dict[str, Endpoint] = {name: block for name in _BLOCKS if (block := getattr(self, name)) is not None}
        if preset and not {"search", "answer"} & set(given):
            given[PRESET_BLOCK] = _BLOCKS[PRESET_BLOCK]()
        completed = {name: block.over(preset.get(name, {})) for name, block in given.items()}
        if (added := completed.get("ingest")) and isinstance(added, IngestEndpoint) and added.ready:
            completed["ingest.ready"] = added.ready
        return completed

    def address(self, block: Endpoint) -> str:
        """Return the address of a request, with its slots."""
        if block.url and "://" in block.url.partition("{")[0]:
            return block.url
        return "/".join(part for part in (self.url.rstrip("/"), (block.url or "").lstrip("/")) if part)

    def check(self) -> None:
        """Raise InputError if an environment variable that a header names is missing."""
        for block in self.operations.values():
            self._headers(block)

    def _headers(self, block: Endpoint) -> RequestHeaders:
        plain, named = self.headers | block.headers, self.headers_env | block.headers_env
        return read_headers(plain, named, f"the target {self.name}")

    def secrets(self) -> tuple[str, ...]:
        """Return the values of the variables in headers."""
        return tuple(dict.fromkeys(secret for block in self.operations.values() for secret in self._headers(block).secrets))

    def identity(self) -> Any:
        """Return the settings and the requests that the preset completed. The values of environment variables are no part of it."""
        blocks = {name: block.model_dump(mode="json") for name, block in self.operations.items()}
        return {name: value for name, value in super().identity().items() if name != "retries"} | {"blocks": blocks}

    def session(self, resources: TargetResources) -> AbstractAsyncContextManager[System]:
        """Open connections as requests need them. Raises InputError if a variable is missing."""
        self.check()
        from workbench.systems.http.session import Requester, open_session

        requesters = {
            role: Requester(block, self.address(block), self._headers(block), self.timeout, self.retries)
            for role, block in self.operations.items()
        }
        return open_session(requesters, self.k, self.model)


def _fields(template: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the names and values of all objects in a template."""
    if isinstance(template, dict):
        yield from template.items()
    for value in template.values() if isinstance(template, dict) else template if isinstance(template, list) else ():
        yield from _fields(value)
