"""The settings of an MCP server: how it is reached, its tools with the templates of their arguments, and the model that writes texts for it."""

import json
import os
import re
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from workbench.core.component import Component
from workbench.core.environment import advice, expand, installed_version
from workbench.core.errors import InputError
from workbench.core.text.printable import printable, secrets_in
from workbench.llm.base import ChatClient
from workbench.llm.registry import ChatModel, GgufChatModel
from workbench.systems.http.endpoints import has_secret
from workbench.systems.operations import (
    DOCUMENT_SLOTS,
    AnswerOperation,
    IngestOperation,
    Operation,
    ReadyOperation,
    RemoveOperation,
    SearchOperation,
    TemplateTarget,
    check_slots,
    slots_of,
)
from workbench.systems.replies import AnswerPaths, HitPaths, find


class McpTool(Operation):
    """A tool of a server, and its arguments."""

    needed: ClassVar[str] = ""

    tool: str = Field(min_length=1, description="The name of the tool.")
    arguments: dict[str, JsonValue] = Field(
        default={}, description="The arguments of the tool, in which slots such as `{query}` are filled."
    )

    @property
    def template(self) -> JsonValue:
        """Return the arguments."""
        return self.arguments

    @field_validator("arguments")
    @classmethod
    def _slots(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        check_slots(arguments, cls.slots)
        if cls.needed and cls.needed not in slots_of(arguments):
            raise ValueError(f"{{{cls.needed}}} is nowhere in the arguments")
        return arguments


class McpSearchTool(SearchOperation, McpTool):
    """The tool that searches. The slots of its arguments are `{query}`, `{query_id}` and `{k}`."""

    needed: ClassVar[str] = "query"

    reply: HitPaths = Field(description="Where the reply has the hits.")


class McpAnswerTool(AnswerOperation, McpTool):
    """The tool that answers. Its arguments can have the slot `{context}` also, a list of texts to answer from."""

    needed: ClassVar[str] = "query"

    reply: AnswerPaths = Field(description="Where the reply has the answer and its sources.")


class McpReadyTool(ReadyOperation, McpTool):
    """A tool that is called until a value of its reply says that documents can be found."""

    def read(self, reply: JsonValue) -> bool:
        """Return True if a reply has the value. A server without structured content writes a value such as `true` as a text."""
        return super().read(reply) or json.dumps(self.equals) in find(self.path, reply)

    @property
    def unmet(self) -> str:
        """Say that the value is another one."""
        return f"{self.path} of {self.tool!r} is not {self.equals!r}"


class McpIngestTool(IngestOperation, McpTool):
    """The tool that takes documents: one with `{doc_id}`, `{text}`, `{title}` and `{metadata}`, or many with `{documents}` or parallel lists."""

    ready: McpReadyTool | None = Field(
        default=None, description="A tool that says when documents can be found. Without it they can be at once."
    )

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        if self.mixed:
            raise ValueError("the arguments have slots for one document and slots for many; use either")
        if not self.named:
            raise ValueError("the arguments have no slot such as {text}")
        check_slots(self.document, DOCUMENT_SLOTS)
        return self


class McpRemoveTool(RemoveOperation, McpTool):
    """The tool that deletes documents: one with `{doc_id}`, or many with `{doc_ids}`."""

    @model_validator(mode="after")
    def _names_documents(self) -> Self:
        if len(self.named) != 1:
            raise ValueError("the arguments need one of the slots {doc_id} and {doc_ids}")
        return self


class SamplingModel(Component, ABC):
    """A chat model that serves the requests of a server. The server chooses the prompt, and by default the temperature."""

    max_tokens: int = Field(default=1024, ge=1, le=1_000_000, description="The most tokens of a reply. A server can ask for fewer.")
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="The sampling temperature; by default what the server asks for."
    )
    most_calls: int = Field(default=20, ge=1, le=1000, description="How many texts the server can ask for while it serves one request.")
    most_characters: int = Field(
        default=200_000, ge=1, description="The most characters of a prompt. A longer one is not sent to the model."
    )

    @abstractmethod
    def client(self) -> ChatClient:
        """Return the client of the model."""

    def identity(self) -> dict[str, Any]:
        """Return everything that determines replies and their cost: the model, its prices and the settings of calls."""
        client = self.client()
        return {
            "client": client.identity(),
            "call": [self.max_tokens, self.temperature, self.most_calls, self.most_characters],
            "prices": [client.price_input, client.price_output],
        }


class ChatSampling(ChatModel, SamplingModel):
    """A chat model behind an API. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables."""

    kind: Literal["chat"] = "chat"


class LocalSampling(GgufChatModel, SamplingModel):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`)."""

    kind: Literal["local"] = "local"


_PACKAGE = "mcp"
_OLDEST = (2, 3)
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _variable(name: str) -> str:
    if not re.fullmatch(_VARIABLE, name):
        raise ValueError("not the name of an environment variable, such as MY_KEY")
    return name


Variable = Annotated[str, AfterValidator(_variable), Field(json_schema_extra={"pattern": _VARIABLE})]


class McpSettings(TemplateTarget, ABC):
    """A target whose settings describe an MCP server, without the connection to it."""

    transport: Literal["stdio", "http"] = Field(
        default="stdio", description="`stdio` starts a process, `http` (streamable HTTP) opens an address."
    )
    command: str = Field(default="", description="The program of the server. `python` is the interpreter that runs Workbench.")
    args: tuple[str, ...] = Field(default=(), description="The arguments of the program.")
    env: tuple[Variable, ...] = Field(
        default=(), description="The names of environment variables that the process gets, besides PATH, HOME and the like."
    )
    url: str = Field(default="", description="The address of the server, such as http://localhost:8000/mcp.")
    headers_env: dict[str, Variable] = Field(
        default={}, description="HTTP headers. The value of each is the name of the environment variable that contains it."
    )
    mode: Literal["auto", "legacy"] = Field(
        default="auto", description="`legacy` for a server that fails if it is asked for the protocol of 2026 first."
    )
    start_timeout: float = Field(default=60, gt=0, le=3600, description="The seconds that the server has to start and to list its tools.")
    restarts: int = Field(default=3, ge=0, le=100, description="How often in a row the connection is opened again after it was lost.")
    concurrency: int = Field(default=1, ge=1, le=64, description="How many requests are made at once.")
    search: McpSearchTool | None = Field(default=None, description="The tool that searches.")
    answer: McpAnswerTool | None = Field(default=None, description="The tool that answers.")
    ingest: McpIngestTool | None = Field(default=None, description="The tool that takes documents.")
    remove: McpRemoveTool | None = Field(default=None, description="The tool that deletes documents.")
    sampling: Annotated[ChatSampling | LocalSampling, Field(discriminator="kind")] | None = Field(
        default=None, description="The chat model that writes the texts which the server asks for."
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not (self.search or self.answer):
            raise ValueError("give the tool for at least one of search and answer")
        if self.transport == "stdio":
            given = [name for name in ("url", "headers_env") if getattr(self, name)]
            needed = "command"
        else:
            given = [name for name in ("command", "args", "env") if getattr(self, name)]
            needed = "url"
        if not getattr(self, needed):
            raise ValueError(f"transport: {self.transport} needs {needed}")
        if given:
            raise ValueError(f"transport: {self.transport} has no {given[0]}")
        # Validate the whole model: an error of the field alone would print its value, which may contain a password.
        if self.transport == "http":
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", self.url):
                raise ValueError("url is not an address such as http://localhost:8000/mcp")
            if "@" in parts.netloc or parts.query or parts.fragment:
                raise ValueError(
                    "url contains a user, a query (?…) or a fragment (#…); put a key into a header from an environment variable"
                )
        for name, value in zip(("", *self.args), (*self.args, ""), strict=True):
            option, _, assigned = name.partition("=")
            if has_secret(option.lstrip("-"), assigned or (value if value[:1] != "-" else "")) or printable(value) != value:
                raise ValueError("args contain what looks like a key; name an environment variable with it in env, which the program reads")
        return self

    @property
    def unpriced(self) -> bool:
        """True if the model of `sampling` may cost money and has no prices."""
        return self.sampling is not None and (client := self.sampling.client()).billed and client.cost(0, 0) is None

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the program that is started. An experiment that starts one runs with permission only."""
        return (" ".join([self.command, *self.args]),) if self.transport == "stdio" else ()

    @property
    def operations(self) -> Mapping[str, McpTool]:
        """Return the tools that are set, with that which says when documents can be found."""
        ready = self.ingest.ready if self.ingest else None
        return {tool.role: tool for tool in (self.search, self.answer, self.ingest, ready, self.remove) if tool}

    @property
    def program(self) -> str:
        """Return the program with `~` and environment variables expanded."""
        return sys.executable if self.command == "python" else str(expand(self.command))

    def secrets(self) -> tuple[str, ...]:
        """Return the values of the variables that the process or the headers get, which may also be paths and addresses."""
        values = [os.environ.get(name, "") for name in (*self.env, *self.headers_env.values())]
        return tuple(secret for value in values for secret in secrets_in(value))

    def check(self) -> None:
        """Raise InputError if the package, the program, an environment variable or the model of `sampling` is missing."""
        installed = installed_version(_PACKAGE)
        if installed is None or tuple(int(part) for part in installed.split(".")[:2]) < _OLDEST:
            raise InputError(f"the target {self.name!r} needs the package {_PACKAGE} 2.3 or later", advice("targets"))
        if self.transport == "stdio" and shutil.which(self.program) is None:
            raise InputError(f"the program {self.command!r} of the target {self.name!r} is not found", "install it, or give its path")
        for variable in (*self.env, *self.headers_env.values()):
            if variable not in os.environ:
                raise InputError(f"the environment variable {variable} of the target {self.name!r} is not set", f"set {variable}")
        if self.sampling:
            self.sampling.client().check()

    def identity(self) -> Any:
        """Return everything that determines a reply. Variables are part of it by their names, and the model of `sampling` as it is used."""
        how = {"sampling", "start_timeout", "restarts"} | {"name", "timeout", "concurrency", "canary", "match"}
        sampling = self.sampling.identity() if self.sampling else None
        return {"version": self.version, **self.model_dump(mode="json", exclude=how), "sampling": sampling}
