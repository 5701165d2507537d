"""Read the mapping in a YAML file. A fault names its line and column, shows the line and says how to mend it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import yaml

from workbench.core.component import is_mapping
from workbench.core.errors import InputError
from workbench.core.files import decoded, in_order
from workbench.data.files import missing

Settings = dict[str, Any]
# Deeper than any experiment, and far from Python's limit of recursion.
DEEPEST = 32
_LARGEST = 200_000
# Fixes by words of the problem.
_FIXES = {
    "is repeated": "remove one of the two",
    "nested more than": "write fewer levels",
    "could not determine a constructor": "write the value without a tag (!…)",
    "not a value of the type": "correct the value, or write it without a tag (!…)",
    "digits": "write a shorter number, or put it in quotes",
    "unhashable key": "write a plain key",
    "for merging": "leave out <<, and write the keys out",
}
_SUFFIXES = (".yaml", ".yml", ".json")
# White space that YAML does not count as indentation, though it looks like it.
_INDENT = re.compile(r"^[ \t]*[^\S \t\r\n]", re.MULTILINE)
# Line breaks as YAML counts them.
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NO_SPACE = re.compile(r"(?:^|[\s{,-])[A-Za-z_]\w*:[^\s/\\]")
# The tags of the values that JSON has.
_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map")


class _PlainLoader(yaml.SafeLoader):
    """A safe loader of the values that JSON has. Repeated keys, of which YAML would keep the last, are rejected, and a date is a text."""

    yaml_constructors = {  # noqa: RUF012  # declared by PyYAML
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag.rpartition(":")[2] in _PLAIN
    }
    yaml_implicit_resolvers = {  # noqa: RUF012
        letter: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:
            problem = "a number of too many digits" if "digits" in str(error) else f"not a value of the type {node.tag}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            name = str(key.value)
            if isinstance(key, yaml.ScalarNode) and name in first:
                problem = f"the key {name!r} is repeated, first on line {first[name]}"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            first[name] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, keys: tuple[str, ...], kind: str = "experiment", example: str = "experiments/quickstart.yaml") -> Settings:
    """Return the mapping in a file of a kind. Raises InputError if there is no file, no YAML or no mapping, of which `keys` are named."""
    text, fault = decoded(_content(path, kind, f"give the path of a YAML file, such as {example}"))
    what, _, fix = fault.partition("; ")
    if fault:
        raise InputError(f"{path}{what}", fix)
    return yaml_mapping(path, text, keys)


def yaml_mapping(path: Path, text: str, keys: tuple[str, ...]) -> Settings:
    """Return the mapping in the text of a file. Raises InputError if it is no YAML or no mapping, of which `keys` are named."""
    if len(text) > _LARGEST:
        raise InputError(f"{path} has {len(text)} characters", f"such a file has at most {_LARGEST}")
    settings = _parsed(path, text)
    if not is_mapping(settings):
        what = "is empty" if settings is None else "is not a mapping of keys to values"
        raise InputError(f"{path} {what}", f"it has the key{'s' if len(keys) > 1 else ''} {', '.join(keys)}")
    return dict(settings)


def _content(path: Path, kind: str, example: str) -> bytes:
    try:
        return _file(path, kind, example).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"the {kind} file {path} cannot be read ({getattr(error, 'strerror', error)})", example) from None


def _file(path: Path, kind: str, example: str) -> Path:
    """Return the path of a file if it is a small regular file, or raise InputError."""
    if path.is_dir():
        # Not the JSON files of a run's outputs.
        inside = in_order(file for file in path.iterdir() if file.suffix in _SUFFIXES[:2])
        raise InputError(f"the {kind} {path} is a folder", f"give a YAML file, such as {inside[0]}" if inside else example)
    if path.exists() and not path.is_file():
        raise InputError(f"the {kind} {path} is not a regular file", example)
    if not path.is_file():
        raise InputError(*missing(path, f"the {kind} file", example))
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"the {kind} file {path} is not called .yaml", example)
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} has {path.stat().st_size} bytes", f"such a file has at most {_LARGEST}")
    return path


def plain_value(text: str) -> Any:
    """Return the value of a YAML text, made of what JSON has. Raises YAMLError, also for aliases, deep nesting and infinite numbers."""
    depth = 0
    for event in _events(text):
        mark = cast(yaml.Mark | None, event.start_mark)
        # Aliases can expand a few lines into gigabytes, and no experiment needs them.
        if isinstance(event, yaml.AliasEvent):
            raise _AliasError(problem="an alias", problem_mark=mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"nested more than {DEEPEST} deep", problem_mark=mark)
    return yaml.load(text, _PlainLoader)  # a SafeLoader


def _events(text: str) -> Iterator[Any]:
    """Yield PyYAML's events. An escape beyond Unicode is an error of YAML."""
    try:
        yield from yaml.parse(text, yaml.SafeLoader)
    except (ValueError, OverflowError) as error:
        raise yaml.YAMLError(f"an escape that is no character ({error})") from None


class _AliasError(yaml.MarkedYAMLError):
    """An alias, which refers to a value elsewhere."""


def _parsed(path: Path, text: str) -> Any:
    if indent := _INDENT.search(text):
        line = text.count("\n", 0, indent.start()) + 1
        raise InputError(f"{path}:{line}:1 begins with white space that is neither a space nor a tab", "indent with spaces")
    try:
        return plain_value(text)
    except _AliasError:
        raise InputError(f"{path} uses YAML aliases (*name)", "write the values out") from None
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None) or str(error), getattr(error, "problem_mark", None)
        if mark is None:
            raise InputError(f"{path} is not YAML ({problem})", "fix the file") from None
        lines = [*_BREAK.split(text), ""]
        row, column, fix = _fix(problem, lines, mark, getattr(error, "context_mark", None) or mark)
        shown = repr(lines[row].strip()[:80]) if lines[row].strip() else "the end of the file"
        raise InputError(f"{path}:{row + 1}:{column + 1} is not YAML ({problem}): {shown}", fix) from None


def _fix(problem: str, lines: list[str], mark: yaml.Mark, opened: yaml.Mark) -> tuple[int, int, str]:
    """Return the line and column that are probably wrong, counted from 0, and how to mend them. YAML may name a later line."""
    row, line = mark.line, lines[mark.line]
    for words, fix in _FIXES.items():
        if words in problem:
            return row, mark.column, fix
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
        return row, mark.column, "remove the line ---: the file is one document"
    return row, mark.column, "align it with the keys above"
