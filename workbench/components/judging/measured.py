"""Measurements of the judge `overlap` and of plain words, which reports state, as in docs/judges.md."""

from typing import NamedTuple

from workbench.components.judging.base import Task


class MeasuredSet(NamedTuple):
    """AUROC of `overlap` on a labelled set with its 95 % limits, and the AUROC of the share of shared words alone."""

    overlap: float
    low: float
    high: float
    words: float
    items: int


# By task and the set's name in benchmarks/judging, which measures them. A test compares them.
MEASURED: dict[Task, dict[str, MeasuredSet]] = {
    "support": {
        "handbook": MeasuredSet(0.80, 0.76, 0.84, 0.74, 1477),
        "WiCE": MeasuredSet(0.81, 0.76, 0.85, 0.73, 349),
        "MTRAG": MeasuredSet(0.81, 0.74, 0.87, 0.82, 216),
        "minimal edits": MeasuredSet(0.61, 0.55, 0.68, 0.61, 96),
    },
    "correctness": {
        "correct answers": MeasuredSet(0.90, 0.86, 0.93, 0.83, 342),
        "MTRAG answers": MeasuredSet(0.57, 0.42, 0.72, 0.66, 144),
    },
}
# The share of contradicted claims found where 10 % of the supported ones are suspected.
CONTRADICTIONS_FOUND = 0.40
