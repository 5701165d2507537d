"""The system that the rules of an experiment are about."""

from workbench.api.pipeline import Index
from workbench.errors import InputError
from workbench.suite.rag_suite import RagSuite
from workbench.targets.base import Target
from workbench.testing.assertions.systems import IndexedDocuments, pipeline_of


def system_of(suite: RagSuite) -> Target | Index:
    """Return the target of the gated configuration, or the index of its pipeline. Raises InputError if the configuration failed."""
    configuration = suite.configuration
    return configuration.target or pipeline_of(configuration).index(suite.dataset, suite.options.outputs)


def ingesting_target(suite: RagSuite) -> Target:
    """Return the gated configuration as a target that takes documents. Raises InputError if it is one that takes none."""
    configuration = suite.configuration
    if configuration.target is None:
        return IndexedDocuments(pipeline_of(configuration), suite.options.outputs).target(configuration.name)
    if not configuration.target.ingests:
        raise InputError(
            f"the target {configuration.name} takes no documents, so nobody can update them", "give it ingest, or leave stale out"
        )
    return configuration.target
