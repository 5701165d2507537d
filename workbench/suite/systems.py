"""The system that the rules of an experiment are about."""

from workbench.api.pipeline import Index
from workbench.errors import InputError
from workbench.suite.rag_suite import RagSuite
from workbench.targets.base import Target
from workbench.testing.assertions.systems import IndexedDocuments, pipeline_of


def system_of(suite: RagSuite) -> Target | Index:
    """Return the target of the gated configuration, or the index of its pipeline. Raises InputError if the configuration failed."""
    configuration = suite.configuration
    return configuration.system(lambda own: pipeline_of(own).index(suite.dataset, suite.options.outputs))


def ingesting_target(suite: RagSuite) -> Target:
    """Return the gated configuration as a target that takes documents. Raises InputError if it is one that takes none."""
    configuration = suite.configuration
    target = configuration.system(lambda own: IndexedDocuments(pipeline_of(own), suite.options.outputs).target(own.name))
    if not target.ingests:
        raise InputError(
            f"the target {configuration.name} takes no documents, so nobody can update them", "give it ingest, or leave stale out"
        )
    return target
