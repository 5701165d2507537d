"""The base of chunkers that run foreign code, and the placement of its output as exact slices."""

import json
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, Field, JsonValue

from workbench.chunking.base import Cut, CuttingChunker
from workbench.chunking.foreign.aligning import align
from workbench.chunking.text.headers import Headers
from workbench.chunking.text.packing import Slice
from workbench.core.fingerprint import fingerprint
from workbench.errors import InputError, RunError, WorkbenchError, error_line
from workbench.models.tokenizers import count
from workbench.records import Document

_PLAIN = re.compile(r"[a-z0-9]+(\.[0-9]+)?")


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
        """Return kind, splitter, sizes and arguments, such as `langchain-recursive-256-0`."""
        return "-".join([self.kind, self._short, *(str(size) for size in self.sizes if size is not None), *argument_names(self.arguments)])

    def identity(self) -> dict[str, Any]:
        """Return the settings and the version of the code that cuts."""
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
        """Return the slices that equal the foreign code's chunks."""
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


class _Part(NamedTuple):
    """The text of a foreign chunk, its place, or both."""

    text: str | None
    place: Slice | None


def placed(text: str, chunks: Sequence[object]) -> list[Slice]:
    """Place foreign chunks as slices of their text. Raises ValueError if a chunk is not a slice.

    A chunk is a text, a pair (start, end), or a mapping or object with `start_index` and `end_index`, `text` or `page_content`.
    Offsets are used if all agree with the texts given with them. Otherwise all chunks are placed by their texts.
    """
    parts = [part for part in map(_part, chunks) if part.text is None or part.text.strip()]
    places = [part.place for part in parts if part.place is not None and _matches(text, part)]
    if len(places) == len(parts):
        return places
    texts = [part.text for part in parts if part.text is not None]
    if len(texts) < len(parts):
        faulty = next(part.place for part in parts if part.text is None)
        raise ValueError(f"the chunk {faulty} is not a slice of a text of {len(text)} characters; give 0 <= start < end in characters")
    try:
        return align(text, texts)
    except ValueError as error:
        shown = " ".join(str(error).split())[:60]
        if str(error) in text:
            raise ValueError(f"the chunk {shown!r} is not in order of the text; give (start, end) or sort the chunks") from None
        fix = "use settings that keep the text as it is, or a function that gives (start, end)"
        raise ValueError(f"the chunk {shown!r} is not a slice of the text but a rewriting; {fix}") from None


def reason(error: BaseException) -> str:
    """Describe an error of foreign code in one line."""
    return error_line(error)[:200]


def argument_names(arguments: Mapping[str, JsonValue]) -> list[str]:
    """Format arguments for a name, such as `keep_separator.false`, or as six digits of a hash unless they are plain words and numbers."""
    words = [(key.lower(), json.dumps(value).strip('"').lower()) for key, value in sorted(arguments.items())]
    plain = all(key.isidentifier() and key.isascii() and _PLAIN.fullmatch(value) for key, value in words)
    if not plain or sum(map(len, map("".join, words))) > 40:
        return [fingerprint(dict(arguments))[:6]]
    return [f"{key}.{value}" for key, value in words]


def _part(chunk: object) -> _Part:
    if isinstance(chunk, str):
        return _Part(chunk, None)
    if isinstance(chunk, Mapping):
        text, start, end = (chunk.get(name) for name in ("text", "start_index", "end_index"))
    elif isinstance(chunk, Sequence) and len(chunk) == 2:
        text, start, end = None, *chunk
    else:
        text = getattr(chunk, "text", getattr(chunk, "page_content", None))
        start, end = getattr(chunk, "start_index", None), getattr(chunk, "end_index", None)
    try:
        place = None if start is None or end is None else (operator.index(start), operator.index(end))
    except TypeError:
        place = None
    if place is None and not isinstance(text, str):
        shown = " ".join(repr(chunk).split())[:60]
        raise ValueError(f"the chunk {shown} is not a text or (start, end) and has no start_index and end_index")
    return _Part(text if isinstance(text, str) else None, place)


def _matches(text: str, part: _Part) -> bool:
    if part.place is None:
        return False
    start, end = part.place
    return 0 <= start < end <= len(text) and part.text in (None, text[start:end])
