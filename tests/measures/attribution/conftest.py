"""What attribution makes of a finished run."""

from collections.abc import Sequence

import pandas as pd

from workbench.measures.attribution.evidence_causes import context_cut, missed
from workbench.measures.attribution.evidence_state import ChunkFault, EmbeddedExtent, chunk_faults, embedded_extent
from workbench.measures.metrics.case import Case
from workbench.measures.metrics.names import Metric
from workbench.runner.execution.local import Outcome
from workbench.runner.pipeline.stage_results import StageResults, retrieved


def inputs_of(outcome: Outcome, result: StageResults) -> Sequence[str]:
    return outcome.run.chunks(result.entry("chunks")).inputs


def extent_of(outcome: Outcome, result: StageResults) -> EmbeddedExtent:
    embedding = result.configuration.embedding
    inputs, vocabulary = inputs_of(outcome, result), embedding.vocabulary if embedding else None
    return embedded_extent(outcome.run.labels, result.chunks_table, result.truncated, inputs, vocabulary)


def misses_of(outcome: Outcome, result: StageResults, metric: str) -> pd.DataFrame:
    case = Case(outcome.run.labels, retrieved(result.configuration, result.entry("chunks"), result.entry("hits"), "exact"), "exact")
    named = Metric.parse(metric)
    return missed(case, named, extent_of(outcome, result), context_cut(named, result.configuration.delivery(named)))


def faults_of(outcome: Outcome, result: StageResults) -> dict[str, ChunkFault]:
    context, inputs = outcome.run, inputs_of(outcome, result)
    found = chunk_faults(context.labels, context.dataset, result.chunks_table, inputs, result.input_lengths, result.configuration.window)
    return {fault.name: fault for fault in found}
