"""Precompute missing results on Dask workers: texts are encoded in batches, and results of the graph are tasks.

A task is named by the key of its result, so results that configurations share are computed once. Encoded batches return to the
driver, the only process that writes the vector cache. So stages that embed run on the driver, all others on the workers.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from workbench.components.embedding.base import Embedder, Role
from workbench.components.embedding.embed import Batch, missing_batches, text_keys
from workbench.core.errors import WorkerError
from workbench.core.fingerprint import fingerprint
from workbench.core.text.progress import ProgressBar
from workbench.runner.execution.dask import tasks
from workbench.runner.execution.dask.cluster import checked, connected, marked
from workbench.runner.execution.dask.workers import Task, Workers
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import EncodingCost
from workbench.runner.pipeline.graph import Graph, NodePlan
from workbench.runner.pipeline.stage import Node


@dataclass
class _Sweep:
    """A sweep on workers, with the results that were missing before it and the errors of its tasks."""

    graph: Graph
    configurations: Sequence[Configuration]
    plan: NodePlan
    errors: dict[str, BaseException] = field(default_factory=dict)

    def missing(self, stages: Sequence[str] | None = None) -> list[Node]:
        """Return the nodes missing from the store, each result once, except those of failed configurations."""
        running = [configuration for configuration in self.configurations if not self.failed(configuration)]
        return [planned.node for nodes in self.plan.missing(running, stages).values() for planned in nodes]

    def failed(self, configuration: Configuration) -> list[BaseException]:
        return [self.errors[task] for node in self.graph.nodes(configuration) if (task := self.graph.task(node)) in self.errors]

    def run(self, workers: Workers) -> None:
        """Compute all missing results, wave by wave."""
        for wave in self._waves():
            self._encode(workers, wave)
            for ended in workers.run([self._task(node) for node in self.missing(wave)]):
                if ended.error is not None:
                    self.errors[ended.name] = ended.error
                    continue
                if ended.value.computed:
                    self.graph.precomputed[ended.name] = ended.value.seconds
                if not ended.value.complete:
                    # Made again, a failed call would be paid twice.
                    self.graph.incomplete[ended.name] = ended.value

    def _waves(self) -> list[list[str]]:
        """Group the stages into waves. A stage that embeds results of the current wave begins a new one."""
        waves: list[list[str]] = [[]]
        for name, stage in self.graph.stages.items():
            embeds = any(stage.embedder(each) for each in self.configurations if self.graph.has(each, stage))
            if embeds and set(stage.inputs) & set(waves[-1]):
                waves.append([])
            waves[-1].append(name)
        return waves

    def _task(self, node: Node) -> Task:
        name, needs = self.graph.task(node), tuple(map(self.graph.task, self.graph.before(node)))
        stage = self.graph.stages[node.stage]
        if stage.is_local(node):
            return Task(name, self.graph.obtain, lambda: (node,), needs, local=True)

        def arguments() -> tuple[Any, ...]:
            return node, self.graph.key(node), {need: entry for need in needs if (entry := self.graph.incomplete.get(need))}

        return Task(name, tasks.compute, arguments, needs)

    def _encode(self, workers: Workers, stages: Sequence[str]) -> None:
        wanted: dict[tuple[Embedder, Role], dict[Node, Sequence[str]]] = defaultdict(dict)
        for node in self.missing(stages):
            stage = self.graph.stages[node.stage]
            embedder = stage.embedder(node.configuration)
            if embedder and (texts := stage.texts(self.graph.inputs(node))) is not None:
                wanted[embedder, stage.role][node] = texts
        for (embedder, role), texts_of in wanted.items():
            self._encode_role(workers, embedder, role, texts_of)

    def _encode_role(self, workers: Workers, embedder: Embedder, role: Role, wanted: Mapping[Node, Sequence[str]]) -> None:
        """Encode the texts missing from the cache. An embedder's own error ends its encoding, and its stage meets and reports it."""
        cache, nodes, texts = self.graph.run.workspace.vectors, list(wanted), list(wanted.values())
        identity, batches = tasks.embedder_identity(embedder), missing_batches(texts, embedder, role, cache)
        by_name = {f"encode-{fingerprint(batch.keys.tobytes().hex())}": batch for batch in batches}

        def arguments(batch: Batch) -> tuple[Any, ...]:
            # Create the texts of a batch when a worker is free: all batches together are as large as the corpus.
            return embedder, role, identity, batch.texts(texts)

        planned = [Task(name, tasks.encode, partial(arguments, batch)) for name, batch in by_name.items()]
        total = sum(int(batch.tokens.sum()) for batch in batches)
        with ProgressBar(total=total, unit="tok", unit_scale=True, desc="embed on workers", disable=not total) as bar:
            for ended in workers.run(planned):
                batch = by_name[ended.name]
                if isinstance(ended.error, WorkerError):
                    # Do not retry texts that killed workers on the driver: the stages that need one of them fail.
                    keys = set(batch.cache_keys)
                    lost = [node for node in nodes if not keys.isdisjoint(text_keys(wanted[node], embedder, role))]
                    self.errors = {self.graph.task(node): ended.error for node in lost} | self.errors
                elif ended.error is not None:
                    break
                else:
                    vectors, cost = ended.value
                    cache.put(batch.cache_keys, vectors)
                    self._charge([nodes[sequence] for sequence in batch.sequences.tolist()], batch, cost)
                    bar.update(int(batch.tokens.sum()))

    def _charge(self, owners: Sequence[Node], batch: Batch, cost: EncodingCost) -> None:
        """Charge each text's tokens to the first node that needs it, as in one process, and the cost to the first text's node."""
        spent = self.graph.run.workspace.spent
        costs = [EncodingCost(tokens) for tokens in batch.tokens.tolist()]
        for node, part in [*zip(owners, costs, strict=True), (owners[0], cost)]:
            key = self.graph.key(node)
            spent[key] = spent.get(key, EncodingCost()) + part


def precompute(
    graph: Graph, configurations: Sequence[Configuration], say: Callable[[str], None], jobs: int | None = None, scheduler: str | None = None
) -> dict[str, BaseException]:
    """Compute missing results on workers and return each configuration's first error. Raises InputError without usable workers."""
    plan = graph.plan(configurations)
    plan.check(configurations)
    sweep = _Sweep(graph, configurations, plan)
    if not sweep.missing():
        return {}
    with connected(jobs, scheduler) as workers, marked(graph.run) as mark:
        job = checked(graph.run, configurations, workers, mark)
        workers.share(job, fingerprint([str(job.outputs), job.store])[:8])
        threads = ", ".join(f"{threads} threads each on {name}" for name, threads in job.threads.items())
        say(f"workers: {len(workers.addresses())}, {threads}")
        sweep.run(workers)
    return {configuration.name: errors[0] for configuration in configurations if (errors := sweep.failed(configuration))}
