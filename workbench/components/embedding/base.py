"""The base of embedders: frozen values that turn texts into vectors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from workbench.core.component import Component
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.tokenizers import Ints

Role = Literal["query", "document"]

AllowPickle = Annotated[
    bool, Field(description="Whether weights are loaded from a pickle, such as pytorch_model.bin, where a model has no safetensors.")
]

# The window of a model without an input limit. A number, so that lengths can be compared with it.
NO_WINDOW = 2**31 - 1


@dataclass(frozen=True)
class Usage:
    """Tokens that a provider counted, and their cost in the currency of its price, or None if no price is known."""

    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(self.tokens + other.tokens, sum(costs) if costs else None)


class Encoder(NamedTuple):
    """The backend and precision that compute vectors here, and the reason if `auto` passed over another backend."""

    backend: str
    precision: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """Return the name, such as `openvino bfloat16`."""
        return f"{self.backend} {self.precision}".strip()


class Embedder(Component, ABC):
    """An embedding model with its window and prompts. Loaded weights are cached under this value."""

    # Settings that the law tests try, to which they add a server's address.
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    model: str = Field(description="The model: a folder, or a name on the Hugging Face Hub or the server.")
    max_tokens: int | None = Field(default=None, ge=8, description="The window: text beyond it is truncated. Default: the model's.")

    @property
    def vocabulary(self) -> str:
        """Return the vocabulary that counts inputs, as named in `workbench.llm.models.tokenizers`. `tokens: model` makes chunkers use it."""
        return self.model

    @abstractmethod
    def identity(self, role: Role) -> dict[str, Any]:
        """Return everything that determines a vector besides its text, as canonical JSON. Equal identities give equal vectors."""

    def check(self) -> None:
        """Raise ModelError if the embedder's settings contradict those of the model's files, without loading the model."""
        self.window()

    def encoder(self) -> Encoder:
        """Return the backend of the vectors, for the manifest and for measured speeds. Raises ModelError if it cannot run the model."""
        return Encoder(self.kind)

    def preparation(self) -> tuple[float, float]:
        """Return the fewest and most seconds that the first use takes once on this machine, or zeros if that is done."""
        return (0.0, 0.0)

    @abstractmethod
    def window(self) -> int:
        """Return how many tokens of an input are embedded, special tokens included. The rest is truncated."""

    def chunk_window(self) -> int:
        """Return how many tokens of a chunk are embedded: the window, unless the embedder reads whole documents."""
        return self.window()

    @abstractmethod
    def lengths(self, texts: Sequence[str], role: Role) -> Ints:
        """Return the tokens of each input with its prompt and special tokens, before truncation: int64 (n)."""

    @abstractmethod
    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return unit vectors, float32 (n, dimension), in the order of the texts."""

    def encode_metered(self, texts: Sequence[str], role: Role) -> tuple[Vectors, Usage]:
        """Encode texts and return the provider's usage too, which is empty for a local model."""
        return self.encode(texts, role), Usage()
