"""Subjects of assertions: the tables of a run, or a system that is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.api.pipeline import Hits, Index, Pipeline
from workbench.api.results import Results
from workbench.api.systems import compare
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.errors import InputError
from workbench.judging.settings import Judging
from workbench.llm.session import CallResources
from workbench.pipeline.configuration import PipelineConfiguration
from workbench.pipeline.single_question import SingleAnswer
from workbench.printable import printable_line
from workbench.records import Dataset, Document
from workbench.results.run_tables import RunTables
from workbench.targets.asking import TargetReply, TargetRequest, replies_of
from workbench.targets.base import Target, TargetResources
from workbench.targets.callable.live import PythonTarget

NAME = "system"
Judges = Judging | Mapping[str, Any] | str | None


def run_of(system: object, dataset: Dataset | None, metrics: Sequence[str], judging: Judges = None) -> RunTables:
    """Return the tables of results, or those of a system that is asked every question of a dataset. Raises InputError without a dataset."""
    if isinstance(system, Results):
        return system.tables
    if isinstance(system, RunTables):
        return system
    whole = required(dataset)
    return compare({NAME: system}, whole, metrics, judging=judging).tables


def require_accepted(drafts: str, claim: str) -> None:
    """Raise AssertionError if a claim rests on drafts that nobody has accepted, which decide nothing, as in a gate.

    `drafts` states how many of the questions are (`unaccepted_drafts`, empty without any).
    """
    __tracebackhide__ = True
    if drafts:
        fix = "accept or delete them, in the labeller or with workbench dataset accept"
        raise AssertionError(printable_line(f"undecided, {claim}: {drafts}; {fix}"))


def required(dataset: Dataset | None) -> Dataset:
    """Return the dataset. Raises InputError without one."""
    if dataset is None:
        raise InputError("a system is asked the questions of a dataset", "pass dataset=, or the results of a sweep")
    return dataset


def replies(target: Target, requests: Sequence[TargetRequest], dataset: Dataset | None) -> list[TargetReply]:
    """Ask a target, and return its replies in the order of the requests."""
    return replies_of(target, requests, TargetResources(CallResources(), dataset.documents if dataset else ()))


def pipeline_of(configuration: PipelineConfiguration) -> Pipeline:
    """Return the pipeline of a configuration."""
    return Pipeline(
        chunking=configuration.chunking,
        embedding=configuration.embedding or SentenceTransformerEmbedder(),
        retrieval=configuration.retrieval,
        rerank=configuration.rerank,
        rewrite=configuration.rewrite,
        context=configuration.context,
        answering=configuration.answering,
    )


def ingesting(pipeline: Pipeline, name: str, outputs: Path) -> PythonTarget:
    """Return a pipeline as a target that takes documents: it is indexed again after each change.

    It serves one request at a time, because the first one after a change builds the index.
    """
    documents, built = dict[str, Document](), list[Index]()

    def index() -> Index:
        if not built:
            built.append(pipeline.index(Dataset("documents", tuple(documents.values()), (), ()), outputs))
        return built[0]

    def search(query: str, k: int) -> Hits:
        return index().search(query, k) if documents else Hits()

    def answer(query: str) -> SingleAnswer:
        if not documents:
            raise InputError("there are no documents")
        return index().answer(query)

    def ingest(added: Sequence[Document]) -> None:
        documents.update((document.doc_id, document) for document in added)
        built.clear()

    def remove(doc_ids: Sequence[str]) -> None:
        for doc_id in doc_ids:
            documents.pop(doc_id, None)
        built.clear()

    answers = {"answer": answer} if pipeline.answering else {}
    return PythonTarget(name=name, k=pipeline.retrieval.k, concurrency=1, search=search, ingest=ingest, remove=remove, **answers)
