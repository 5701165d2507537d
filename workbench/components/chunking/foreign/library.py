"""The base of chunkers that a library provides by class name, with a size, an overlap and arguments."""

import copy
import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from workbench.components.chunking.base import Size
from workbench.components.chunking.foreign.base import ForeignChunker, reason
from workbench.components.chunking.text.headers import Headers
from workbench.components.chunking.text.packing import shrunk
from workbench.core.environment import advice
from workbench.core.errors import InputError
from workbench.core.text.formatting import meant
from workbench.llm.models.tokenizers import CHARACTERS, count


class LibraryChunker(ForeignChunker, ABC):
    """A chunker by its class name in a library, most of whose chunkers have a size and an overlap."""

    module: ClassVar[str]
    # The suffix of the chunkers' names, names of classes that do not chunk texts, and arguments that Workbench sets.
    suffix: ClassVar[str]
    excluded: ClassVar[tuple[str, ...]]
    reserved: ClassVar[tuple[str, ...]]
    # Classes that load a model by the library's own rules, which may run code in its files. Such a chunker needs permission.
    loads_model: ClassVar[tuple[str, ...]]
    # Arguments that make a library trust the code of a model.
    unsafe: ClassVar[tuple[str, ...]] = ("model_kwargs", "trust_remote_code")

    size: Size | None = Field(default=None, description="The largest size of a chunk, if the library's class has one.")
    overlap: int = Field(
        default=0, ge=0, description="The size that a chunk shares with the one before it, if the library's class has one."
    )

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.size, None if self.size is None else self.overlap

    @classmethod
    def _library(cls) -> Any:
        """Import the library. Raises ValueError with the pip command if it is not installed."""
        try:
            return importlib.import_module(cls.module)
        except ImportError:
            raise ValueError(f"{cls.module.replace('_', '-')} is not installed; {advice('chunkers')}") from None

    @classmethod
    def names(cls) -> list[str]:
        """Return the class names of the library's chunkers."""
        return sorted(name for name in cls._library().__all__ if name.endswith(cls.suffix) and name not in cls.excluded)

    @field_validator("chunker", "splitter", check_fields=False)
    @classmethod
    def _exists(cls, name: str, field: ValidationInfo) -> str:
        known = cls.names()
        if name not in known:
            raise ValueError(f"{cls.module} has no such {field.field_name}{meant(name, known)}; it has {', '.join(known)}")
        return name

    @model_validator(mode="after")
    def _can_be_made(self) -> "LibraryChunker":
        if self.overlap >= (self.size or self.overlap + 1):
            raise ValueError(f"overlap {self.overlap} is not smaller than size {self.size}; lower overlap")
        if reserved := [key for key in self.arguments if key in self.reserved]:
            raise ValueError(f"arguments.{reserved[0]} is set by Workbench; use size, overlap and tokens")
        if unsafe := [key for key in self.arguments if key in self.unsafe]:
            raise ValueError(f"arguments.{unsafe[0]} can make the library run a model's code; leave it out")
        if not self.named_code:
            self._make_once()
        return self

    @property
    @abstractmethod
    def class_name(self) -> str:
        """Return the class name of the chunker in the library."""

    @property
    def named_code(self) -> tuple[str, ...]:
        return (f"{self.module}:{self.class_name}",) if self.class_name in self.loads_model else ()

    def load_code(self) -> None:
        """Create the library's chunker. Raises InputError if it refuses its arguments, or if its model cannot be loaded."""
        try:
            self._make_once()
        except ValueError as error:
            raise InputError(f"{self.kind} {self.class_name}: {error}") from None

    def _make_once(self) -> None:
        try:
            _made(self, self.size, self.overlap)
        except ValueError:
            raise
        except Exception as error:  # a foreign constructor may raise anything
            raise ValueError(f"{self._short} cannot be created ({reason(error)})") from error

    @abstractmethod
    def _make(self, arguments: dict[str, Any], size: int | None, overlap: int) -> Any:
        """Create the library's chunker for a size. Raises ValueError with the fix."""

    def _fitting(self, headers: Headers) -> Any:
        """Create the library's chunker for a document. Its single size leaves room for the longest header."""
        if self.size is None:
            return _made(self, None, 0)
        room = self._room(self.size, headers)
        fits = room.anywhere()
        return _made(self, fits, shrunk(self.overlap, fits, room))


@functools.lru_cache(maxsize=128)
def _made(chunker: LibraryChunker, size: int | None, overlap: int) -> Any:
    return chunker._make(copy.deepcopy(chunker.arguments), size, overlap)


def token_counter(vocabulary: str) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text, for libraries that count each word repeatedly."""
    return len if vocabulary == CHARACTERS else functools.lru_cache(maxsize=1 << 16)(lambda text: count(text, vocabulary))
