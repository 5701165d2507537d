"""Table cells of losses."""

from workbench.analysis.answers.decomposition import Loss
from workbench.report.cells import gap_cell, value_cell
from workbench.report.model import Cell


def loss_cell(loss: Loss | None) -> Cell:
    """A loss with its simultaneous interval, or a dash for None."""
    if loss is not None and loss.comparison.identical:
        return value_cell(0.0, note="equal on all")
    return gap_cell(loss.simultaneous if loss else None)


def answered_cell(loss: Loss | None) -> Cell:
    """The loss on the questions without a refused answer to the evidence alone, or a dash without them."""
    if loss is None or loss.answered is None:
        return gap_cell(None)
    if loss.answered.comparison.identical:
        return value_cell(0.0, note="equal on all")
    return gap_cell(loss.answered.comparison.simultaneous)
