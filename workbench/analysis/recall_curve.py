"""Recall of evidence as more text is delivered."""

from collections.abc import Mapping, Sequence

from workbench.analysis.standings import Standing

# Measured at these budgets in every run on data with evidence.
CURVE = (500, 1000, 2000, 4000)


def recall_curves(standings: Sequence[Standing]) -> Mapping[str, Sequence[float]]:
    """By configuration its recall of evidence at the budgets of `CURVE`; empty without evidence."""
    names = [f"span_recall@{tokens}t" for tokens in CURVE]
    return {one.name: [one.means[name].value for name in names] for one in standings if all(name in one.means for name in names)}
