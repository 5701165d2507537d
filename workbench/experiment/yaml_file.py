"""Read the mapping in a YAML file. A fault names its line and column, shows the line and says how to mend it."""

import re
from pathlib import Path
from typing import Any

import yaml

from workbench.datasets.files import missing
from workbench.datasets.lines import decoded
from workbench.errors import InputError
from workbench.experiment.validate import Settings, is_mapping

_LARGEST = 200_000
_SUFFIXES = (".yaml", ".yml", ".json")
# White space that YAML does not count as indentation, though it looks like it.
_INDENT = re.compile(r"^[ \t]*[^\S \t\r\n]", re.MULTILINE)
_NO_SPACE = re.compile(r"(?:^|[\s{,-])[A-Za-z_]\w*:[^\s/\\]")


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that rejects repeated keys in a mapping, where YAML would keep only the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            name = str(key.value)
            if isinstance(key, yaml.ScalarNode) and name in first:
                problem = f"the key {name!r} is repeated, first on line {first[name]}"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            first[name] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, keys: tuple[str, ...]) -> Settings:
    """Return the mapping in an experiment file. Raises InputError if there is no file, no YAML or no mapping, of which `keys` are named."""
    example = "give the path of a YAML file, such as experiments/quickstart.yaml"
    if path.is_dir():
        inside = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
        raise InputError(f"the experiment {path} is a folder", f"give a YAML file, such as {inside[0]}" if inside else example)
    if not path.is_file():
        raise InputError(*missing(path, "the experiment file", example))
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"the experiment file {path} is not called .yaml", example)
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} has {path.stat().st_size} bytes", f"an experiment file has at most {_LARGEST}")
    text, fault = decoded(path.read_bytes())
    what, _, fix = fault.partition("; ")
    if fault:
        raise InputError(f"{path}{what}", fix)
    settings = _parsed(path, text)
    if not is_mapping(settings):
        what = "is empty" if settings is None else "is not a mapping of keys to values"
        raise InputError(f"{path} {what}", f"it starts with name: and has the keys {', '.join(keys)}")
    return dict(settings)


def _parsed(path: Path, text: str) -> Any:
    if indent := _INDENT.search(text):
        line = text.count("\n", 0, indent.start()) + 1
        raise InputError(f"{path}:{line}:1 begins with white space that is neither a space nor a tab", "indent with spaces")
    try:
        # Aliases can expand a few lines into gigabytes, and no experiment needs them.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InputError(f"{path} uses YAML aliases (*name)", "write the values out")
        return yaml.load(text, _UniqueKeyLoader)  # a SafeLoader
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None) or str(error), getattr(error, "problem_mark", None)
        if mark is None:
            raise InputError(f"{path} is not YAML ({problem})", "fix the file") from None
        lines = [*text.split("\n"), ""]
        row, column, fix = _fix(problem, lines, mark, getattr(error, "context_mark", None) or mark)
        shown = repr(lines[row].strip()[:80]) if lines[row].strip() else "the end of the file"
        raise InputError(f"{path}:{row + 1}:{column + 1} is not YAML ({problem}): {shown}", fix) from None


def _fix(problem: str, lines: list[str], mark: yaml.Mark, opened: yaml.Mark) -> tuple[int, int, str]:
    """Return the line and column that are probably wrong, counted from 0, and how to mend them. YAML may name a later line."""
    row, line = mark.line, lines[mark.line]
    if problem.startswith("the key"):
        return row, mark.column, "remove one of the two"
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return row, mark.column, "indent with spaces, not tabs"
    if problem.startswith(("mapping values", "could not find expected ':'")):
        before = [number for number in range(row) if lines[number].strip()][-1:]
        for number in (row, *before):
            if match := _NO_SPACE.search(lines[number]):
                return number, match.end() - 1, "write a space after the colon"
        return (
            row,
            mark.column,
            "put a value that contains ': ' in quotes" if ": " in line[: mark.column] else "align it with the keys above",
        )
    if "stream" in problem or problem.startswith("expected ',' or"):
        return opened.line, opened.column, "close the quotation mark or bracket that opens here"
    if "escape" in problem:
        return row, mark.column, "write a path with / or in single quotes"
    if "cannot start any token" in problem:
        return row, mark.column, "put the value in quotes"
    if "another document" in problem:
        return row, mark.column, "remove the line ---: an experiment is one document"
    return row, mark.column, "align it with the keys above"
