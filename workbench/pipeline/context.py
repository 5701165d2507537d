"""What stages are given: the dataset and the metrics asked of it, and the place where results are kept."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from workbench.embedding.base import Usage
from workbench.metrics.inputs import Labels
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.keys import Identity, Keys, keys_of
from workbench.records import Dataset
from workbench.retrieval.base import SearchDepth
from workbench.storage.remote_store import RemoteStore
from workbench.storage.result_store import Store
from workbench.storage.vector_cache import VectorCache

_LISTED = 100


@dataclass(frozen=True)
class EncodingCost:
    """What was encoded for a stage before it ran, by workers: tokens, what a provider counted, and the workers' seconds."""

    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: "EncodingCost") -> "EncodingCost":
        return EncodingCost(self.tokens + other.tokens, self.usage + other.usage, self.seconds + other.seconds)


@dataclass(frozen=True)
class Workspace:
    """Where results are kept: everything under one outputs folder shares them. `spent` is what workers encoded, by the vectors' key.

    A store under a `url` is shared by machines; `store_root` is then this machine's copy of it.
    """

    outputs: Path
    store_root: Path
    url: str = ""
    spent: dict[str, EncodingCost] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def store(self) -> Store:
        """The results of stages."""
        return RemoteStore(self.url, self.store_root) if self.url else Store(self.store_root)

    @cached_property
    def vectors(self) -> VectorCache:
        """The vectors of texts."""
        return VectorCache(self.store_root / "vectors.sqlite")

    @property
    def indexes(self) -> Path:
        """The folder of the Chroma indexes."""
        return self.outputs / ".indexes"


@dataclass(frozen=True)
class RunContext:
    """One dataset with the metrics asked of it, in a workplace: all that a configuration needs to be run.

    `configurations` are those of the experiment: what late pooling encodes for one of them serves the others too. Without
    `indexed` no Chroma index is built, and nothing is measured of it.
    """

    workplace: Workspace
    dataset: Dataset
    metrics: tuple[Metric, ...]
    spans: Literal["exact", "chroma"]
    configurations: tuple[Configuration, ...] = ()
    indexed: bool = True

    @cached_property
    def identity(self) -> Identity:
        """The dataset's fingerprints."""
        return Identity(self.dataset)

    @cached_property
    def labels(self) -> Labels:
        """The dataset's judgements as arrays."""
        return Labels.of(self.dataset)

    def keys(self, configuration: Configuration) -> Keys:
        """The keys of a configuration's stages."""
        return keys_of(configuration, self.identity, self.depth(configuration), self.metrics, self.spans, self.indexed)

    def depth(self, configuration: Configuration) -> SearchDepth:
        """How far the metrics make a configuration look; 100 documents are listed, for margins and run files."""
        slices = [metric.k for metric in self.metrics if metric.bounded_by_k and metric.k is not None]
        documents = [metric.k for metric in self.metrics if metric.family == "documents" and metric.k is not None]
        budgets = [metric.tokens for metric in self.metrics if metric.tokens is not None]
        return SearchDepth(max([configuration.retrieval.k, *slices]), max([0, *budgets]), max([1, *documents]), listed=_LISTED)
