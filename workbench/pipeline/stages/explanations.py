"""Explain a configuration's results: the delivered context, the causes of misses, the details of each query."""

import numpy as np

from workbench.attribution.delivered_context import context_rows, context_tokens, query_details
from workbench.attribution.evidence_causes import context_cut, missed
from workbench.attribution.evidence_state import embedded_extent
from workbench.errors import RunError
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.rankings import ranking_case
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.pipeline.stages.vectors import truncated_tokens
from workbench.pipeline.target_tables import unknown_questions
from workbench.storage.result_store import ResultWriter


class ExplanationsStage(Stage):
    """Explanations by the primary metric, with positions in place of ids.

    Table `context`: query, rank, doc, start, end, kept, score. Table `misses`: query, need, doc, cause, rank. Table `details`, a row for
    each query: judged, unjudged_low, unjudged_high, margin, margin_spread. Value `tokens`: the mean delivered up to the cut, None if unknown.
    """

    name = "explanations"
    version = 3
    inputs = ("labels", "chunks", "vectors", "hits", "reranked", "neighbours", "responses")

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the run has a primary metric. A run that only screens explains nothing."""
        return run.primary is not None

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the primary metric with its version, the definition of span metrics, and the token budget of the context, if any."""
        if run.primary is None:
            return Identity()
        tokens = context_cut(run.primary, node.configuration.delivery(run.primary)).tokens
        return Identity(run=[str(run.primary), run.primary.definition.version, run.spans, *([tokens] if tokens is not None else [])])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Explain the ranking that is used to evaluate the configuration."""
        labels, metric = inputs.run.labels, inputs.run.primary
        if metric is None:
            raise RunError("the run has no primary metric to explain results by", "name one")
        case = ranking_case(inputs.run, inputs.configuration, inputs.entries)
        cut, embedding = context_cut(metric, inputs.configuration.delivery(metric)), inputs.configuration.embedding
        texts = inputs.run.chunks(inputs.entry("chunks")).inputs
        vocabulary = embedding.vocabulary if embedding else None
        extent = embedded_extent(labels, case.retrieved.chunks, truncated_tokens(inputs.configuration, inputs.entries), texts, vocabulary)
        writer.table("context", context_rows(case, cut))
        misses, unknown = missed(case, metric, extent, cut), _unknown(inputs, metric.family)
        writer.table("misses", misses[~misses["query"].isin(unknown)])
        details = query_details(case, metric)
        # What is not known of a question takes no part in bounds over unjudged documents.
        details.loc[unknown, list(details)] = np.nan
        writer.table("details", details)
        writer.values("tokens", context_tokens(case, cut, _unknown(inputs, "chunks")))


def _unknown(inputs: Inputs, family: str) -> list[int]:
    """Return the questions of which a target did not return enough to know what it missed or delivered."""
    return unknown_questions(inputs.entry("responses"), family, inputs.run.labels.queries) if "responses" in inputs.entries else []
