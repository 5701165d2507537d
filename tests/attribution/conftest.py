"""What attribution makes of a finished run."""

from collections.abc import Sequence

import pandas as pd

from workbench.attribution.chunk_faults import ChunkFault, chunk_faults
from workbench.attribution.evidence_causes import context_cut, missed
from workbench.attribution.evidence_state import EmbeddedExtent, embedded_extent
from workbench.execution.local import Outcome
from workbench.execution.result import Result
from workbench.metrics.case import Case
from workbench.metrics.names import Metric
from workbench.pipeline.rankings import retrieved
from workbench.pipeline.stages.vectors import input_lengths


def inputs_of(outcome: Outcome, result: Result) -> Sequence[str]:
    return outcome.context.chunks(result.entry("chunks")).inputs


def extent_of(outcome: Outcome, result: Result) -> EmbeddedExtent:
    embedding = result.configuration.embedding
    inputs, vocabulary = inputs_of(outcome, result), embedding.vocabulary if embedding else None
    return embedded_extent(outcome.context.labels, result.chunks_table, result.truncated, inputs, vocabulary)


def misses_of(outcome: Outcome, result: Result, metric: str) -> pd.DataFrame:
    case = Case(outcome.context.labels, retrieved(result.configuration, result.entry("chunks"), result.hits, "exact"), "exact")
    named = Metric.parse(metric)
    return missed(case, named, extent_of(outcome, result), context_cut(named, result.configuration.delivery(named)))


def faults_of(outcome: Outcome, result: Result) -> dict[str, ChunkFault]:
    context, inputs = outcome.context, inputs_of(outcome, result)
    found = chunk_faults(
        context.labels, context.dataset, result.chunks_table, inputs, input_lengths(result.entries), result.configuration.window
    )
    return {fault.name: fault for fault in found}
