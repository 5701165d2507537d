"""What an embedder is: a frozen value that turns texts into vectors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.embedding.cache import Vectors
from workbench.tokens import Ints

Role = Literal["query", "document"]


class Embedder(BaseModel, ABC):
    """A model with its window and prompts; the loaded weights are a cache keyed by this value."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: ClassVar[int] = 1

    kind: str
    model: str
    max_tokens: Annotated[int, Field(ge=8)] | None = None

    @abstractmethod
    def identity(self, role: Role) -> dict[str, Any]:
        """All that decides a vector besides its text, as canonical JSON: equal identities give equal vectors."""

    @abstractmethod
    def window(self) -> int:
        """How many tokens of an input are embedded, special tokens included; what is beyond is never seen."""

    @abstractmethod
    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        """The tokens of each input with its prompt and special tokens, before anything is cut: int64 (n)."""

    @abstractmethod
    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit vectors, float32 (n, dimension), in the order of the texts."""
