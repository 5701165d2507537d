"""Notebook displays of small tables, through pandas, which escapes text and shortens long cells."""

from collections.abc import Mapping, Sequence
from html import escape

_WIDEST_CELL = 120


def table_html(title: str, rows: Sequence[Mapping[str, object]], note: str = "") -> str:
    """Return a title, a table with a row for each mapping, and a note as HTML. Text is escaped."""
    # Deferred: values of the package have displays, and pandas takes most of a second to import.
    import pandas as pd

    parts = [f"<p>{escape(title)}</p>"]
    if rows:
        with pd.option_context("display.max_colwidth", _WIDEST_CELL):
            parts.append(pd.DataFrame(rows).to_html(index=False, border=0, justify="left"))
    return "".join([*parts, f"<p>{escape(note)}</p>" if note else ""])


def excerpt(text: str, most: int = 60) -> str:
    """Return the beginning of a text on one line, at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"
