"""Subjects of assertions: the tables of a run, or a system that is asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.api.pipeline import Pipeline
from workbench.api.systems import compare
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.judging.settings import Judging
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.core.text.printable import printable_line
from workbench.llm.session import CallResources
from workbench.report.results.run_tables import RunTables
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.systems.asking import TargetReply, TargetRequest, replies_of
from workbench.systems.base import Target, TargetResources

NAME = "system"
Judges = Judging | Mapping[str, Any] | str | None


def run_of(system: object, dataset: Dataset | None, metrics: Sequence[str], judging: Judges = None) -> RunTables:
    """Return the tables of results, or those of a system that is asked every question of a dataset. Raises InputError without a dataset."""
    if isinstance(system, RunTables):
        return system
    whole = required(dataset)
    return compare({NAME: system}, whole, metrics, judging=judging)


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
