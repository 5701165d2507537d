"""A stage of the pipeline as a value: what it needs, what decides its result, and how that is computed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.embedding.base import Embedder, Role
from workbench.errors import StoreError
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.storage.result_store import Draft, Entry


@dataclass(frozen=True, slots=True)
class Variant:
    """What is done to a question besides the configuration: a condition of the context, a perturbation, a repeat."""

    condition: str = "retrieved"
    perturbation: str = ""
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One result of the graph: a stage of a configuration in a variant; `part` names one of several results that are stored apart."""

    stage: str
    configuration: Configuration
    variant: Variant = field(default_factory=Variant)
    part: str = ""


@dataclass(frozen=True)
class TextRequest:
    """Texts that a stage embeds, so that they can be counted, or encoded elsewhere, before it runs."""

    embedder: Embedder
    role: Role
    texts: Sequence[str]


@dataclass(frozen=True)
class Inputs:
    """What a stage computes from: the run, its node with the node's key, and the finished results of the stages before it by name and part.

    `peers` gives the inputs of the same stage for the run's other configurations that lack its result.
    """

    run: RunContext
    node: Node
    key: str
    entries: Mapping[str, Mapping[str, Entry]]
    peers: Callable[[], "list[Inputs]"]

    @property
    def configuration(self) -> Configuration:
        """The node's configuration."""
        return self.node.configuration

    def has(self, stage: str) -> bool:
        """Whether the configuration has this stage before the node."""
        return stage in self.entries

    def entry(self, stage: str) -> Entry:
        """The result of a stage that is stored in one part. Errors: StoreError where the stage is not among the inputs."""
        found = self.entries.get(stage)
        if found is None:
            raise StoreError(f"the stage {self.node.stage} has no input {stage}", "name it in the stage's inputs")
        return next(iter(found.values()))


class Stage(ABC):
    """A step of the pipeline; its results are stored by `graph.Graph` under a key made of everything that decides them.

    `inputs` names stages, or `corpus`, `questions`, `labels` of the dataset. `version` is raised when equal settings begin to give
    another result. `setting` groups identities in the history: the column, or the name, under which a change of this stage is told.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    inputs: ClassVar[tuple[str, ...]] = ()
    setting: ClassVar[str] = ""

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Whether a configuration needs the stage."""
        return True

    def parts(self, run: RunContext) -> Sequence[str]:
        """The names of the results that are stored apart; one without a name by default."""
        return ("",)

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """The settings that decide the result besides its inputs, as canonical JSON; none by default."""
        return None

    def demands(self, node: Node, run: RunContext) -> Any:
        """What the run asks of the stage and its result depends on, as canonical JSON: metrics, depths, versions of libraries."""
        return None

    @abstractmethod
    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Write the result into the draft."""

    def obtain(self, inputs: Inputs) -> Entry:
        """The result from the store, computed if it is not there."""
        return inputs.run.workspace.store.obtain(self.name, inputs.key, lambda draft: self.compute(inputs, draft))

    def is_stored(self, key: str, run: RunContext) -> bool:
        """Whether the result is in the store."""
        return run.workspace.store.has(self.name, key)

    def embeds(self, configuration: Configuration) -> bool:
        """Whether the stage embeds texts: then it runs in the process that has the cache of vectors."""
        return False

    def texts(self, inputs: Inputs) -> TextRequest | None:
        """The texts that the stage embeds one by one; None where it embeds nothing, or whole documents."""
        return None
