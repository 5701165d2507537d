"""A pair of configurations has one interval and one p, and these agree, wherever the page shows them."""

import re

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.report.analysis.findings import findings
from workbench.report.model import Collapsible, Section, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.questions import pairs
from workbench.report.topics.retrieval.verdict import differences

N = 120
# A baseline far behind, and configurations that differ by little and by much: some pairs differ before the correction only.
SHIFTS = (0.0, 0.22, 0.25, 0.31)
_NOTE = re.compile(r"([+−]?)([\d.]+) ([\[(])([+−]?)([\d.]+), ([+−]?)([\d.]+)([\])]).*?, p (=|<|≤) ([\d.]+) corrected")


@pytest.fixture(scope="module", params=["fixed-16-0", None], ids=["against a baseline", "all pairs"])
def run(request: pytest.FixtureRequest, made: Made) -> RunTables:
    rng = np.random.default_rng(13)
    base = rng.random(N) * 0.5
    rows = [np.clip(base + shift + rng.normal(0, 0.12, N), 0, 1).round(3) for shift in SHIFTS]
    return made.valued(rows, name=f"pairs-{request.param or 'all'}", baseline=request.param)


def folds(run: RunTables) -> list[Collapsible]:
    section = pairs(findings(run))
    assert section is not None
    return [block for block in section.blocks if isinstance(block, Collapsible)]


def number(sign: str, digits: str) -> float:
    return -float(digits) if sign == "−" else float(digits)


def test_an_interval_contains_zero_exactly_if_its_p_is_above_5_percent(run: RunTables) -> None:
    found = []
    for fold in folds(run):
        note = _NOTE.match(fold.note)
        assert note is not None, fold.note
        low, high = number(note[4], note[5]), number(note[6], note[7])
        excluded = low > 0 or high < 0 or (low == 0 and note[3] == "(") or (high == 0 and note[8] == ")")
        found.append((excluded, float(note[10]) <= 0.05))
    assert len(found) == 6
    assert all(excluded == significant for excluded, significant in found)
    # Both kinds occur, also among the pairs without the baseline.
    assert {significant for _, significant in found} == {True, False}


def test_all_questions_have_no_second_interval_beside_that_of_the_title(run: RunTables) -> None:
    for fold in folds(run):
        rows = [row.cells[0].text for block in fold.blocks if isinstance(block, Table) for row in block.rows]
        assert "all questions" not in rows


def test_the_table_of_those_behind_repeats_no_pair_with_the_baseline(run: RunTables) -> None:
    section = differences(findings(run))
    assert isinstance(section, Section)
    tables = [block for block in section.blocks if isinstance(block, Table)]
    named = {cell.text for table in tables for row in table.rows for cell in row.cells[:2]}
    assert findings(run).baseline not in named
