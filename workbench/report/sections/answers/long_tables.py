"""Tables of many configurations, of which a page opens the first rows."""

from dataclasses import replace

from workbench.core.formatting import count
from workbench.report.model import Block, Collapsible, Table

# The rows of a long table that are open, and the least number of rows of a long table.
_OPEN, _LONG = 8, 13


def opened(table: Table) -> list[Block]:
    """Show the first rows of a long table, and fold the whole below it."""
    if len(table.rows) < _LONG:
        return [table]
    first = replace(table, rows=table.rows[:_OPEN], caption=f"{table.caption} (the first {_OPEN} of {count(len(table.rows))} rows)")
    return [first, Collapsible(f"All {count(len(table.rows))} rows: {table.caption}", [replace(table, note="")])]
