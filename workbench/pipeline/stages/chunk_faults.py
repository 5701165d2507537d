"""Count faults of a configuration's chunks, without using any question."""

import json
from dataclasses import asdict
from typing import ClassVar

import pandas as pd

from workbench.attribution.chunk_faults import chunk_faults
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Stage, TableMakers
from workbench.pipeline.stage_results import StageResults
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import ResultWriter


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
        """Return whether the run has a primary metric, and the configuration chunks of its own. A run that only screens explains nothing."""
        return run.primary is not None and "chunks" not in configuration.provided

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Count the faults."""
        run, chunks = inputs.run, inputs.entry("chunks")
        lengths, window = inputs.input_lengths, inputs.configuration.window
        faults = chunk_faults(run.labels, run.dataset, chunks.table("chunks"), run.chunks(chunks).inputs, lengths, window)
        writer.values("faults", [asdict(fault) for fault in faults])
