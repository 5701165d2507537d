"""The frozen values that flow from stage to stage. Positions are half-open [start, end), in Unicode code points of `Document.text`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """A text that can be retrieved. `text` is exactly what spans refer to; `title` may be empty."""

    doc_id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A slice [start, end) of a document, in code points."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document that is searched.

    `header` is put, with one space, before the slice when it is embedded. `parent` is the larger slice (start, end) that
    is delivered in the chunk's place; None delivers the chunk itself.
    """

    doc_id: str
    start: int
    end: int
    header: str = ""
    parent: tuple[int, int] | None = None

    @property
    def chunk_id(self) -> str:
        """`doc_id:start-end`: equal slices have equal ids in every run."""
        return f"{self.doc_id}:{self.start}-{self.end}"

    @property
    def delivered(self) -> tuple[int, int]:
        """The slice that goes to the context: the parent if the chunk has one."""
        return self.parent or (self.start, self.end)


@dataclass(frozen=True, slots=True)
class Query:
    """A question; `metadata` holds the fields that slices are made of, such as its type and domain."""

    query_id: str
    text: str
    answerable: bool = True
    answer: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Qrel:
    """A judgement: relevance above 0 is relevant, 0 was judged and is not, below 0 is a hard negative that must stay out."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class Need:
    """One piece of evidence that a query needs; any one of the alternatives will do."""

    query_id: str
    alternatives: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, queries and labels that hold together; made by `workbench.datasets`, which checks them."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: tuple[Qrel, ...]
    needs: tuple[Need, ...] = ()
