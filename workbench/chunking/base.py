"""The base of chunkers: frozen values that cut a document into exact slices."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.chunking.text.headers import Headers, TokenBudget
from workbench.embedding.base import Embedder
from workbench.models.files import MINILM
from workbench.models.tokenizers import CHARACTERS, CL100K, Tokens, tokenise, vocabulary_digest
from workbench.records import Chunk, Document

# start, end, and the parent's (start, end) where there is one
Cut = tuple[int, int, tuple[int, int] | None]

# Below this a model's special tokens and a title leave next to no room for text.
Size = Annotated[int, Field(ge=8)]


class Chunker(BaseModel, ABC):
    """A way to cut documents. `tokens` is the unit of sizes, `enrich` puts title and heading path before every chunk.

    With `tokens: model` they count the embedder's input: special tokens + header + content, in the vocabulary of `model`,
    which the experiment fills in. Otherwise they count the content alone, in cl100k tokens or code points.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    # Raised when the same settings begin to give other chunks.
    version: ClassVar[int] = 1
    # Whether chunks always hold every character that is not blank and keep to their size; foreign rules need not.
    covers: ClassVar[bool] = True
    # Settings that the law tests try.
    examples: ClassVar[tuple[Mapping[str, Any], ...]]

    kind: str
    tokens: Literal["model", "cl100k", "characters"] = "model"
    enrich: bool = False
    model: str = MINILM

    @property
    def vocabulary(self) -> str:
        """The vocabulary that sizes are counted in, as `workbench.models.tokenizers` names it."""
        return {"model": self.model, "cl100k": CL100K, "characters": CHARACTERS}[self.tokens]

    @property
    def name(self) -> str:
        """Kind and sizes, such as `fixed-256-0`."""
        return "-".join([self.kind, *(str(size) for size in self.sizes if size is not None)])

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Size and overlap for tables; None where the kind has none."""
        return None, None

    def identity(self) -> dict[str, Any]:
        """All that decides the chunks of a document, as canonical JSON: a vocabulary by its content, not by a model's name."""
        # One vocabulary can be counted in two ways: where the embedder's own is cl100k, its input is counted with the header.
        counted = {"version": self.version, "vocabulary": vocabulary_digest(self.vocabulary), "counts_input": self.tokens == "model"}
        return self.model_dump(exclude={"model", "tokens"}) | counted

    @property
    def compared_by(self) -> Embedder | None:
        """The embedder of the texts that `split` compares; None for a chunker that compares none."""
        return None

    def compared(self, document: Document) -> list[str]:
        """The texts that `split` embeds; a sweep embeds them first, in parallel."""
        return []

    @abstractmethod
    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document by start, each an exact slice of it."""

    def _room(self, size: int, headers: Headers) -> TokenBudget:
        return TokenBudget(size, headers, self.vocabulary) if self.tokens == "model" else TokenBudget(size)

    def _tokens(self, document: Document) -> Tokens:
        return tokenise([document.text], self.vocabulary)[0]


class CuttingChunker(Chunker, ABC):
    """A chunker by its cuts; adds headers and drops repeated and blank slices."""

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document by start: exact slices that together hold every character that is not blank."""
        if not document.text.strip():
            return []
        headers = Headers(document, self.enrich)
        chunks: dict[tuple[int, int], Chunk] = {}
        for start, end, parent in self._cuts(document, headers):
            if (start, end) not in chunks and document.text[start:end].strip():
                chunks[start, end] = Chunk(document.doc_id, start, end, headers.at(start), parent)
        return list(chunks.values())

    @abstractmethod
    def _cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        """The slices of a document that is not blank, by start; `split` drops blank and repeated ones."""


class SlidingChunker(CuttingChunker, ABC):
    """A chunker with a size, and an overlap of neighbouring chunks in the same tokens."""

    size: Size
    overlap: Annotated[int, Field(ge=0)] = 0

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Size and overlap in tokens."""
        return self.size, self.overlap

    @model_validator(mode="after")
    def _overlap_below_size(self) -> "SlidingChunker":
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} is not smaller than size {self.size}; lower overlap")
        return self


def embedded_text(document: Document, chunk: Chunk) -> str:
    """The text that is embedded and searched for a chunk: its header, one space, its slice of the document."""
    content = document.text[chunk.start : chunk.end]
    return f"{chunk.header} {content}" if chunk.header else content
