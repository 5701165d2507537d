"""The documents of a finished run and the chunks that its configurations cut, if the run's dataset is on this machine and unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from workbench.datasets.checks import corpus_fingerprint
from workbench.errors import InputError, WorkbenchError
from workbench.experiment.read import ExperimentSpec, experiment_of
from workbench.pipeline.chunk_table import chunk_tables
from workbench.pipeline.configuration import PipelineConfiguration
from workbench.records import Dataset, Document
from workbench.results.run_tables import RunTables


@dataclass(frozen=True, eq=False)
class RunDataset:
    """The dataset of a run: the one that is `given`, else the one that its experiment names.

    Its documents are used only if they are those of the run. `fault` says why they are not.
    """

    run: RunTables
    given: Dataset | None = None

    @cached_property
    def documents(self) -> Sequence[Document] | None:
        """The documents, or None if there is a `fault`."""
        return self._found[0]

    @property
    def fault(self) -> str:
        """Reason why the documents are not known, or an empty text."""
        return self._found[1]

    def chunks(self, configuration: str) -> pd.DataFrame | None:
        """Return doc, delivered_start, delivered_end of all chunks of a configuration, or None if they are not known.

        Nothing is embedded, so those of a splitter that compares texts are not known, nor those of code that an experiment names.
        """
        chosen = self._configurations.get(configuration)
        if self.documents is None or chosen is None or chosen.chunking.compared_by or chosen.chunking.named_code:
            return None
        documents = Dataset("", tuple(self.documents), (), ()).searched
        table = pd.concat(chunk_tables(documents, chosen.chunking), ignore_index=True)
        # Another version of a splitter can give other chunks.
        known = len(table) == self.run.facts[configuration]["chunks"]
        return table[["doc", "delivered_start", "delivered_end"]] if known else None

    @cached_property
    def _experiment(self) -> ExperimentSpec | None:
        try:
            return experiment_of(dict(self.run.manifest["experiment"]), self.run.name)
        except WorkbenchError:
            return None

    @cached_property
    def _configurations(self) -> dict[str, PipelineConfiguration]:
        own = self._experiment.configurations if self._experiment else ()
        return {each.name: each.pipeline for each in own if not each.targets}

    @cached_property
    def _found(self) -> tuple[Sequence[Document] | None, str]:
        try:
            dataset = self.given or self._load()
        except WorkbenchError as error:
            return None, f"the dataset of the run cannot be read here ({error.lines[0]})"
        if corpus_fingerprint(dataset.documents) != self.run.manifest["fingerprints"]["corpus"]:
            return None, "the documents are not those of the run"
        return dataset.documents, ""

    def _load(self) -> Dataset:
        if self._experiment is None:
            raise InputError("its experiment cannot be read here", "pass dataset=")
        return self._experiment.dataset.load()
