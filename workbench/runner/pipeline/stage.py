"""A stage of the pipeline: its inputs, its identity, and the computation of a result."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import pandas as pd

from workbench.components.embedding.base import Embedder, Role
from workbench.core.errors import InputError, StoreError
from workbench.core.records import Variant
from workbench.core.schemas import TableSchema
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.core.text.progress import reporting
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage_results import StageResults, result_id


@dataclass(frozen=True, slots=True)
class Node:
    """One result of the graph: a stage of a configuration in a variant. `part` names one of several results stored separately."""

    stage: str
    configuration: Configuration
    variant: Variant = field(default_factory=Variant)
    part: str = ""

    @property
    def result_id(self) -> str:
        return result_id(self.variant, self.part)


TableMakers: TypeAlias = Mapping[TableSchema, Callable[[StageResults], pd.DataFrame]]


class Identity(NamedTuple):
    """The key material of a result besides its inputs, as canonical JSON.

    `settings` are those of the configuration, whose change the history records. `run` has properties of the run: metrics, depths, versions of
    libraries.
    """

    settings: Any = None
    run: Any = None


@dataclass(frozen=True, eq=False)
class Inputs(StageResults):
    """The results that a node needs, with its key. `pending` are the inputs of other configurations' missing results.

    `check` raises RunError if something that determines the result, such as a file of a prompt, has changed since the key was made.
    """

    node: Node
    key: str
    pending: Callable[[], "list[Inputs]"]
    check: Callable[[], None] = lambda: None

    def entry(self, stage: str) -> StoredResult:
        """Return the result of a stage that stores a single one for the node. Raises StoreError if the stage is not an input."""
        if stage not in self.entries:
            raise StoreError(f"the stage {self.node.stage} has no input {stage}", "name it in the stage's inputs")
        parts = self.entries[stage]
        return parts[""] if "" in parts else next(iter(parts.values()))


class Stage(ABC):
    """A step of the pipeline. `graph.Graph` stores its results under a key made from everything that determines them.

    `inputs` names stages, or `corpus`, `questions`, `labels` of the dataset. Increase `version` when equal settings begin to give another
    result. `setting` is the column of the history that records a change of this stage, by default the stage's name.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    inputs: ClassVar[tuple[str, ...]] = ()
    setting: ClassVar[str] = ""
    role: ClassVar[Role] = "document"
    # The output tables that the stage gives, each made from the results of a configuration.
    tables: ClassVar[TableMakers] = {}
    # Whether the stage writes the item cache.
    uses_cache: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "demands") or "configuration" in inspect.signature(cls.identity).parameters:
            raise InputError(f"{cls.__name__} is a stage for an earlier Workbench", "write identity(node, run), which returns an Identity")

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return True if a configuration needs the stage."""
        return True

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        """Return the names of the results that are stored separately, by default a single unnamed one."""
        return ("",)

    def variant(self, variant: Variant) -> Variant:
        """Return the part of a variant that the result depends on. By default variants share one result."""
        return Variant()

    def includes(self, variant: Variant, run: RunContext) -> bool:
        """Return True if the run needs a result for a variant, by default for all."""
        return True

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        """Return the inputs that a variant or a part needs, by default all of them."""
        return self.inputs

    def is_local(self, node: Node) -> bool:
        """Return True if only the process that runs the sweep computes the result, since it alone has the item cache."""
        return self.uses_cache or self.embedder(node.configuration) is not None

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return everything that determines a result besides the version and the inputs: of its configuration, and of the run."""
        return Identity()

    def recorded(self, configuration: Configuration, run: RunContext) -> Any:
        """Return the settings whose change the history records, by default those of the identity in the usual variant."""
        parts = self.parts(configuration, run)
        return self.identity(Node(self.name, configuration, part=parts[0]), run).settings if parts else None

    def tables_of(self, configuration: Configuration) -> TableMakers:
        """Return the output tables that the stage gives for a configuration which has it, by default all."""
        return self.tables

    @abstractmethod
    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Write the result."""

    def obtain(self, inputs: Inputs) -> StoredResult:
        """Return the result from the store, computing and storing it if necessary."""

        def compute(writer: ResultWriter) -> None:
            with reporting(self.name):
                self.compute(inputs, writer)
            inputs.check()
            if not all(entry.complete for parts in inputs.entries.values() for entry in parts.values()):
                writer.mark_incomplete()

        return inputs.run.workspace.store.obtain(self.name, inputs.key, compute)

    def is_stored(self, key: str, run: RunContext) -> bool:
        return run.workspace.store.has(self.name, key)

    def embedder(self, configuration: Configuration) -> Embedder | None:
        """Return the embedder if the stage embeds texts, which then runs in the process with the vector cache. None by default."""
        return None

    def texts(self, inputs: Inputs) -> Sequence[str] | None:
        """Return the texts that the stage embeds one by one in its `role`, or None if it embeds whole documents or nothing."""
        return None
