"""The run context of stages: a dataset, its metrics and the workspace for results."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.base import Usage
from workbench.components.judging.base import Judge, Task
from workbench.components.judging.settings import Judging
from workbench.components.retrieval.base import DocumentFilters
from workbench.core.errors import RunError
from workbench.core.files import require_folder
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import Memo
from workbench.core.records import Dataset, Variant
from workbench.core.storage.call_cache import CallCache
from workbench.core.storage.remote_store import RemoteStore, is_url, mirror_of
from workbench.core.storage.result_store import Store, StoredResult
from workbench.core.storage.vector_cache import VectorCache
from workbench.data.checks import corpus_fingerprint
from workbench.data.filters import matches
from workbench.llm.session import CallBudget, CallLimits, CallResources
from workbench.measures.metrics.inputs import Labels
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.chunk_table import Chunks
from workbench.runner.pipeline.configuration import Configuration


@dataclass(frozen=True)
class EncodingCost:
    """The cost of texts that workers encoded for a stage before it ran: tokens, a provider's usage, and seconds."""

    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: "EncodingCost") -> "EncodingCost":
        return EncodingCost(self.tokens + other.tokens, self.usage + other.usage, self.seconds + other.seconds)


@dataclass(frozen=True)
class Workspace:
    """The folders for results, shared by all experiments under an outputs folder.

    With a `url`, machines share the store, and `store_root` is this machine's copy. `spent` is the cost of texts that workers encoded, by
    the key of the vectors.
    """

    outputs: Path
    store_root: Path
    url: str = ""
    spent: dict[str, EncodingCost] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def at(cls, outputs: Path, store: str = "") -> Self:
        """Return the workspace under an outputs folder. `store` or WORKBENCH_STORE, a path or a URL, moves the store elsewhere.

        Raises InputError for a store that is no folder.
        """
        place = store or os.environ.get("WORKBENCH_STORE", "")
        if is_url(place):
            return cls(outputs, mirror_of(place), place)
        return cls(outputs, require_folder(Path(place), "WORKBENCH_STORE") if place else outputs / ".store")

    @cached_property
    def store(self) -> Store:
        return RemoteStore(self.url, self.store_root) if self.url else Store(self.store_root)

    @cached_property
    def local_store(self) -> Store:
        """Return the store of what is always in the outputs: pages, since a shared store could contain anybody's HTML, and latencies.

        Another machine's latencies cannot be compared with this machine's.
        """
        return Store(self.outputs / ".store")

    @cached_property
    def vectors(self) -> VectorCache:
        return VectorCache(self.store_root / "vectors.sqlite")

    @cached_property
    def calls(self) -> CallCache:
        return CallCache(self.store_root / "calls.sqlite")

    @property
    def indexes(self) -> Path:
        return self.outputs / ".indexes"


@dataclass(frozen=True, eq=False)
class RunContext:
    """A dataset and its metrics in a workspace: everything needed to run a configuration.

    `configurations` are those of the experiment: vectors that late pooling encodes for one can serve the others. Without
    `indexed` no Chroma index is built or measured. Without a `primary` metric, results are not explained. `average` counts equally in means.
    Without `allow_code`, configurations that name functions have no keys and so no results. `variants` are the conditions, perturbations
    and repeats of answers, and `limits` those of their calls. `slices` are crossed, each of several fields.
    Answers are judged by those of `judging`, None without answers. `memo` has the latest values of functions that are `memoised`.
    """

    workspace: Workspace
    dataset: Dataset
    metrics: tuple[Metric, ...]
    spans: Literal["exact", "chroma"]
    configurations: tuple[Configuration, ...] = ()
    indexed: bool = True
    primary: Metric | None = None
    average: Literal["questions", "documents"] = "questions"
    allow_code: bool = False
    variants: tuple[Variant, ...] = (Variant(),)
    limits: CallLimits = field(default_factory=CallLimits)
    slices: tuple[tuple[str, ...], ...] = ()
    judging: Judging | None = None
    memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process derives its own tables from the dataset.
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @property
    def judges(self) -> Mapping[Task, Judge]:
        """Return the judge of each task. Empty without judges."""
        return self.judging.judges if self.judging else {}

    def judge_of(self, task: str) -> tuple[Task, Judge]:
        """Return a task with its judge. Raises RunError if it has none."""
        for name, judge in self.judges.items():
            if name == task:
                return name, judge
        raise RunError(f"the run has no judge of {task}", "run the sweep again")

    @property
    def required_judging(self) -> Judging:
        """Return the judges of the run. Raises RunError if it has none."""
        if self.judging is None:
            raise RunError("the run has no judges", "run the sweep again")
        return self.judging

    @property
    def judged_conditions(self) -> tuple[str, ...]:
        """Return the conditions whose answers are judged, in the order of the run. Empty without judges."""
        if self.judging is None:
            return ()
        conditions = dict.fromkeys(variant.condition for variant in self.variants)
        return tuple(condition for condition in conditions if not self.judging.conditions or condition in self.judging.conditions)

    @property
    def judged_variants(self) -> tuple[Variant, ...]:
        return tuple(variant for variant in self.variants if variant.condition in self.judged_conditions)

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """Return the fingerprints of the dataset's parts, by the names that stages use for inputs.

        `corpus`: ids, titles and texts of the documents. `questions`: texts of the queries in order. `labels`: queries with their filters, and
        judgements, which is everything that metrics read besides the retrieved chunks. `expected`: ids and expected answers of the queries.
        """
        dataset = self.dataset
        queries = [
            (query.query_id, query.answerable, dict(query.metadata), *([dict(query.where)] if query.where else []))
            for query in dataset.queries
        ]
        qrels = [(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in dataset.qrels]
        needs = [(need.query_id, [(span.doc_id, span.start, span.end) for span in need.alternatives]) for need in dataset.needs]
        return {
            "corpus": corpus_fingerprint(dataset.documents),
            "questions": fingerprint([query.text for query in dataset.queries]),
            "labels": fingerprint(queries, qrels, needs),
            "expected": fingerprint([(query.query_id, query.answer, query.answer_variants) for query in dataset.queries]),
        }

    @cached_property
    def questions_identity(self) -> str:
        """Fingerprint the ids of the questions, by which components can know them."""
        return fingerprint([query.query_id for query in self.dataset.queries])

    @cached_property
    def calls(self) -> CallResources:
        """Return the cache of calls, which all experiments of the outputs share, and the budget of this run."""
        return CallResources(self.workspace.calls, CallBudget(self.limits))

    @property
    def answer_resources(self) -> AnswerResources:
        """Return the resources that generators share: the cache of vectors, the cache and budget of calls, and the documents."""
        return AnswerResources(self.workspace.vectors, self.calls, self.dataset.documents)

    @cached_property
    def filters(self) -> DocumentFilters | None:
        """Return the documents that each query may find, or None if no query has a filter."""
        queries, documents = self.dataset.queries, self.dataset.documents
        distinct = {fingerprint(dict(query.where)): query.where for query in queries if query.where}
        if not distinct:
            return None
        places = {identity: number for number, identity in enumerate(distinct)}
        numbers = [places[fingerprint(dict(query.where))] if query.where else -1 for query in queries]
        masks = [[matches(where, document) for document in documents] for where in distinct.values()]
        return DocumentFilters(np.array(numbers, dtype=np.int64), np.array(masks, dtype=np.bool_))

    @cached_property
    def labels(self) -> Labels:
        """Return the dataset's judgements as arrays."""
        return Labels.of(self.dataset)

    @cached_property
    def query_ids(self) -> NDArray[np.object_]:
        """Return the ids of the queries. Shape (queries,)."""
        return np.array([query.query_id for query in self.dataset.queries], dtype=object)

    @cached_property
    def doc_ids(self) -> NDArray[np.object_]:
        """Return the ids of the documents. Shape (documents,)."""
        return np.array([document.doc_id for document in self.dataset.documents], dtype=object)

    def chunks(self, entry: StoredResult) -> Chunks:
        """Return the chunks of a finished stage `chunks`, creating each record on access."""
        return Chunks(self.dataset.documents, entry.table("chunks"))
