"""Cut documents at topic changes, measured by sentence embeddings."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.components.chunking.base import Cut, CuttingChunker, Size
from workbench.components.chunking.headers import Headers, TokenBudget
from workbench.components.chunking.packing import Pieces, Slice
from workbench.components.chunking.sentences import VERSION, cut_long, sentences
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import text_vectors
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.records import Document
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import CHARACTERS, CL100K

Floats = NDArray[np.float64]

_PERCENTILE, _WINDOW = 90, 3
# Batches of other shapes change the seventh decimal, which must not move a break.
_DECIMALS = 5
# The distance of a seam within a sentence that is longer than a chunk, so that it is cut last.
_INSIDE = -1.0


class SemanticChunker(CuttingChunker):
    """Breaks between sentences where the text changes most, measured by the embeddings of the sentences around each seam.

    The distance of a seam is 1 - cosine of the summed vectors of the `window` sentences before and after it (the blocks of
    TextTiling, Hearst 1997). A seam is a break if it is above the `percentile` of the document's seams (Kamradt 2023). A part that is
    longer than `size` is cut at its widest seam, and again until it fits; a shorter one is not filled up. Sentences are embedded
    with the experiment's model, or with all-MiniLM-L6-v2 if that is on a server. A sentence longer than a chunk is cut between words.
    """

    examples: ClassVar = ({"size": 32, "percentile": 60, "window": 1}, {"size": 96})

    version: ClassVar[int] = VERSION

    kind: Literal["semantic"] = "semantic"
    size: Size
    percentile: int = Field(default=_PERCENTILE, ge=1, le=99, description="The percentage of sentence boundaries that are not breaks.")
    window: int = Field(default=_WINDOW, ge=1, le=50, description="The number of sentences compared on either side of a boundary.")

    @property
    def name(self) -> str:
        """Return the name, such as `semantic-256`, with percentile and window if they are not the default: `semantic-256-p80-w1`."""
        percentile = f"-p{self.percentile}" if self.percentile != _PERCENTILE else ""
        return f"{self.kind}-{self.size}{percentile}" + (f"-w{self.window}" if self.window != _WINDOW else "")

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.size, 0

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"embedding": self.compared_by.identity("document")}

    @property
    def compared_by(self) -> Embedder:
        # An embedder on a server provides a vocabulary to count in, but no sentence-transformers model.
        elsewhere = self.model in (CL100K, CHARACTERS)
        return SentenceTransformerEmbedder(model=MINILM if elsewhere else self.model)

    def compared(self, document: Document) -> list[str]:
        """Return the sentences of a document. Two sentences give none, since their only seam cannot be compared with others."""
        return _compared(document.text, sentences(document.text))

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        room, spans = self._room(self.size, headers), sentences(document.text)
        texts = _compared(document.text, spans)
        distance = distances(text_vectors(texts, self.compared_by), self.window) if texts else np.zeros(max(0, len(spans) - 1))
        distance_at = dict(zip((start for start, _ in spans[1:]), distance, strict=True))
        parts = cut_long(document.text, self._tokens(document), spans, room)
        seams = np.array([distance_at.get(start, _INSIDE) for start in parts.starts[1:].tolist()])
        for i, j in _runs(parts, seams, room, _breaks(seams, self.percentile)):
            yield int(parts.starts[i]), int(parts.ends[j - 1]), None


def _compared(text: str, spans: Sequence[Slice]) -> list[str]:
    return [text[start:end] for start, end in spans] if len(spans) > 2 else []


def distances(vectors: Vectors, window: int) -> Floats:
    """Return 1 - cosine of the summed vectors of up to `window` sentences on either side of each seam: n vectors, n - 1 seams."""
    n = len(vectors)
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    seam = np.arange(1, n)
    before = sums[seam] - sums[np.maximum(0, seam - window)]
    after = sums[np.minimum(n, seam + window)] - sums[seam]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosines = (before * after).sum(axis=1) / np.maximum(lengths, np.finfo(np.float64).tiny)
    return np.asarray(np.round(1 - cosines, _DECIMALS), dtype=np.float64)


def _breaks(seams: Floats, percentile: int) -> list[int]:
    """Return the pieces that begin a new topic, or none if all seams are alike."""
    between = seams[seams > _INSIDE]
    limit = np.percentile(between, percentile) if len(between) else 0.0
    return [int(seam) + 1 for seam in np.flatnonzero(seams > limit)]


def _runs(pieces: Pieces, seams: Floats, room: TokenBudget, breaks: list[int]) -> list[tuple[int, int]]:
    """Return runs [i, j) of pieces between the breaks, each cut at its widest seam until its parts fit. Seam k is between the pieces k and k + 1."""
    edges = [0, *breaks, len(pieces.starts)]
    todo = list(zip(edges[-2::-1], edges[:0:-1], strict=True))
    fitting = []
    while todo:
        i, j = todo.pop()
        tokens = int(pieces.last[j - 1] - pieces.first[i])
        if j - i < 2 or tokens <= room.at(int(pieces.starts[i])):
            fitting.append((i, j))
        else:
            # The piece after the widest seam of a run. Ties go to the most central seam.
            inside = seams[i : j - 1]
            equal = np.flatnonzero(inside == inside.max())
            cut = i + 1 + int(equal[np.abs(2 * equal - len(inside) + 1).argmin()])
            todo += [(cut, j), (i, cut)]
    return fitting
