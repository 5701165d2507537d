"""The table of a RAG test suite at the end of a session."""

from collections import Counter
from collections.abc import Iterable

import pytest

from workbench.core.formatting import aligned
from workbench.suite.kinds import KINDS

# The properties of a test's report, which processes of pytest-xdist send to the one that prints.
TEST, OUTCOME = "rag_test", "rag_outcome"
_COUNTS = ("passed", "failed", "undecided", "error")


def suite_table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a row for each of the five tests, with its counts, or the line that adds it. Also without any test of a rule, so that none is missed."""
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        properties = dict(report.user_properties)
        # A test that passes has a report of its setup too.
        if TEST in properties and (report.when == "call" or report.failed):
            counts.setdefault(str(properties[TEST]), Counter())[str(properties[OUTCOME])] += 1
    rows: list[tuple[str, ...]] = [("test", *_COUNTS, "")]
    for test, about in KINDS.items():
        found = counts.get(test)
        rows.append((test, *_cells(found), about.shows if found else f"not in the gate; add {about.line}"))
    if other := counts.get("other rules"):
        rows.append(("other rules", *_cells(other), ""))
    return aligned(rows)


def _cells(found: Counter[str] | None) -> list[str]:
    return [str(found[name]) if found and found[name] else "–" for name in _COUNTS]
