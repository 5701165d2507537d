"""The base of targets: retrieval systems and RAG applications that Workbench did not build."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from workbench.core.component import Component
from workbench.core.records import Answer, Document, Passage, Query, TargetHit
from workbench.core.text.formatting import name_fault, name_pattern
from workbench.llm.session import CallResources

# The name of a target is the name of its configuration in every table, and of files.
LONGEST_NAME = 80
_NAME_PATTERN = f"^{name_pattern(LONGEST_NAME)}$"


def _checked_name(name: str) -> str:
    if not re.fullmatch(_NAME_PATTERN, name):
        raise ValueError(name_fault(name, LONGEST_NAME))
    return name


TargetName = Annotated[str, AfterValidator(_checked_name), Field(json_schema_extra={"pattern": _NAME_PATTERN})]


class TargetError(Exception):
    """A request that a target could not serve, with the reason as one line. Its question is unscored, and the others continue."""


class BrokenOffError(TargetError):
    """A reply that broke off. The same request may be answered in full."""


class TargetDownError(TargetError):
    """A target that can serve no request at all: its process does not start, or a tool is missing. Nothing further is asked."""


def late_reason(what: str, late: TimeoutError) -> str:
    """Add the notes of a call that was given up, and may still run, to the reason."""
    return "; ".join([what, *getattr(late.__cause__, "__notes__", ())])


@dataclass(frozen=True)
class TargetResources:
    """Resources of a session: the cache and the budget of calls of models, for targets that ask their client for text.

    `documents` are those of the dataset, which a target that takes documents gets before it is asked.
    """

    calls: CallResources
    documents: Sequence[Document] = ()


class System:
    """A system that can be asked: an open connection to a target, or an index of Workbench's own.

    Requests can run at the same time, at most `Target.concurrency` of them. Every method raises TargetError with one line if the request failed.
    Retries are the system's own; the time limit is the caller's.
    """

    @property
    def asks_deeper(self) -> bool:
        """True if a search returns more than k hits where metrics read more. Otherwise those beyond k are dropped."""
        return False

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        raise TargetError("the target does not search")

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question, from the given passages in place of the target's own if there are any."""
        raise TargetError("the target does not answer")

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and return when they can be found."""
        raise TargetError("the target takes no documents")

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids, and return when they cannot be found any more."""
        raise TargetError("the target deletes no documents")


class Target(Component, ABC):
    """A system under test. It can search, answer, or both; its settings say which, without a request.

    Hits are matched with the documents of the dataset by `match`. A target's answers are assumed to be the same until its settings change:
    what was asked once is not asked again.
    """

    stage: ClassVar[str] = "target"
    # Whether the time of a reply is that of the system, and not of reading a file.
    timed: ClassVar[bool] = True

    name: TargetName = Field(description="The name of the target in the report, of lower-case letters, digits, `.`, `_` and `-`.")
    k: int = Field(default=10, ge=1, le=1000, description="How many hits are asked for.")
    match: str = Field(
        default="auto",
        min_length=1,
        description="How hits are matched with documents: `id`, `text` (the document that contains it), the name of a field of the hit's metadata "
        "that has the document's id or the value of the same field of the document, or `auto` for the id and then the text.",
    )
    revision: str = Field(default="", description="Any text that identifies the version of the target. Change it to ask everything again.")
    timeout: float = Field(default=60, gt=0, le=3600, description="The seconds that a request may take, with its retries.")
    concurrency: int = Field(default=4, ge=1, le=64, description="How many requests are made at once.")
    ingest_timeout: float = Field(
        default=600,
        gt=0,
        le=86400,
        description="The seconds that adding all documents may take, if the target takes documents, and making an object of a class.",
    )
    canary: str = Field(default="", description="A question that must have a hit. It is asked first, and the target fails without one.")

    def __hash__(self) -> int:
        """Hash the name, because templates of requests cannot be hashed."""
        return hash((type(self), self.name))

    @property
    def roles(self) -> Collection[str]:
        """Return the operations of the target, of `search`, `answer`, `context` (answer from given passages), `ingest` and `remove`."""
        return ()

    @property
    def searches(self) -> bool:
        """True if the target can search."""
        return "search" in self.roles

    @property
    def answers(self) -> bool:
        """True if the target can answer."""
        return "answer" in self.roles

    @property
    def takes_context(self) -> bool:
        """True if the target can answer from a given context."""
        return "context" in self.roles

    @property
    def ingests(self) -> bool:
        """True if the target takes documents. It then gets those of the dataset before it is asked."""
        return "ingest" in self.roles

    @property
    def gives_text(self) -> bool:
        """True if hits can have text or positions. A target that gives only ids is not scored on chunks."""
        return True

    @property
    def unpriced(self) -> bool:
        """True if the target lets Workbench call a model that may cost money and has no prices."""
        return False

    def secrets(self) -> tuple[str, ...]:
        """Return the values of the environment variables that the target gets. A reply that repeats them is stored without them."""
        return ()

    def identity(self) -> Any:
        """Return everything that determines a reply besides the request, as canonical JSON. Secrets are no part of it."""
        return {
            "version": self.version,
            **self.model_dump(mode="json", exclude={"name", "timeout", "ingest_timeout", "concurrency", "canary", "match"}),
        }

    @abstractmethod
    def session(self, resources: TargetResources) -> AbstractAsyncContextManager[System]:
        """Open a connection. It runs on the event loop that opened it. Raises TargetDownError if there is nothing to connect to."""
