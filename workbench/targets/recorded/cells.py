"""Read lists and mappings that were written as text: JSON, or Python's own notation in a CSV file."""

import ast
import io
import re
import tokenize
import warnings
from itertools import pairwise
from typing import Any

from workbench.datasets.lines import parse_json


def structured(value: Any, name: str) -> Any:
    """Parse a list or a mapping that was written as text. Other values are returned unchanged. Raises ValueError for a list that cannot be read."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return _literal(value.strip(), name)


def _literal(text: str, name: str) -> Any:
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # A passage may begin with a bracket, such as [1].
        if re.match(r"""[\[{]\s*(['"\[{]|Document\(|array\()""", text) and text.endswith(("]", "}")):
            raise ValueError(f"has {name} in a notation that cannot be read; export JSON Lines or parquet, which keep lists") from None
        return text
    if not isinstance(value, list | dict | tuple):
        return text
    # Python joins neighbouring texts: ['a' 'b'] would be one document.
    if _joined(text):
        raise ValueError(f"has {name} as NumPy prints a list, without commas; export JSON Lines or parquet, which keep lists")
    return list(value) if isinstance(value, tuple) else value


def _joined(text: str) -> bool:
    """Return whether two texts follow each other without a comma."""
    if not re.search(r"""['"]\s+\w*['"]""", text):
        return False
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type != tokenize.NL]
    return any(pair == (tokenize.STRING, tokenize.STRING) for pair in pairwise(kinds))
