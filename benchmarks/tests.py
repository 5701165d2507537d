"""Where the time of the tests goes: the dearest tests and fixtures and the seconds of each folder, from the JUnit files of make test and slow.

    python -m benchmarks.tests                      # build/test.xml and build/slow.xml
    python -m benchmarks.tests --order              # also write tests/longest_files.txt, the order in which files run

A test has the seconds of its setup, call and teardown. A fixture has those of its own setup, in every process that made it.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

SHOWN = 50
# Files that take less can run last without making a process wait for the other.
LONG = 5.0
LONGEST = Path("tests/longest_files.txt")


class Timed(NamedTuple):
    """A test of a file with its seconds and those of the fixtures that it needed first."""

    file: str
    name: str
    seconds: float
    fixtures: Sequence[tuple[str, float]]


def timed(path: Path) -> Iterator[Timed]:
    """Read the tests of a JUnit file."""
    for case in ElementTree.parse(path).iter("testcase"):
        rows = [
            (row.attrib["name"], float(row.attrib["value"])) for row in case.iter("property") if row.attrib["name"].startswith("fixture ")
        ]
        fixtures = [(name.removeprefix("fixture "), seconds) for name, seconds in rows]
        yield Timed(f"{case.attrib['classname'].replace('.', '/')}.py", case.attrib["name"], float(case.attrib["time"]), fixtures)


def folder_of(file: str) -> str:
    """The folder of the tests that a file is in."""
    return "/".join(file.split("/")[:2])


def table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Build a table of Markdown."""
    return "\n".join([f"| {title} | seconds |", "|---|---|", *(f"| {name} | {seconds} |" for name, seconds in rows)]) + "\n"


def tables(tests: Sequence[Timed]) -> Iterator[str]:
    """The seconds of folders, tests and fixtures, each the dearest first."""
    folders: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    made: defaultdict[str, list[float]] = defaultdict(list)
    for test in tests:
        folders[folder_of(test.file)] += test.seconds
        counts[folder_of(test.file)] += 1
        for name, seconds in test.fixtures:
            made[name].append(seconds)
    yield f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} seconds in all processes.\n"
    yield table("folder", [(f"{name} ({counts[name]} tests)", f"{seconds:.0f}") for name, seconds in descending(folders)])
    dearest = sorted(tests, key=lambda test: -test.seconds)[:SHOWN]
    yield table("test", [(f"{test.file}::{test.name}", f"{test.seconds:.1f}") for test in dearest])
    fixtures = descending({name: sum(seconds) for name, seconds in made.items()})[:SHOWN]
    yield table("fixture", [(f"{name}, made {len(made[name])} times", f"{seconds:.1f}") for name, seconds in fixtures])


def longest_files(tests: Sequence[Timed]) -> Mapping[str, float]:
    """The files that take long with their seconds, the longest first."""
    files: defaultdict[str, float] = defaultdict(float)
    for test in tests:
        files[test.file] += test.seconds
    return {name: seconds for name, seconds in descending(files) if seconds >= LONG}


def descending(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    """Sort names by their seconds, the dearest first."""
    return sorted(seconds.items(), key=lambda item: -item[1])


def main(arguments: Sequence[str]) -> None:
    """Print the tables, and write the order of the files if it is asked for."""
    paths = [Path(name) for name in arguments if name != "--order"] or [Path("build/test.xml"), Path("build/slow.xml")]
    tests = [test for path in paths for test in timed(path)]
    print("\n".join(tables(tests)))
    if "--order" in arguments:
        LONGEST.write_text("".join(f"{name}\n" for name in longest_files(tests)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
