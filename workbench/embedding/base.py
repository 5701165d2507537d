"""The base of embedders: frozen values that turn texts into vectors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from workbench.models.tokenizers import Ints
from workbench.storage.vector_cache import Vectors

Role = Literal["query", "document"]

# The window of a model that reads inputs of any length; a number, so that lengths can be compared with it.
NO_WINDOW = 2**31 - 1


@dataclass(frozen=True)
class Usage:
    """Tokens that a provider counted, and their cost in the currency of its price; None where no price is known."""

    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(self.tokens + other.tokens, sum(costs) if costs else None)


class Encoder(NamedTuple):
    """The backend and precision that compute vectors here, and the reason where `auto` could have taken another."""

    backend: str
    precision: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """`openvino bfloat16`."""
        return f"{self.backend} {self.precision}".strip()


class Embedder(BaseModel, ABC):
    """A model with its window and prompts; the loaded weights are a cache keyed by this value."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    # Raised when the same settings begin to give other vectors.
    version: ClassVar[int] = 1
    # Settings that the law tests try; a server's address is added to them.
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    kind: str
    model: str
    max_tokens: Annotated[int, Field(ge=8)] | None = None

    @property
    def vocabulary(self) -> str:
        """The vocabulary that inputs are counted in, as `workbench.models.tokenizers` names it; chunkers count in it by `tokens: model`."""
        return self.model

    @abstractmethod
    def identity(self, role: Role) -> dict[str, Any]:
        """All that decides a vector besides its text, as canonical JSON: equal identities give equal vectors."""

    def check(self) -> None:
        """Raise ModelError where the embedder's settings contradict those of the model's files; loads no model."""
        self.window()

    def encoder(self) -> Encoder:
        """The backend of the vectors, for the manifest and for measured speeds. Errors: ModelError where it cannot run the model."""
        return Encoder(self.kind)

    @abstractmethod
    def window(self) -> int:
        """How many tokens of an input are embedded, special tokens included; the rest is cut off."""

    def chunk_window(self) -> int:
        """How many tokens of a chunk are embedded: the window, unless the embedder reads whole documents."""
        return self.window()

    @abstractmethod
    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        """The tokens of each input with its prompt and special tokens, before the window cuts it: int64 (n)."""

    @abstractmethod
    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit vectors, float32 (n, dimension), in the order of the texts."""

    def encode_metered(self, texts: Sequence[str], role: Role) -> tuple[Vectors, Usage]:
        """`encode`, with the usage that a provider counted; none where the model runs here."""
        return self.encode(texts, role), Usage()
