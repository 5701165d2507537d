"""Chunkers that need no structure: whole documents, windows of tokens, whole sentences."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from workbench.components.chunking.base import Cut, CuttingChunker, SlidingChunker
from workbench.components.chunking.headers import Headers
from workbench.components.chunking.packing import packed_words, slices, trimmed
from workbench.components.chunking.sentences import VERSION, cut_long, sentences
from workbench.core.records import Document


class WholeChunker(CuttingChunker):
    """One chunk per document. Text beyond the embedder's window is never embedded."""

    examples: ClassVar = ({},)

    kind: Literal["whole"] = "whole"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        return [(0, len(document.text), None)]


class FixedChunker(SlidingChunker):
    """Windows [i, i + size) of tokens in steps of size - overlap. The last window is the first one to reach the end.

    With `tokens: cl100k`, chunks equal those of Chroma's FixedTokenChunker (Smith & Troynikov 2024). In a model's vocabulary, windows end
    between words, so that a chunk has the same tokens alone as in its document.
    """

    examples: ClassVar = ({"size": 32}, {"size": 64, "overlap": 16})

    kind: Literal["fixed"] = "fixed"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        tokens, room = self._tokens(document), self._room(self.size, headers)
        for start, run_end, after in packed_words(tokens, 0, len(document.text), room, self.overlap):
            end = trimmed(document.text, start, run_end)[1]
            # The last token may be blank. Characters without a token count only if they are not blank.
            token_end = int(tokens.ends[after - 1]) if after else 0
            yield start, max(end, token_end), None


class SentenceChunker(SlidingChunker):
    """As many whole sentences as fit into a chunk and into its overlap. A sentence that is longer than a chunk is cut between words."""

    examples: ClassVar = ({"size": 32}, {"size": 64, "overlap": 24})

    version: ClassVar[int] = VERSION

    kind: Literal["sentence"] = "sentence"

    @property
    def name(self) -> str:
        """Return the name, such as `sentence-256`, or `sentence-256-64` with an overlap."""
        return f"{self.kind}-{self.size}-{self.overlap}" if self.overlap else f"{self.kind}-{self.size}"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        room = self._room(self.size, headers)
        parts = cut_long(document.text, self._tokens(document), sentences(document.text), room)
        return [(start, end, None) for start, end in slices(parts, room, self.overlap)]
