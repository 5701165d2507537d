"""The settings of a chunking as a person moves them: always a valid chunker, and its lines in an experiment file."""

from dataclasses import dataclass
from typing import Literal

import yaml

from workbench.chunking.base import Chunker
from workbench.chunking.registry import CHUNKERS
from workbench.models.files import MINILM

# Those that cut a document without vectors and without code of other packages, so that they follow a slider.
KINDS = ("fixed", "recursive", "sentence", "markdown", "hierarchical", "whole")
UNITS = ("model", "cl100k", "characters")
Unit = Literal["model", "cl100k", "characters"]
SMALLEST = 8


@dataclass(frozen=True)
class ChunkingSettings:
    """A kind with its sizes. `size` is that of the children of a hierarchical chunking, whose parents have the size `parent`.

    Sizes that contradict each other are moved to the nearest that do not: the overlap below the size, the parent above it.
    """

    kind: str = "fixed"
    size: int = 256
    overlap: int = 0
    parent: int = 1024
    enrich: bool = False
    tokens: Unit = "model"
    model: str = MINILM

    def __post_init__(self) -> None:
        size = max(self.size, SMALLEST)
        fitting = {"size": size, "overlap": min(max(self.overlap, 0), size - 1), "parent": max(self.parent, size + 1)}
        for name, value in fitting.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, chunker: Chunker) -> "ChunkingSettings | None":
        """Return the settings of a chunker, or None if it has others."""
        if chunker.kind not in KINDS or type(chunker) is not CHUNKERS[chunker.kind]:
            return None
        fields = chunker.model_dump()
        sizes = {"size": fields.get("size", fields.get("child")), "overlap": fields.get("overlap"), "parent": fields.get("parent")}
        given = {name: value for name, value in sizes.items() if value is not None}
        return cls(chunker.kind, enrich=chunker.enrich, tokens=chunker.tokens, model=chunker.model, **given)

    def uses(self, name: str) -> bool:
        """Return whether the kind has the setting `size`, `overlap` or `parent`."""
        fields = CHUNKERS[self.kind].model_fields
        return name in fields or (name == "size" and "child" in fields)

    @property
    def chunker(self) -> Chunker:
        """Return the chunker with these settings."""
        made = CHUNKERS[self.kind]
        values = {"size": self.size, "child": self.size, "overlap": self.overlap, "parent": self.parent}
        fields = {name: value for name, value in values.items() if name in made.model_fields}
        return made(**fields, enrich=self.enrich, tokens=self.tokens, model=self.model)

    @property
    def as_yaml(self) -> str:
        """Return the key `chunking` of an experiment file. The experiment sets the model whose tokens are counted."""
        settings = {name: value for name, value in self.chunker.settings().items() if name != "model"}
        return str(yaml.safe_dump({"chunking": settings}, default_flow_style=None, sort_keys=False, width=1_000))
