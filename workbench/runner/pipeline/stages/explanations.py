"""Explain a configuration's results: the delivered context, causes of misses, details of each query, and faults of chunks."""

import json
from dataclasses import asdict
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.components.context.conditions import RETRIEVED
from workbench.core.errors import RunError
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.measures.attribution.evidence_causes import context_cut, context_rows, context_tokens, missed, query_details
from workbench.measures.attribution.evidence_state import chunk_faults, embedded_extent
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults, ranking_case
from workbench.runner.pipeline.stages.responses import unknown_questions


def _context_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the slices that the primary metric reads."""
    rows, run = results.entry("explanations").table("context"), results.run
    return rows.assign(query_id=run.query_ids[rows["query"]], doc_id=run.doc_ids[rows["doc"]])


def _causes_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the cause of each miss in retrieval, with the missed evidence or document."""
    run = results.run
    rows, needs = results.entry("explanations").table("misses"), run.dataset.needs
    spans = [needs[need].alternatives[0] if need >= 0 else None for need in rows["need"].tolist()]
    doc_ids = [span.doc_id if span else run.doc_ids[doc] for span, doc in zip(spans, rows["doc"].tolist(), strict=True)]
    evidence = [f"{doc_id}:{span.start}-{span.end}" if span else doc_id for span, doc_id in zip(spans, doc_ids, strict=True)]
    query_ids = run.query_ids[rows["query"].to_numpy(np.int64)]
    rows = rows.assign(condition=RETRIEVED, variant="", repeat=0, subject="evidence")
    return rows.assign(query_id=query_ids, evidence=evidence, doc_id=doc_ids)


def _details_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the details of each query by the primary metric."""
    run = results.run
    ranked = results.ranked("about").set_index("query").reindex(range(len(run.query_ids)))
    attainable = results.entries["scores"][str(run.primary)].table("scores")["attainable"].to_numpy(np.float64)
    details = results.entry("explanations").table("details").assign(query_id=run.query_ids, attainable=attainable)
    top = ranked["top"].to_numpy(np.float64)
    return details.assign(top_score=np.where(np.isfinite(top), top, np.nan), tied=ranked["tied"].eq(True).to_numpy())


class ExplanationsStage(Stage):
    """Explanations by the primary metric, with positions in place of ids.

    Table `context`: query, rank, doc, start, end, kept, score. Table `misses`: query, need, doc, cause, rank. Table `details`, a row for
    each query: judged, unjudged_low, unjudged_high, margin, margin_spread. Value `tokens`: the mean delivered up to the cut, None if unknown.
    """

    name = "explanations"
    version = 3
    inputs = ("labels", "chunks", "vectors", "hits", "reranked", "neighbours", "responses")
    tables: ClassVar[TableMakers] = {
        SCHEMAS["context"]: _context_table,
        SCHEMAS["causes"]: _causes_table,
        SCHEMAS["query_details"]: _details_table,
    }

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return True if the run has a primary metric. A run that only screens explains nothing."""
        return run.primary is not None

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the primary metric with its version, the definition of span metrics, and the token budget of the context, if any."""
        if run.primary is None:
            return Identity()
        tokens = context_cut(run.primary, node.configuration.delivery(run.primary)).tokens
        return Identity(run=[str(run.primary), run.primary.definition.version, run.spans, *([tokens] if tokens is not None else [])])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        labels, metric = inputs.run.labels, inputs.run.primary
        if metric is None:
            raise RunError("the run has no primary metric to explain results by", "name one")
        case = ranking_case(inputs)
        cut, embedding = context_cut(metric, inputs.configuration.delivery(metric)), inputs.configuration.embedding
        texts = inputs.run.chunks(inputs.entry("chunks")).inputs
        vocabulary = embedding.vocabulary if embedding else None
        extent = embedded_extent(labels, case.retrieved.chunks, inputs.truncated, texts, vocabulary)
        writer.table("context", context_rows(case, cut))
        misses, unknown = missed(case, metric, extent, cut), unknown_questions(inputs, metric.family)
        writer.table("misses", misses[~misses["query"].isin(unknown)])
        details = query_details(case, metric)
        # What is not known of a question takes no part in bounds over unjudged documents.
        details.loc[unknown, list(details)] = np.nan
        writer.table("details", details)
        writer.values("tokens", context_tokens(case, cut, unknown_questions(inputs, "chunks")))


def _faults_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the faults, with examples as JSON."""
    rows = pd.DataFrame(results.entry("chunk_faults").values("faults")).rename(columns={"name": "fault"})
    return rows.assign(examples=[json.dumps(examples) for examples in rows["examples"]])


class ChunkFaultsStage(Stage):
    """Values `faults`: name, found, of, unit, definition, examples of each kind of fault."""

    name = "chunk_faults"
    version = 2
    inputs = ("labels", "chunks", "vectors")
    tables: ClassVar[TableMakers] = {SCHEMAS["chunk_faults"]: _faults_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return True if the run has a primary metric, which one that only screens lacks, and Workbench has split the documents."""
        return run.primary is not None and "chunks" not in configuration.provided

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        run, chunks = inputs.run, inputs.entry("chunks")
        lengths, window = inputs.input_lengths, inputs.configuration.window
        faults = chunk_faults(run.labels, run.dataset, chunks.table("chunks"), run.chunks(chunks).inputs, lengths, window)
        writer.values("faults", [asdict(fault) for fault in faults])
