"""The base of claim splitters: an answer becomes its claims."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.components.answering.base import AnswerResources
from workbench.core.component import Component
from workbench.core.records import Claim, ModelUse


@dataclass(frozen=True)
class AnswerClaims(ModelUse):
    """The claims of an answer in its order, none for an answer that claims nothing, or the `error` that is the reason why there are none."""

    claims: tuple[Claim, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class SplitRequest:
    """An answer to split, with its question."""

    question: str
    answer: str


class ClaimSplitter(Component, ABC):
    """Splits answers into claims. Raise `version` when equal answers begin to get other claims."""

    stage: ClassVar[str] = "judging.claims"
    version: ClassVar[int] = 1
    calls_model: ClassVar[bool] = False

    def check(self) -> None:
        """Raise InputError if a file or a package that the settings need is missing. Loads no model and makes no request."""

    def identity(self) -> Any:
        """Return everything that determines the claims besides the answer, as canonical JSON."""
        return {"version": self.version, **self.model_dump(mode="json")}

    @abstractmethod
    def split(self, requests: Sequence[SplitRequest], resources: AnswerResources) -> Iterator[tuple[int, AnswerClaims]]:
        """Yield the claims of each answer with its place, in any order, each once. A failed call has an `error`."""
