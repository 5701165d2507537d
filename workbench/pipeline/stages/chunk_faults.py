"""Count faults of a configuration's chunks, without using any question."""

from dataclasses import asdict

from workbench.attribution.chunk_faults import chunk_faults
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Stage
from workbench.pipeline.stages.vectors import input_lengths
from workbench.storage.result_store import ResultWriter


class ChunkFaultsStage(Stage):
    """Values `faults`: name, found, of, unit, definition, examples of each kind of fault."""

    name = "chunk_faults"
    version = 2
    inputs = ("labels", "chunks", "vectors")

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the run has a primary metric, and the configuration chunks of its own. A run that only screens explains nothing."""
        return run.primary is not None and "chunks" not in configuration.provided

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Count the faults."""
        run, chunks = inputs.run, inputs.entry("chunks")
        lengths, window = input_lengths(inputs.entries), inputs.configuration.window
        faults = chunk_faults(run.labels, run.dataset, chunks.table("chunks"), run.chunks(chunks).inputs, lengths, window)
        writer.values("faults", [asdict(fault) for fault in faults])
