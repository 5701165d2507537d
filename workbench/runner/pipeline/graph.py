"""The sweep as a graph of stages, which determines keys, plans, runs, workers' tasks, timings and the history."""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from workbench.core.errors import InputError, RunError, is_panic
from workbench.core.fingerprint import fingerprint, require_unchanged
from workbench.core.imported_functions import require_permission
from workbench.core.records import Variant
from workbench.core.storage.result_store import StoredResult
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.registry import STAGES
from workbench.runner.pipeline.stage import Inputs, Node, Stage
from workbench.runner.pipeline.stage_results import Entries, StageResults


class PlannedNode(NamedTuple):
    """A result that a configuration needs, with its key and whether it is stored. Its `error` is why it has no key."""

    node: Node
    key: str
    stored: bool
    error: Exception | None = None


@dataclass(frozen=True)
class NodePlan:
    """The results that configurations need, by the name of the configuration, as they were when the plan was made."""

    nodes: Mapping[str, Sequence[PlannedNode]]

    @cached_property
    def _by_node(self) -> Mapping[Node, PlannedNode]:
        return {planned.node: planned for nodes in self.nodes.values() for planned in nodes}

    def is_stored(self, node: Node) -> bool:
        return self._by_node[node].stored

    def reused(self, configuration: Configuration) -> dict[str, bool]:
        """Return True if all results of each stage of a configuration were stored."""
        reused: dict[str, bool] = {}
        for planned in self.nodes[configuration.name]:
            reused[planned.node.stage] = reused.get(planned.node.stage, True) and planned.stored
        return reused

    def check(self, configurations: Sequence[Configuration], stages: Collection[str] | None = None) -> None:
        """Raise the first error of a result without a key."""
        for configuration in configurations:
            for planned in self.nodes[configuration.name]:
                if planned.error and (stages is None or planned.node.stage in stages):
                    raise planned.error

    def missing(self, configurations: Sequence[Configuration], stages: Collection[str] | None = None) -> dict[str, list[PlannedNode]]:
        """Return the results of each configuration that were not stored and that no earlier configuration needs, without those that have no key."""
        counted, missing = set[tuple[str, str]](), dict[str, list[PlannedNode]]()
        for configuration in configurations:
            nodes = missing.setdefault(configuration.name, [])
            for planned in self.nodes[configuration.name]:
                wanted = not planned.stored and not planned.error and (stages is None or planned.node.stage in stages)
                if wanted and (planned.node.stage, planned.key) not in counted:
                    counted.add((planned.node.stage, planned.key))
                    nodes.append(planned)
        return missing


class Graph:
    """The stages of a run in dependency order and the key of every result.

    `precomputed` has workers' seconds by task. `incomplete` has the results of this run that the store does not serve, by task.
    """

    def __init__(self, run: RunContext, stages: Mapping[str, Stage] = STAGES) -> None:
        self.run = run
        self._registered = stages
        self.precomputed: dict[str, float] = {}
        self.incomplete: dict[str, StoredResult] = {}
        self._keys: dict[Node, str] = {}
        self._identities: dict[Node, list[Any]] = {}
        self._permitted: set[Configuration] = set()

    @cached_property
    def stages(self) -> Mapping[str, Stage]:
        """Return the stages by name, each after its inputs. Raises InputError for an unknown or circular input."""
        sources = self.run.fingerprints
        needs = {name: [need for need in stage.inputs if need not in sources] for name, stage in self._registered.items()}
        unresolved = [name for name, inputs in needs.items() if not needs.keys() >= set(inputs)]
        try:
            if not unresolved:
                return {name: self._registered[name] for name in TopologicalSorter(needs).static_order()}
        except CycleError as error:
            unresolved = list(dict.fromkeys(error.args[1]))
        raise InputError(f"the stages {', '.join(unresolved)} have unknown or circular inputs", "correct the stages' inputs")

    def nodes(
        self, configuration: Configuration, stages: Sequence[str] | None = None, variants: Sequence[Variant] | None = None
    ) -> Iterator[Node]:
        """Yield the results that a configuration needs, each after its inputs.

        `stages` and `variants` restrict them to some stages and variants of the run.
        """
        chosen = None if stages is None else {configuration.provided.get(name, name) for name in stages}
        for name, stage in self.stages.items():
            if (chosen is None or name in chosen) and self.has(configuration, stage):
                wanted = (each for each in (self.run.variants if variants is None else variants) if stage.includes(each, self.run))
                for variant in dict.fromkeys(map(stage.variant, wanted)):
                    yield from (Node(name, configuration, variant, part) for part in stage.parts(configuration, self.run))

    def has(self, configuration: Configuration, stage: Stage) -> bool:
        """Return True if a stage computes results of a configuration, and no other stage gives them."""
        return stage.name not in configuration.provided and stage.applies(configuration, self.run)

    def before(self, node: Node) -> list[Node]:
        """Return the nodes that are inputs of a node: their results for all variants of the run that share the node's result."""
        stage = self.stages[node.stage]
        variants = [variant for variant in self.run.variants if stage.variant(variant) == node.variant]
        return list(self.nodes(node.configuration, stage.inputs_of(node), variants))

    def key(self, node: Node) -> str:
        """Hash everything that determines a result: its stage's identity and version, and the keys of its inputs.

        Raises InputError for a configuration or a judge that names code if the run does not allow code.
        """
        if node not in self._keys:
            if node.configuration not in self._permitted:
                # A key contains the digest of the code, and nothing is computed without a key.
                judges = self.run.judging.named_code if self.run.judging else ()
                require_permission((*node.configuration.named_code, *judges), self.run.allow_code)
                self._permitted.add(node.configuration)
            stage = self.stages[node.stage]
            sources = [self.run.fingerprints[need] for need in stage.inputs_of(node) if need in self.run.fingerprints]
            inputs = [self.key(earlier) for earlier in self.before(node)]
            self._identities[node] = self._identity(node)
            self._keys[node] = fingerprint(stage.name, stage.version, self._identities[node], sources, inputs)
        return self._keys[node]

    def _identity(self, node: Node) -> list[Any]:
        return [*self.stages[node.stage].identity(node, self.run), node.part]

    def task(self, node: Node) -> str:
        """Name the task that computes a result. Equal results share a name."""
        return f"{node.stage}-{self.key(node)}"

    def is_stored(self, node: Node) -> bool:
        return self.stages[node.stage].is_stored(self.key(node), self.run)

    def plan(self, configurations: Sequence[Configuration]) -> NodePlan:
        """Return every result that the configurations need, with its key and whether it is stored now."""
        return NodePlan({each.name: list(map(self._planned, self.nodes(each))) for each in configurations})

    def _planned(self, node: Node) -> PlannedNode:
        try:
            return PlannedNode(node, self.key(node), self.is_stored(node))
        except Exception as error:  # an unconverted model has no key yet; a sweep reports every other error
            return PlannedNode(node, "", False, error)

    def obtain(self, node: Node, entries: Entries | None = None) -> StoredResult:
        """Return a result from the store or from `incomplete`, computing it if necessary. See `inputs` for `entries`.

        Raises RunError if the code of a component calls `sys.exit` or panics, which must not end the other configurations or a worker.
        """
        if known := self.incomplete.get(self.task(node)):
            return known
        inputs = self.inputs(node, entries, self.key(node))
        try:
            return self.stages[node.stage].obtain(inputs)
        except SystemExit as error:
            raise RunError(f"the stage {node.stage} called sys.exit({error.code!r})", "let its component raise an error") from error
        except BaseException as error:
            if not is_panic(error):
                raise
            raise RunError(f"native code of the stage {node.stage} panicked: {error}", "leave out the text that it fails on") from error

    def inputs(self, node: Node, entries: Entries | None = None, key: str = "") -> Inputs:
        """Return the inputs of a node, obtaining those that `entries` lacks. Only a stage that stores its result needs the node's `key`."""
        obtained: dict[str, dict[str, StoredResult]] = {}
        for need in self.before(node):
            known = (entries or {}).get(need.stage, {}).get(need.result_id)
            obtained.setdefault(need.stage, {})[need.result_id] = known or self.obtain(need, entries)
        given = _with_provided(obtained, node.configuration)

        def check() -> None:
            require_unchanged(f"the stage {node.stage}", self._identities[node], self._identity(node))

        return Inputs(self.run, node.configuration, given, node, key, lambda: self._pending(node), check)

    def _pending(self, node: Node) -> list[Inputs]:
        pending = []
        for configuration in self.run.configurations:
            for other in self.nodes(configuration, [node.stage], [node.variant]):
                if other.part == node.part and self.key(other) != self.key(node) and not self.is_stored(other):
                    # Its own configuration reports the error.
                    with contextlib.suppress(Exception):
                        pending.append(self.inputs(other))
        return pending

    def walk(self, configuration: Configuration, stages: Sequence[str] | None = None) -> StageResults:
        """Obtain every result of a configuration, or only those of some stages."""
        entries: dict[str, dict[str, StoredResult]] = {}
        nodes = list(self.nodes(configuration, stages))
        for node in nodes:
            # Made before any result, so that no stage reads another version of a file than the stages before it.
            self.key(node)
        for node in nodes:
            entry = self.obtain(node, entries)
            if (seconds := self.precomputed.pop(self.task(node), None)) is not None:
                entry = replace(entry, seconds=seconds, computed=True)
            entries.setdefault(node.stage, {})[node.result_id] = entry
        return StageResults(self.run, configuration, _with_provided(entries, configuration))

    def fingerprint(self, configuration: Configuration) -> str:
        return fingerprint([self.key(node) for node in self.nodes(configuration)])

    def settings(self, configuration: Configuration) -> dict[str, str]:
        """Fingerprint the settings and versions of each group of stages, without their inputs, for the history."""
        groups: dict[str, list[object]] = {}
        for name, stage in self.stages.items():
            recorded = stage.recorded(configuration, self.run) if self.has(configuration, stage) else None
            if recorded is not None:
                groups.setdefault(stage.setting or name, []).append([stage.version, recorded])
        return {group: fingerprint(parts) for group, parts in groups.items()}


def _with_provided(entries: Entries, configuration: Configuration) -> Entries:
    """Add the results of stages that give the tables of others, under the names of these."""
    return {**entries, **{name: entries[stage] for name, stage in configuration.provided.items() if stage in entries}}
