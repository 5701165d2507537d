"""The base of chunkers: frozen values that cut a document into exact slices."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.components.chunking.headers import VERSION as HEADINGS_VERSION
from workbench.components.chunking.headers import Headers, TokenBudget
from workbench.components.embedding.base import Embedder
from workbench.core.component import Component
from workbench.core.errors import InputError
from workbench.core.records import Chunk, Document
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import CHARACTERS, CL100K, Tokens, tokenise, vocabulary_digest

# start, end, and the parent's (start, end) if the chunk has a parent
Cut = tuple[int, int, tuple[int, int] | None]

# Below 8, a model's special tokens and a title leave almost no room for text.
Size = Annotated[int, Field(ge=8, description="The largest size of a chunk, in units of `tokens`.")]


class Chunker(Component, ABC):
    """A way to split documents. `tokens` is the unit of sizes, and `enrich` puts title and heading path before every chunk.

    With `tokens: model`, sizes count the embedder's input: special tokens + header + content, in the vocabulary of `model`,
    which the experiment sets. Otherwise sizes count only the content, in cl100k tokens or code points.
    """

    # Whether chunks always cover every character that is not blank and keep to their size, which foreign code need not.
    covers: ClassVar[bool] = True
    # Settings that the law tests try.
    examples: ClassVar[tuple[Mapping[str, Any], ...]]

    tokens: Literal["model", "cl100k", "characters"] = Field(
        default="model", description="The unit of sizes: the embedder's tokens, cl100k tokens or code points."
    )
    enrich: bool = Field(default=False, description="Whether title and headings are embedded before the text of every chunk.")
    model: str = Field(default=MINILM, description="The model whose vocabulary counts sizes; an experiment sets it to the embedder's.")

    @property
    def vocabulary(self) -> str:
        """Return the vocabulary that sizes are counted in, as named in `workbench.llm.models.tokenizers`."""
        return {"model": self.model, "cl100k": CL100K, "characters": CHARACTERS}[self.tokens]

    @property
    def name(self) -> str:
        """Return kind and sizes, such as `fixed-256-0`."""
        return "-".join([self.kind, *(str(size) for size in self.sizes if size is not None)])

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Return size and overlap in `tokens` for names and tables, each None if the kind has no such setting."""
        return None, None

    def identity(self) -> dict[str, Any]:
        """Return everything that determines a document's chunks, as canonical JSON. A vocabulary is identified by content, not by name."""
        # A vocabulary can be counted in two ways: if the embedder's own is cl100k, its input is counted with the header.
        counted = {"version": self.version, "vocabulary": vocabulary_digest(self.vocabulary), "counts_input": self.tokens == "model"}
        if self.enrich:
            counted["headings"] = HEADINGS_VERSION
        return self.model_dump(exclude={"model", "tokens"}) | counted

    @property
    def compared_by(self) -> Embedder | None:
        """Return the embedder of the texts that `split` compares, or None for a chunker that compares none."""
        return None

    def compared(self, document: Document) -> list[str]:
        """Return the texts that `split` embeds. A sweep embeds them first, in parallel."""
        return []

    @abstractmethod
    def split(self, document: Document) -> list[Chunk]:
        """Split a document into chunks ordered by start, each an exact slice of it."""

    def _room(self, size: int, headers: Headers) -> TokenBudget:
        return TokenBudget(size, headers, self.vocabulary) if self.tokens == "model" else TokenBudget(size)

    def _tokens(self, document: Document) -> Tokens:
        return tokenise([document.text], self.vocabulary)[0]


class CuttingChunker(Chunker, ABC):
    """A chunker that says only where to cut, in `cuts`. `split` adds headers and drops blank and repeated slices."""

    def split(self, document: Document) -> list[Chunk]:
        """Split a document into exact slices, ordered by start, that together cover every character that is not blank."""
        if not isinstance(document, Document):
            raise InputError(f"the document is of type {type(document).__name__}", 'give a document, such as wb.Document("a", "its text")')
        if not document.text.strip():
            return []
        headers = Headers(document, self.enrich)
        chunks: dict[tuple[int, int], Chunk] = {}
        for start, end, parent in self.cuts(document, headers):
            if (start, end) not in chunks and document.text[start:end].strip():
                chunks[start, end] = Chunk(document, start, end, headers.at(start), parent)
        return list(chunks.values())

    @abstractmethod
    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        """Return slices (start, end, parent) of a nonblank document, ordered by start. `parent` is (start, end) or None."""


class SlidingChunker(CuttingChunker, ABC):
    """A chunker with a size and an overlap of neighbouring chunks, both in the same tokens."""

    size: Size
    overlap: int = Field(default=0, ge=0, description="The size that a chunk shares with the one before it; less than `size`.")

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.size, self.overlap

    @model_validator(mode="after")
    def _overlap_below_size(self) -> "SlidingChunker":
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} is not smaller than size {self.size}; lower overlap")
        return self
