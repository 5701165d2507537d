"""Prepare a copy of a notebook for a person: its parameters get values, and what the person changed later stays."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from workbench.core.files import write_text
from workbench.errors import InputError

_TAG = "parameters"
_COMMENT = re.compile(r"\s*# type: \w+\s*$")


def prepare_notebook(source: Path, target: Path, first: Mapping[str, Any], always: Mapping[str, Any]) -> bool:
    """Copy a notebook to `target` with values for its parameters, and return True if it is new or changed.

    An existing target gets only the values of `always`; its cells and its other parameters stay as they are. Raises InputError if it is
    no notebook or declares a parameter no longer.
    """
    existing = target.exists()
    notebook = _read(target if existing else source)
    cell = next((cell for cell in notebook.cells if _TAG in cell.metadata.get("tags", [])), None)
    if cell is None:
        raise InputError(f"{target} has no cell with the tag {_TAG}", "move or rename it, and run the command again")
    before = cell.source
    cell.source = _with_values(before, dict(always) if existing else {**first, **always}, target)
    if existing and cell.source == before:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, f"{nbformat.writes(notebook)}\n")
    return True


def _read(path: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise InputError(f"{path} cannot be read as a notebook ({type(error).__name__})", "move or rename it") from None


def _with_values(code: str, values: Mapping[str, Any], target: Path) -> str:
    """Return the code of a parameters cell with other values in the same lines, and with their comments on the type."""
    lines = code.split("\n")
    try:
        assigned = {
            statement.targets[0].id: statement
            for statement in ast.parse(code).body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
    except SyntaxError:
        raise InputError(f"the parameters of {target} are no Python", "correct them, or move the notebook") from None
    missing = [name for name in values if name not in assigned]
    if missing:
        raise InputError(f"{target} has no parameter {missing[0]}", "move or rename it, and run the command again")
    # From the last line on, so that the numbers of the lines before it stay right.
    for name, statement in sorted(assigned.items(), key=lambda item: -item[1].lineno):
        if name in values:
            last = statement.end_lineno or statement.lineno
            comment = _COMMENT.search(lines[last - 1])
            lines[statement.lineno - 1 : last] = [f"{name} = {_literal(values[name])}{comment[0] if comment else ''}"]
    return "\n".join(lines)


def _literal(value: Any) -> str:
    """Return a value as Python, a text in double quotes as in the notebooks."""
    plain = repr(value)
    return f'"{value}"' if isinstance(value, str) and plain == f"'{value}'" and '"' not in value else plain
