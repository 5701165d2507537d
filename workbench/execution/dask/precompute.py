"""What a sweep lacks, computed by workers before its configurations are walked: texts are encoded in batches, stages are tasks.

A stage is a task named by its key, so what configurations share is one task, and what is in the store is none. Encoded batches come back
to the driver, which alone writes the cache of vectors; so the stages that read it (`vectors`, `queries`, and chunks that are cut by vectors)
run on the driver, all others on the workers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tqdm import tqdm

from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder, Role
from workbench.embedding.embed import Batch, missing_batches, text_keys
from workbench.embedding.late.pooling import is_late
from workbench.errors import WorkerError
from workbench.execution.dask import tasks
from workbench.execution.dask.cluster import connected
from workbench.execution.dask.compatibility import checked, marked
from workbench.execution.dask.scheduler import Task, TaskResult
from workbench.execution.dask.tasks import Encoded, StageReport, identity_of
from workbench.execution.dask.workers import Workers
from workbench.execution.local import Precomputed
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import EncodingCost, RunContext
from workbench.pipeline.stages import chunks_stage, embedder_inputs, queries_stage, vectors_stage
from workbench.retrieval.chroma_index import is_built
from workbench.storage.result_store import Entry

STAGES = ("chunks", "vectors", "queries", "index", "hits", "scores")
_NEEDS = {"vectors": ("chunks",), "index": ("vectors", "queries"), "hits": ("chunks", "index", "vectors", "queries"), "scores": ("hits",)}


class TextRequest(NamedTuple):
    """Texts of one role that a stage, by its task's name, reads vectors of; `key` is that of the stage's result."""

    task: str
    key: str
    role: Role
    texts: Sequence[str]


@dataclass
class _Sweep:
    """One sweep on workers: what it lacks, what was made, what failed by the task's name."""

    bench: RunContext
    configurations: Sequence[Configuration]
    made: dict[str, StageReport] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)

    def names(self, configuration: Configuration) -> dict[str, str]:
        """The stages that a configuration has, each with the name of its task."""
        keys = self.bench.keys(configuration)
        return {stage: f"{stage}-{key}" for stage in STAGES if (key := getattr(keys, stage)) is not None}

    def lacking(self, stages: Sequence[str]) -> dict[str, tuple[str, Configuration]]:
        """Of these stages what is not in the store: stage and first configuration by the task's name, without those that failed."""
        found: dict[str, tuple[str, Configuration]] = {}
        for configuration in self.configurations:
            names = self.names(configuration)
            if not any(name in self.errors for name in names.values()):
                found |= {
                    name: (stage, configuration)
                    for stage, name in names.items()
                    if stage in stages and name not in found and name not in self.made and not self._there(stage, name)
                }
        return found

    def _there(self, stage: str, name: str) -> bool:
        key = name.removeprefix(f"{stage}-")
        workplace = self.bench.workplace
        if stage == "index":
            # With a store under a URL an index is no result of its own: who needs it builds it.
            return bool(workplace.url) or is_built(workplace.indexes / key)
        return workplace.store.has(stage, key)

    def run(self, workers: Workers) -> None:
        """All that is lacking."""
        self._encode(workers, self._sentences())
        self._stages(workers, ("chunks",))
        self._encode(workers, self._inputs())
        self._stages(workers, ("vectors", "queries", "index", "hits", "scores"))

    def _stages(self, workers: Workers, stages: Sequence[str]) -> None:
        lacking = self.lacking(stages)
        planned = [self._task(name, stage, configuration) for name, (stage, configuration) in lacking.items()]
        for ended in workers.run(planned):
            self._note(ended)

    def _task(self, name: str, stage: str, configuration: Configuration) -> Task:
        names = self.names(configuration)
        needs = tuple(names[need] for need in _NEEDS.get(stage, ()) if need in names)
        if stage in ("vectors", "queries") or (stage == "chunks" and configuration.chunking.compared_by):
            return Task(name, self._here, lambda: (stage, configuration), needs, here=True)
        return Task(name, tasks.stage, lambda: (stage, name.removeprefix(f"{stage}-"), configuration), needs)

    def _here(self, stage: str, configuration: Configuration) -> StageReport:
        entry = self._computed_here(stage, configuration)
        return StageReport(entry.seconds, entry.computed)

    def _computed_here(self, stage: str, configuration: Configuration) -> Entry:
        chunks, embedder = chunks_stage, configuration.embedding
        if stage == "chunks" or embedder is None:
            return chunks(self.bench, configuration)
        if stage == "queries":
            return queries_stage(self.bench, embedder, configuration)
        return vectors_stage(self.bench, embedder, configuration, chunks(self.bench, configuration))

    def _note(self, ended: TaskResult) -> None:
        if ended.error is None:
            self.made[ended.name] = ended.value
        else:
            self.errors[ended.name] = ended.error

    def _sentences(self) -> dict[Embedder, list[TextRequest]]:
        """What chunkers compare by vectors."""
        found: dict[Embedder, list[TextRequest]] = {}
        for name, (_, configuration) in self.lacking(("chunks",)).items():
            if embedder := configuration.chunking.compared_by:
                texts = [text for document in self.bench.dataset.documents for text in configuration.chunking.compared(document)]
                found.setdefault(embedder, []).append(TextRequest(name, "", "document", texts))
        return found

    def _inputs(self) -> dict[Embedder, list[TextRequest]]:
        """The inputs of all chunks, and the queries."""
        found: dict[Embedder, list[TextRequest]] = {}
        for name, (stage, configuration) in self.lacking(("vectors", "queries")).items():
            if configuration.embedding is None:
                continue
            wanted = found.setdefault(configuration.embedding, [])
            if stage == "queries":
                wanted.append(TextRequest(name, "", "query", [query.text for query in self.bench.dataset.queries]))
            elif not is_late(configuration.embedding):
                # Late pooling passes over documents in the stage itself, on the driver.
                texts = embedder_inputs(self.bench, chunks_stage(self.bench, configuration).table("chunks"))
                wanted.append(TextRequest(name, name.removeprefix("vectors-"), "document", texts))
        return found

    def _encode(self, workers: Workers, wanted: dict[Embedder, list[TextRequest]]) -> None:
        for embedder, all_of_it in wanted.items():
            for role in ("document", "query"):
                if of_role := [one for one in all_of_it if one.role == role]:
                    self._encode_role(workers, embedder, role, of_role)

    def _encode_role(self, workers: Workers, embedder: Embedder, role: Role, wanted: list[TextRequest]) -> None:
        """Encode what the cache lacks. An embedder's own error ends it: the stage meets the same error and tells it, as in one process."""
        cache = self.bench.workplace.vectors
        texts, identity = [one.texts for one in wanted], identity_of(embedder)
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

    def _lost(self, batch: Batch, error: WorkerError, wanted: list[TextRequest], embedder: Embedder, role: Role) -> None:
        """The stages that wanted one of these texts fail: what killed workers must not be tried on the driver."""
        for one in wanted:
            if not set(batch.cache_keys).isdisjoint(text_keys(one.texts, embedder, role)):
                self.errors.setdefault(one.task, error)

    def _charge(self, batch: Batch, encoded: Encoded, wanted: list[TextRequest]) -> None:
        """Tokens to the first configuration that has the text, as in one process; what a provider counted to that of the first text."""
        spent = self.bench.workplace.spent
        owners = [wanted[sequence].key for sequence in batch.sequences.tolist()]
        charged = [(key, EncodingCost(int(tokens))) for key, tokens in zip(owners, batch.tokens, strict=True)]
        for key, part in [*charged, (owners[0], EncodingCost(0, encoded.usage, encoded.seconds))]:
            spent[key] = spent.get(key, EncodingCost()) + part


def compute_ahead(
    bench: RunContext,
    configurations: Sequence[Configuration],
    say: Callable[[str], None],
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Precomputed:
    """Compute what the configurations lack on `jobs` processes here or on the workers of a scheduler; what failed, by configuration.

    Errors: InputError, before anything runs, where there are no workers or one of them would compute something else.
    """
    sweep = _Sweep(bench, configurations)
    if not sweep.lacking(STAGES):
        return Precomputed()
    with connected(jobs, scheduler) as workers, marked(bench) as mark:
        site = checked(bench, configurations, workers, mark)
        workers.share(site, fingerprint([str(site.outputs), site.store])[:8])
        say(
            f"{len(workers.addresses())} workers, {', '.join(f'{threads} threads each on {name}' for name, threads in site.threads.items())}"
        )
        sweep.run(workers)
    failed = {one.name: [sweep.errors[name] for name in sweep.names(one).values() if name in sweep.errors] for one in configurations}
    made = {name: one.seconds for name, one in sweep.made.items() if one.computed}
    return Precomputed({name: errors[0] for name, errors in failed.items() if errors}, made)
