"""Search small chunks and deliver larger ones."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from workbench.components.chunking.base import Cut, CuttingChunker, Size
from workbench.components.chunking.recursive import Splitter
from workbench.components.chunking.text.headers import Headers, TokenBudget
from workbench.core.records import Document


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
