"""A stage of the pipeline as a value: its inputs, its identity, and how it computes a result."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.embedding.base import Embedder, Role
from workbench.errors import StoreError
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.storage.result_store import Draft, Entry

# Finished results by stage and part.
Entries = Mapping[str, Mapping[str, Entry]]


@dataclass(frozen=True, slots=True)
class Variant:
    """A condition of the context, a perturbation of the question and a repeat, under which a configuration is run."""

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
class Inputs:
    """The run, a node with its key, and the results of its inputs; `peers` are the inputs of other configurations' results that are missing."""

    run: RunContext
    node: Node
    key: str
    entries: Entries
    peers: Callable[[], "list[Inputs]"]

    @property
    def configuration(self) -> Configuration:
        """The node's configuration."""
        return self.node.configuration

    def entry(self, stage: str) -> Entry:
        """The result of a stage that is stored in one part. Errors: StoreError where the stage is not among the inputs."""
        if stage not in self.entries:
            raise StoreError(f"the stage {self.node.stage} has no input {stage}", "name it in the stage's inputs")
        return self.entries[stage][""]


class Stage(ABC):
    """A step of the pipeline; its results are stored by `graph.Graph` under a key made of everything that decides them.

    `inputs` names stages, or `corpus`, `questions`, `labels` of the dataset. Raise `version` when equal settings begin to give another
    result. `setting` is the column of the history that records a change of this stage; by default the stage's name.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    inputs: ClassVar[tuple[str, ...]] = ()
    setting: ClassVar[str] = ""
    role: ClassVar[Role] = "document"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Whether a configuration needs the stage."""
        return True

    def parts(self, run: RunContext) -> Sequence[str]:
        """The names of the results that are stored apart; by default one result without a name."""
        return ("",)

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """The settings that decide the result besides its inputs, as canonical JSON; none by default."""
        return None

    def demands(self, node: Node, run: RunContext) -> Any:
        """The properties of the run that decide the result, as canonical JSON: metrics, depths, versions of libraries."""
        return None

    @abstractmethod
    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Write the result into the draft."""

    def obtain(self, inputs: Inputs) -> Entry:
        """The result from the store, or else computed and stored."""
        return inputs.run.workspace.store.obtain(self.name, inputs.key, lambda draft: self.compute(inputs, draft))

    def is_stored(self, key: str, run: RunContext) -> bool:
        """Whether the result is in the store."""
        return run.workspace.store.has(self.name, key)

    def embedder(self, configuration: Configuration) -> Embedder | None:
        """The embedder of a stage that embeds texts, so that it runs in the process that has the vector cache; by default None."""
        return None

    def texts(self, inputs: Inputs) -> Sequence[str] | None:
        """The texts that the stage embeds one by one, in its `role`; None if it embeds nothing, or whole documents."""
        return None
