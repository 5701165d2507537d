"""Fixtures of the experiment that `pytest --rag-experiment` names. Loading this file imports nothing else of Workbench."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.api.pipeline import Index
    from workbench.api.results import Results
    from workbench.core.records import Dataset
    from workbench.gate.check import GateReport
    from workbench.runner.experiment.read import ExperimentSpec
    from workbench.systems.base import Target
    from workbench.testing.suite.rag_suite import RagSuite


@contextmanager
def plain_errors() -> Iterator[None]:
    """Report an error of Workbench by its lines, without a traceback."""
    try:
        yield
    except WorkbenchError as error:
        raise pytest.fail.Exception("\n".join(error.lines), pytrace=False) from None


def _suite(config: pytest.Config) -> "RagSuite":
    # Deferred: every pytest of this environment loads this file.
    from workbench.testing.suite.rag_suite import suite_of

    return suite_of(config)


@pytest.fixture(scope="session")
def rag_experiment(request: pytest.FixtureRequest) -> "ExperimentSpec":
    """The experiment, read and checked."""
    with plain_errors():
        return _suite(request.config).spec


@pytest.fixture(scope="session")
def rag_dataset(request: pytest.FixtureRequest) -> "Dataset":
    """The documents, questions and labels of the experiment."""
    with plain_errors():
        return _suite(request.config).dataset


@pytest.fixture(scope="session")
def rag_results(request: pytest.FixtureRequest) -> "Results":
    """The results of the experiment, which is swept once in a session."""
    with plain_errors():
        suite = _suite(request.config)
        from workbench.api.results import Results

        return Results.view(suite.tables, suite.folder)


@pytest.fixture(scope="session")
def rag_configuration(request: pytest.FixtureRequest) -> str:
    """The name of the configuration that the rules are about."""
    with plain_errors():
        return _suite(request.config).configuration.name


@pytest.fixture(scope="session")
def rag_gate(request: pytest.FixtureRequest) -> "GateReport":
    """The outcome of all rules."""
    with plain_errors():
        return _suite(request.config).gate


@pytest.fixture(scope="session")
def rag_target(request: pytest.FixtureRequest) -> "Target | Index":
    """The system that the rules are about: a target of the experiment, or the index of a pipeline, with `search` and `answer`."""
    with plain_errors():
        suite = _suite(request.config)
        from workbench.testing.suite.rag_suite import system_of

        return system_of(suite)
