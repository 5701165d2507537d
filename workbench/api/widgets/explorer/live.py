"""Ask a configuration of a run a question that it has not answered yet, as its exported retriever would."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from workbench.api.pipeline import Hits, Index, Pipeline
from workbench.api.scoring.rescore import source_beside
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.measures.metrics.names import tokens
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import check_code, context_of
from workbench.runner.experiment.read import ExperimentSpec, experiment_of_run
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext

Say = Callable[[str], None]
_AGAIN = "run the sweep again"


@dataclass(frozen=True, eq=False)
class LiveSearch:
    """The configurations of the run in `folder`, indexed when they are first asked. `allow_code` runs the functions that they name."""

    run: RunTables
    folder: Path
    allow_code: bool = False
    _indexes: dict[str, Index] = field(default_factory=dict, init=False, repr=False)

    def ask(self, configuration: str, question: str, say: Say) -> Hits:
        """Search as the exported retriever of a configuration does. Index first if necessary, and `say` so.

        Raises WorkbenchError if the configuration is a target or names code, or if dataset, model or store are missing or have changed.
        """
        if configuration not in self._indexes:
            say(f"loading documents and index of {configuration} …")
            self._indexes[configuration] = self._index(configuration)
        say(f"asking {configuration} …")
        return self._indexes[configuration].search(question)

    @property
    def dataset(self) -> Dataset:
        """The dataset of the run. Raises WorkbenchError if it is missing or has changed."""
        return self._context.dataset

    def documents(self) -> Mapping[str, str]:
        """Return the texts of the dataset's documents by id. Raises WorkbenchError if the dataset is missing or has changed."""
        return {document.doc_id: document.text for document in self.dataset.documents}

    def chunking(self, configuration: str) -> tuple[Chunker, Embedder]:
        """Return the chunker of a configuration and its embedder. Raises WorkbenchError if it is a target or may not be run."""
        own = self._permitted(configuration)
        return own.chunking, _embedder(own)

    @property
    def _outputs(self) -> Path:
        return self.folder.resolve().parent

    @cached_property
    def _experiment(self) -> ExperimentSpec:
        experiment = experiment_of_run(self.run)
        return replace(experiment, dataset=source_beside(experiment.dataset, self._outputs))

    @cached_property
    def _context(self) -> RunContext:
        context = context_of(self._experiment, self._outputs)
        if context.fingerprints["corpus"] != self.run.manifest["fingerprints"]["corpus"]:
            raise InputError(f"the documents of {context.dataset.name} have changed since the run", _AGAIN)
        return context

    def _permitted(self, name: str) -> PipelineConfiguration:
        configuration = next((known for known in self._experiment.configurations if known.name == name), None)
        if configuration is None:
            raise InputError(f"the experiment of {self.folder} no longer describes {name}", _AGAIN)
        own = configuration.pipeline
        check_code(replace(self._experiment, configurations=(configuration,), judging=None, allow_code=self.allow_code))
        return own

    def _index(self, name: str) -> Index:
        own, context = self._permitted(name), self._context
        if not context.workspace.store_root.is_dir():
            raise InputError(f"the run's store {context.workspace.store_root} does not exist", _AGAIN)
        return _pipeline(own, context).index(context.dataset, self._outputs)


def _pipeline(configuration: PipelineConfiguration, context: RunContext) -> Pipeline:
    """Return the pipeline of a configuration that delivers what its sweep delivered."""
    cut = configuration.delivery(context.primary)
    retrieval = configuration.retrieval
    if cut.tokens is not None:
        retrieval = retrieval.model_copy(update={"deliver": tokens(cut.tokens)})
    return Pipeline(configuration.chunking, _embedder(configuration), retrieval, configuration.rerank, configuration.rewrite)


def _embedder(configuration: PipelineConfiguration) -> Embedder:
    """Return the embedder of a configuration. Without vectors only its vocabulary matters, in which sizes are counted."""
    return configuration.embedding or SentenceTransformerEmbedder(model=configuration.chunking.model)
