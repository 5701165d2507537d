"""Pack whole sentences into chunks."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from workbench.components.chunking.base import Cut, SlidingChunker
from workbench.components.chunking.text.headers import Headers
from workbench.components.chunking.text.packing import slices
from workbench.components.chunking.text.sentences import VERSION, cut_long, sentences
from workbench.core.records import Document


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
