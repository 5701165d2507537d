"""Frozen values that pass between stages. Positions are half-open [start, end), in Unicode code points of `Document.text`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """A retrievable text. Spans refer to exactly this `text`, and `title` may be empty."""

    doc_id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A slice [start, end) of a document, in code points."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, repr=False)
class Chunk:
    """A searched slice of a document.

    `header` precedes the slice, with one space, when it is embedded. `parent` is the larger slice (start, end) to deliver
    in place of the chunk, or None to deliver the chunk itself.
    """

    document: Document
    start: int
    end: int
    header: str = ""
    parent: tuple[int, int] | None = None

    @property
    def doc_id(self) -> str:
        """Return the id of the document."""
        return self.document.doc_id

    @property
    def text(self) -> str:
        """Return the slice of the document, without the header."""
        return self.document.text[self.start : self.end]

    @property
    def embedded_text(self) -> str:
        """Return the text that is embedded and searched: the header, one space, the slice."""
        return f"{self.header} {self.text}" if self.header else self.text

    @property
    def chunk_id(self) -> str:
        """Return `doc_id:start-end`. Equal slices have equal ids in every run."""
        return f"{self.doc_id}:{self.start}-{self.end}"

    @property
    def delivered(self) -> tuple[int, int]:
        """Return the slice that goes to the context: the parent if the chunk has one."""
        return self.parent or (self.start, self.end)


@dataclass(frozen=True, slots=True)
class Query:
    """A question. `metadata` contains the fields that define slices, such as its type and domain."""

    query_id: str
    text: str
    answerable: bool = True
    answer: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Qrel:
    """A judgement. Relevance above 0 is relevant, 0 was judged not relevant, below 0 is a hard negative that must not be retrieved."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class Need:
    """One piece of evidence that a query needs. Any of the alternatives satisfies it."""

    query_id: str
    alternatives: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Consistent documents, queries and labels, made by `workbench.datasets`, which checks them."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: tuple[Qrel, ...]
    needs: tuple[Need, ...] = ()
