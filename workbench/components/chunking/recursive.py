"""Cut documents at the coarsest separator that makes pieces small enough, also on two levels."""

import itertools
import re
from collections.abc import Iterable
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from workbench.components.chunking.base import Cut, CuttingChunker, Size, SlidingChunker
from workbench.components.chunking.headers import Headers, TokenBudget
from workbench.components.chunking.packing import Pieces, Slice, alone, pieces, slices, trimmed, words
from workbench.core.records import Document
from workbench.llm.models.tokenizers import Tokens

# Paragraphs, lines, sentences, words. Within words, the vocabulary decides.
_SEPARATORS = tuple(re.compile(re.escape(separator)) for separator in ("\n\n", "\n", ".", "?", "!", " "))


class RecursiveChunker(SlidingChunker):
    r"""LangChain's RecursiveCharacterTextSplitter with the separators "\n\n", "\n", ".", "?", "!", " ", "" of Chroma's report.

    A separator begins the piece that follows it, and chunks are stripped. A piece has the document's tokens that overlap it,
    whereas LangChain tokenises each piece again: chunks are the same in code points, and on Chroma's corpora also in cl100k.
    """

    examples: ClassVar = ({"size": 32}, {"size": 64, "overlap": 16})

    kind: Literal["recursive"] = "recursive"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        text = document.text
        splitter = Splitter(text, self._tokens(document), self._room(self.size, headers), self.overlap)
        return [(start, end, None) for start, end in splitter.split(0, len(text))]


class Splitter(NamedTuple):
    """The recursion over one text."""

    text: str
    tokens: Tokens
    room: TokenBudget
    overlap: int = 0

    def split(self, start: int, end: int, level: int = 0) -> list[Slice]:
        """Return the stripped chunks of [start, end) in order, using the separators from `level` on."""
        while level < len(_SEPARATORS) and not _SEPARATORS[level].search(self.text, start, end):
            level += 1
        parts = self._pieces(start, end, level)
        chunks: list[Slice] = []
        done = 0
        for long in self._too_long(parts):
            chunks += self._packed(parts, done, long)
            piece = int(parts.starts[long]), int(parts.ends[long])
            chunks += self.split(*piece, level + 1) if level < len(_SEPARATORS) else [trimmed(self.text, *piece)]
            done = long + 1
        return chunks + self._packed(parts, done, len(parts.starts))

    def _pieces(self, start: int, end: int, level: int) -> Pieces:
        if level == len(_SEPARATORS):
            return words(self.tokens, start, end, self.room)
        positions = (match.start() for match in _SEPARATORS[level].finditer(self.text, start, end))
        inside = (position for position in positions if position > start)
        return alone(pieces(self.tokens, itertools.pairwise(itertools.chain([start], inside, [end]))))

    def _too_long(self, parts: Pieces) -> list[int]:
        # As in LangChain, a piece that exactly fills a chunk is cut further.
        lengths = parts.last - parts.first
        likely = (int(index) for index in np.flatnonzero(lengths >= self.room.least))
        return [index for index in likely if lengths[index] >= self.room.at(int(parts.starts[index]))]

    def _packed(self, parts: Pieces, start: int, end: int) -> list[Slice]:
        run = Pieces(*(column[start:end] for column in parts))
        return [trimmed(self.text, *chunk) for chunk in slices(run, self.room, self.overlap)]


class HierarchicalChunker(CuttingChunker):
    """Recursive chunks of size `child`, each in a recursive chunk of size `parent` that is delivered in its place and never embedded."""

    examples: ClassVar = ({"child": 32, "parent": 96}, {"child": 16, "parent": 24})

    kind: Literal["hierarchical"] = "hierarchical"
    child: Size = Field(description="The largest size of a chunk that is searched.")
    parent: Size = Field(description="The largest size of a delivered chunk, counting only its content; more than `child`.")

    @property
    def name(self) -> str:
        """Return the name, such as `hierarchical-128-512`: child, then parent."""
        return f"{self.kind}-{self.child}-{self.parent}"

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.child, 0

    @model_validator(mode="after")
    def _child_below_parent(self) -> "HierarchicalChunker":
        if self.child >= self.parent:
            raise ValueError(f"child {self.child} is not smaller than parent {self.parent}; lower child")
        return self

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        text, tokens = document.text, self._tokens(document)
        children = Splitter(text, tokens, self._room(self.child, headers))
        for parent in Splitter(text, tokens, TokenBudget(self.parent)).split(0, len(text)):
            for start, end in children.split(*parent):
                yield start, end, parent
