"""Runs with answers in every condition, made from a finished run without answers."""

import pytest

from tests.answered_runs import Planted, answered
from tests.made_runs import Made
from workbench.execution.collect import collect
from workbench.results.run_tables import RunTables


@pytest.fixture(scope="session")
def bare(made: Made) -> RunTables:
    return collect(made.ran(2))


@pytest.fixture(scope="session")
def run(bare: RunTables) -> RunTables:
    return answered(bare, Planted(repeats=2, failed=0.02, confident=True))


@pytest.fixture(scope="session")
def copied(bare: RunTables) -> RunTables:
    return answered(bare, Planted(verbatim=True))
