from pathlib import Path

import pytest

import workbench as wb
from workbench.runner.execution.local import Outcome


@pytest.fixture(scope="session")
def part(handbook_part: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_part, split="dev")


@pytest.fixture(scope="session")
def results(few: Outcome) -> wb.Results:
    """A run of BM25 in its folder, without answers."""
    return wb.load(few.folder)
