"""Keep each document as one chunk."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from workbench.components.chunking.base import Cut, CuttingChunker
from workbench.components.chunking.text.headers import Headers
from workbench.core.records import Document


class WholeChunker(CuttingChunker):
    """One chunk per document. Text beyond the embedder's window is never embedded."""

    examples: ClassVar = ({},)

    kind: Literal["whole"] = "whole"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        return [(0, len(document.text), None)]
