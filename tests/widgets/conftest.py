from pathlib import Path

import pytest

import workbench as wb


@pytest.fixture(scope="session")
def part(handbook_part: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_part, split="dev")
