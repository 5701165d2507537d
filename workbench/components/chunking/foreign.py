"""Chunkers that run foreign code: the base, the base of those that a library provides by class name, and a Python function."""

import copy
import functools
import importlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator, model_validator

from workbench.components.chunking.alignment import placed
from workbench.components.chunking.base import Cut, CuttingChunker, Size
from workbench.components.chunking.headers import Headers
from workbench.components.chunking.packing import Slice, shrunk
from workbench.core.environment import missing_package
from workbench.core.errors import InputError, RunError, WorkbenchError, error_line
from workbench.core.imported_functions import FunctionName, imported, source_identity
from workbench.core.records import Document
from workbench.core.text.formatting import meant
from workbench.llm.models.tokenizers import CHARACTERS, count


def _canonical(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    json.dumps(arguments, allow_nan=False)  # a ValueError for NaN, which has no fingerprint
    return arguments


Arguments = Annotated[dict[str, JsonValue], AfterValidator(_canonical)]


class ForeignChunker(CuttingChunker, ABC):
    """A chunker by another library's rules. Its exact slices (InputError otherwise) may leave out text or exceed their size."""

    covers: ClassVar[bool] = False

    arguments: Arguments = Field(default={}, description="Further arguments of the splitter or function, passed on unchanged.")

    def __hash__(self) -> int:
        """Hash by content, since a dictionary in a field has no hash."""
        return hash(self.model_dump_json())

    @property
    def name(self) -> str:
        """Return kind, splitter and sizes, such as `langchain-recursive-256-0`."""
        return "-".join([self.kind, self._short, *(str(size) for size in self.sizes if size is not None)])

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"code": self._code()}

    @property
    @abstractmethod
    def _short(self) -> str:
        """Return the splitter's name for use in names: lower-case letters, digits, `.`, `_` and `-`."""

    @abstractmethod
    def _code(self) -> list[str]:
        """Return the identity of the code that cuts, such as a package and its version."""

    @abstractmethod
    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        """Return the foreign code's chunks of a text in any form that `placed` reads."""

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        place = f"chunking {self.name!r} on document {document.doc_id!r}"
        try:
            chunks = list(self._foreign_chunks(document.text, headers))
        except WorkbenchError:
            raise
        except (Exception, SystemExit) as error:  # foreign code may raise anything
            raise RunError(f"{place} failed ({reason(error)})") from error
        try:
            found = sorted(placed(document.text, chunks))
        except ValueError as error:
            raise InputError(f"{place}: {error}") from None
        return [(start, end, None) for start, end in self._without_repeats(document.text, found)]

    def _without_repeats(self, text: str, found: Sequence[Slice]) -> Iterator[Slice]:
        """Yield slices. Without an overlap, one begins after characters without a token, such as NUL, that LangChain repeats from the one before."""
        before = 0
        for start, end in found:
            if self.sizes[1] == 0 and start < before < end and not count(text[start:before], self.vocabulary):
                start = before
            before = end
            yield start, end


def reason(error: BaseException) -> str:
    """Describe an error of foreign code in one line."""
    return error_line(error)[:200]


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
        if absent := missing_package(cls.module):
            raise ValueError(f"{absent[0]} is not installed; {absent[1]}")
        return importlib.import_module(cls.module)

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


class CallableChunker(ForeignChunker):
    """A function `package.module:function` that takes a text, and `arguments`, and returns its chunks.

    Chunks are texts in their order, pairs (start, end) in code points, or mappings or objects with `start_index` and `end_index`.
    `tokens` has no effect. The module may be in the working directory. Results are computed again if its source changes, but not if
    only a module that it imports changes. An experiment with a function is a program: it runs with `--allow-code` only.
    """

    examples: ClassVar = (
        {"callable": "builtins:str.splitlines"},
        {"callable": "builtins:str.split", "arguments": {"sep": "\n\n"}},
    )

    kind: Literal["callable"] = "callable"
    callable: FunctionName = Field(description="The function, as `package.module:function`.")

    @property
    def _short(self) -> str:
        return self.callable.replace(":", ".").lower()

    @property
    def named_code(self) -> tuple[str, ...]:
        return (self.callable,)

    def load_code(self) -> None:
        function = imported(self.callable)
        try:
            signature = inspect.signature(function)
        except ValueError:  # some functions written in C have no signature
            return
        try:
            signature.bind("", **self.arguments)
        except TypeError as error:
            raise InputError(f"{self.callable}{signature} cannot take a text and these arguments ({error})") from None

    def _code(self) -> list[str]:
        """Return the digest of the module that defines the function, or the module's version if it has no source file."""
        self.load_code()
        return source_identity(self.callable)

    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        chunks: Iterable[object] = imported(self.callable)(text, **self.arguments)
        return chunks
