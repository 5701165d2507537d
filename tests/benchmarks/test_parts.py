"""Every part of the benchmark of parts is a function of the package: one that moved would silently cost nothing."""

import re

from benchmarks.parts import ANYWHERE, PARTS
from tests.conftest import ROOT


def test_every_part_is_a_function_of_workbench():
    sources = {path.as_posix(): path.read_text("utf-8") for path in (ROOT / "workbench").rglob("*.py")}
    defined = {(path, name) for path, source in sources.items() for name in re.findall(r"^ *def (\w+)\(", source, re.MULTILINE)}
    places = {tuple(place.split()) for place in [*PARTS.values(), *ANYWHERE.values()]}
    assert {
        (file, name) for file, name in places if not any(path.endswith(f"/{file}") and found == name for path, found in defined)
    } == set()
