"""What the benchmark of parts calls a part is a function that is there: one that moved would cost nothing without a word."""

import re

import pytest

from benchmarks.parts import ANYWHERE, PARTS

from ..conftest import ROOT


@pytest.mark.parametrize("place", [*PARTS.values(), *ANYWHERE.values()])
def test_every_part_is_a_function_of_workbench(place):
    file, function = place.split()
    sources = [path.read_text("utf-8") for path in (ROOT / "workbench").rglob(file)]
    assert any(re.search(rf"^ *def {function}\(", source, re.MULTILINE) for source in sources)
