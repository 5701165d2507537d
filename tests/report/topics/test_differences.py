"""Points are solid, and intervals are described, only where the run supports it."""

import re

import numpy as np
import pytest

from workbench.report.analysis.findings import findings
from workbench.report.model import Figure
from workbench.report.topics.retrieval.differences import differences
from workbench.report.topics.retrieval.ranking import ranking_block, ranking_table

SPREAD = np.random.default_rng(3)


def shown(run) -> Figure:
    section = differences(findings(run))
    (figure,) = [block for block in section.blocks if isinstance(block, Figure)]
    return figure


def fills(figure: Figure) -> set[str]:
    """Return the fills of the points: the line's colour if solid, else that of the paper."""
    lines = [line for line in figure.drawing.axes[0].lines if line.get_marker() == "o"]
    return {"solid" if line.get_markerfacecolor() == line.get_color() else "ring" for line in lines}


@pytest.mark.parametrize(("documents", "scored", "solid"), [(6, 4, "ring"), (8, 10, "ring"), (12, 10, "solid")])
def test_a_difference_is_solid_only_with_enough_questions_and_documents_for_a_claim(made, documents: int, scored: int, solid: str) -> None:
    base = np.clip(0.4 + SPREAD.normal(0, 0.05, 10 * documents), 0, 1)
    base[np.arange(len(base)) % 10 >= scored] = np.nan
    better = np.clip(base + 0.3 + SPREAD.normal(0, 0.05, len(base)), 0, 1)
    run = made.valued([base, better], documents=documents, missing="not_applicable", name=f"claims-{documents}")
    figure, claimed = shown(run), solid == "solid"
    (pair,) = findings(run).verdict.comparisons
    assert pair.p_adjusted <= 0.05
    assert findings(run).conclusive == claimed
    assert fills(figure) == {solid}
    assert ("no difference is claimed" in figure.caption) != claimed
    assert ("Solid points" in figure.caption) == claimed
    assert "The intervals hold" in figure.caption
    assert figure.data.rows[0].cells[-1].text == ("different" if claimed else "too few data for a claim")


def test_the_report_of_one_question_describes_no_interval_and_no_confidence(made) -> None:
    values = [1.0, *[np.nan] * 19]
    run = made.valued([values, values], documents=2, missing="not_applicable", name="one-question")
    found = findings(run)
    table, figure = ranking_table(found), shown(run)
    said = f"{table.caption} {table.note} {figure.caption}"
    assert not re.search(r"[Ii]ntervals (of|hold|are|clustered)|their intervals|confidence", said), said
    assert [label for _, label in ranking_block(found).ticks] == ["0.80", "0.85", "0.90", "0.95", "1.00"]
    assert [row.cells[-2].text for row in table.rows] == ["not tested"] * 2


def test_a_significant_difference_that_unseen_losses_could_undo_has_its_reason_beside_a_p_of_nearly_1(made) -> None:
    # 6 of 120 questions are won, by 1.8 in all, and none is lost: 3 total losses that were not seen outweigh that.
    better = np.tile(0.5, 120)
    worse = better.copy()
    better[:60:10] += np.linspace(0.2, 0.4, 6)
    run = made.valued([better, worse], documents=12, name="unseen")
    (pair,) = findings(run).verdict.comparisons
    assert pair.p <= 0.05 < 0.99 < pair.p_adjusted
    row = [cell.text for cell in shown(run).data.rows[0].cells]
    assert "> 0.99" in row
    assert row[-1] == "statistically indistinguishable, because unseen losses could undo it"
