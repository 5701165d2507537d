"""Chunkers of a library, by their class names, with a size, an overlap and arguments."""

import copy
import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from workbench.chunking.base import Size
from workbench.chunking.foreign.base import ForeignChunker, reason
from workbench.chunking.text.headers import Headers
from workbench.chunking.text.packing import shrunk
from workbench.core.environment import advice
from workbench.core.formatting import meant
from workbench.models.tokenizers import CHARACTERS, count


class LibraryChunker(ForeignChunker, ABC):
    """A chunker by its class name in a library, most of whose chunkers take a size and an overlap."""

    module: ClassVar[str]
    # The end of its chunkers' names, names that are no chunkers of texts, and arguments that Workbench sets.
    suffix: ClassVar[str]
    excluded: ClassVar[tuple[str, ...]]
    reserved: ClassVar[tuple[str, ...]]

    size: Size | None = None
    overlap: Annotated[int, Field(ge=0)] = 0

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Size and overlap; None where the chunker takes none."""
        return self.size, None if self.size is None else self.overlap

    @classmethod
    def _library(cls) -> Any:
        """The imported library; ValueError with the pip command where it is not installed."""
        try:
            return importlib.import_module(cls.module)
        except ImportError:
            raise ValueError(f"{cls.module.replace('_', '-')} is not installed; {advice('chunkers')}") from None

    @classmethod
    def names(cls) -> list[str]:
        """The class names of the library's chunkers."""
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
        try:
            _made(self, self.size, self.overlap)
        except ValueError:
            raise
        except Exception as error:  # a foreign constructor may raise anything
            raise ValueError(f"{self._short} cannot be made ({reason(error)})") from error
        return self

    @abstractmethod
    def _make(self, arguments: dict[str, Any], size: int | None, overlap: int) -> Any:
        """The library's chunker for a size. Errors: ValueError with the fix."""

    def _fitting(self, headers: Headers) -> Any:
        """The library's chunker for a document; it has one size, from which the longest header is subtracted."""
        if self.size is None:
            return _made(self, None, 0)
        room = self._room(self.size, headers)
        fits = room.anywhere()
        return _made(self, fits, shrunk(self.overlap, fits, room))


@functools.lru_cache(maxsize=128)
def _made(chunker: LibraryChunker, size: int | None, overlap: int) -> Any:
    return chunker._make(copy.deepcopy(chunker.arguments), size, overlap)


def token_counter(vocabulary: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text, for libraries that count every word again and again."""
    return len if vocabulary == CHARACTERS else functools.lru_cache(maxsize=1 << 16)(lambda text: count(text, vocabulary))
