"""Precompute missing results on Dask workers: texts are encoded in batches, results of the graph are tasks.

A result is a task named by its key, so what configurations share is one task, and what is in the store is none. Encoded batches come back
to the driver, which alone writes the cache of vectors; so the stages that embed run on the driver, all others on the workers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tqdm import tqdm

from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder, Role
from workbench.embedding.embed import Batch, missing_batches, text_keys
from workbench.errors import WorkerError
from workbench.execution.dask import tasks
from workbench.execution.dask.cluster import connected
from workbench.execution.dask.compatibility import checked, marked
from workbench.execution.dask.scheduler import Task, TaskResult
from workbench.execution.dask.tasks import Encoded, embedder_identity
from workbench.execution.dask.workers import Workers
from workbench.execution.local import Say
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import EncodingCost
from workbench.pipeline.graph import Graph
from workbench.pipeline.stage import Node, TextRequest
from workbench.storage.result_store import Entry


class WantedTexts(NamedTuple):
    """The texts that a node embeds, with its task and its key."""

    task: str
    key: str
    request: TextRequest


@dataclass
class _Sweep:
    """One sweep on workers: what was made, and what failed, by task."""

    graph: Graph
    configurations: Sequence[Configuration]
    made: dict[str, Entry] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)

    def missing(self, stages: Sequence[str] | None = None) -> dict[str, Node]:
        """The nodes that are not in the store by task, without those of configurations that failed."""
        found: dict[str, Node] = {}
        for configuration in self.configurations:
            if not self.failed(configuration):
                for node in self.graph.nodes(configuration, stages):
                    task = self.graph.task(node)
                    if task not in found and task not in self.made and not self.graph.is_stored(node):
                        found[task] = node
        return found

    def failed(self, configuration: Configuration) -> list[BaseException]:
        """The errors that a configuration met, the earliest stage's first."""
        return [self.errors[task] for node in self.graph.nodes(configuration) if (task := self.graph.task(node)) in self.errors]

    def run(self, workers: Workers) -> None:
        """Compute all that is missing, wave by wave."""
        for wave in self._waves():
            self._encode(workers, wave)
            missing = self.missing(wave)
            for ended in workers.run([self._task(name, node) for name, node in missing.items()]):
                self._note(ended)

    def _waves(self) -> list[list[str]]:
        """The stages in groups: one that embeds what an earlier stage of its group makes begins a new group."""
        waves: list[list[str]] = [[]]
        for name, stage in self.graph.stages.items():
            if any(stage.embeds(one) for one in self.configurations) and set(stage.inputs) & set(waves[-1]):
                waves.append([])
            waves[-1].append(name)
        return waves

    def _task(self, name: str, node: Node) -> Task:
        needs = tuple(map(self.graph.task, self.graph.before(node)))
        if self.graph.stages[node.stage].embeds(node.configuration):
            return Task(name, self.graph.obtain, lambda: (node,), needs, here=True)
        return Task(name, tasks.compute, lambda: (node, self.graph.key(node)), needs)

    def _note(self, ended: TaskResult) -> None:
        if ended.error is None:
            self.made[ended.name] = ended.value
        else:
            self.errors[ended.name] = ended.error

    def _encode(self, workers: Workers, stages: Sequence[str]) -> None:
        """Encode what the missing nodes of these stages embed."""
        wanted: dict[tuple[Embedder, Role], list[WantedTexts]] = {}
        for task, node in self.missing(stages).items():
            stage = self.graph.stages[node.stage]
            if stage.embeds(node.configuration) and (request := stage.texts(self.graph.inputs(node))):
                wanted.setdefault((request.embedder, request.role), []).append(WantedTexts(task, self.graph.key(node), request))
        for (embedder, role), some in wanted.items():
            self._encode_role(workers, embedder, role, some)

    def _encode_role(self, workers: Workers, embedder: Embedder, role: Role, wanted: list[WantedTexts]) -> None:
        """Encode what the cache lacks. An embedder's own error ends it: the stage meets the same error and tells it, as in one process."""
        cache = self.graph.run.workspace.vectors
        texts, identity = [one.request.texts for one in wanted], embedder_identity(embedder)
        batches = missing_batches(texts, embedder, role, cache)
        by_name = {f"encode-{fingerprint(batch.keys.tobytes().hex())}": batch for batch in batches}

        def given(batch: Batch) -> tuple[Any, ...]:
            # The texts of a batch are made when a worker is there for it: those of all batches are as large as the corpus.
            return embedder, role, identity, batch.texts(texts)

        planned = [Task(name, tasks.encode, partial(given, batch)) for name, batch in by_name.items()]
        total = sum(int(batch.tokens.sum()) for batch in batches)
        with tqdm(total=total, unit="tok", unit_scale=True, desc="embed on workers", disable=not total, leave=False) as bar:
            for ended in workers.run(planned):
                batch = by_name[ended.name]
                if isinstance(ended.error, WorkerError):
                    self._lost(batch, ended.error, wanted, embedder, role)
                elif ended.error is not None:
                    break
                else:
                    cache.put(batch.cache_keys, ended.value.vectors)
                    self._charge(batch, ended.value, wanted)
                    bar.update(int(batch.tokens.sum()))

    def _lost(self, batch: Batch, error: WorkerError, wanted: list[WantedTexts], embedder: Embedder, role: Role) -> None:
        """The stages that wanted one of these texts fail: what killed workers must not be tried on the driver."""
        for one in wanted:
            if not set(batch.cache_keys).isdisjoint(text_keys(one.request.texts, embedder, role)):
                self.errors.setdefault(one.task, error)

    def _charge(self, batch: Batch, encoded: Encoded, wanted: list[WantedTexts]) -> None:
        """Tokens to the first configuration that has the text, as in one process; what a provider counted to that of the first text."""
        spent = self.graph.run.workspace.spent
        owners = [wanted[sequence].key for sequence in batch.sequences.tolist()]
        charged = [(key, EncodingCost(int(tokens))) for key, tokens in zip(owners, batch.tokens, strict=True)]
        for key, part in [*charged, (owners[0], EncodingCost(0, encoded.usage, encoded.seconds))]:
            spent[key] = spent.get(key, EncodingCost()) + part


def precompute(
    graph: Graph, configurations: Sequence[Configuration], say: Say, jobs: int | None = None, scheduler: str | None = None
) -> dict[str, BaseException]:
    """Compute missing results on `jobs` processes here or on the workers of a scheduler; return the first error of each configuration.

    Errors: InputError, before anything runs, where there are no workers or one of them would compute something else.
    """
    sweep = _Sweep(graph, configurations)
    if not sweep.missing():
        return {}
    with connected(jobs, scheduler) as workers, marked(graph.run) as mark:
        job = checked(graph.run, configurations, workers, mark)
        workers.share(job, fingerprint([str(job.outputs), job.store])[:8])
        threads = ", ".join(f"{threads} threads each on {name}" for name, threads in job.threads.items())
        say(f"{len(workers.addresses())} workers, {threads}")
        sweep.run(workers)
    graph.precomputed |= {task: entry.seconds for task, entry in sweep.made.items() if entry.computed}
    return {one.name: errors[0] for one in configurations if (errors := sweep.failed(one))}
