"""Cut documents into windows of a fixed number of tokens."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from workbench.components.chunking.base import Cut, SlidingChunker
from workbench.components.chunking.text.headers import Headers
from workbench.components.chunking.text.packing import packed_words, trimmed
from workbench.core.records import Document


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
