"""Every part of the benchmark of parts is a function of the package: one that moved would silently cost nothing."""

import re

import pytest

from benchmarks.parts import ANYWHERE, PARTS

from ..conftest import ROOT


@pytest.mark.parametrize("place", [*PARTS.values(), *ANYWHERE.values()])
def test_every_part_is_a_function_of_workbench(place):
    file, function = place.split()
    sources = [path.read_text("utf-8") for path in (ROOT / "workbench").rglob(file)]
    assert any(re.search(rf"^ *def {function}\(", source, re.MULTILINE) for source in sources)
