"""The decomposition of answers as a table, for analysis in a notebook."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pandas as pd

from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.condition_scores import answer_score, condition_mean
from workbench.analysis.answers.decomposition import Decomposition, Loss, decompose
from workbench.context.conditions import GOLD
from workbench.results.run_tables import RunTables
from workbench.statistics.effects import EffectReading
from workbench.statistics.intervals import Interval

_COLUMNS = ["configuration", "metric", "part", "value", "low", "high", "n", "clusters"]
# A difference is the clean context minus the other, so that a positive one is a loss.
_READINGS = {
    EffectReading.LOSS: "loss",
    EffectReading.GAIN: "gain",
    EffectReading.UNDECIDED: "no loss shown",
    EffectReading.TOO_FEW: "too few data for a claim",
}
# The same loss on the questions that are answered from the evidence alone, and the refused answers of all.
_ANSWERED = ["answered_value", "answered_low", "answered_high", "answered_n", "answered_detectable", "refused_alone", "refused"]
_TESTED = ["low_adjusted", "high_adjusted", "p", "p_adjusted", "detectable", "reading", *_ANSWERED]
MASKED = "masked by refusals"


@lru_cache(maxsize=64)
def decomposition_of(run: RunTables, configuration: str, metric: str = "") -> Decomposition | None:
    """Decompose a metric of a configuration's answers, by default the answer score. None without a score with the evidence alone."""
    name = metric or str(answer_score(run) or "")
    mean = condition_mean(run, configuration, name, GOLD) if name else None
    return decompose(run, configuration, name) if mean and mean.n else None


def decomposition_table(run: RunTables, metric: str = "") -> pd.DataFrame:
    """Tabulate the parts of every configuration's decomposition. Without answers or the condition gold it has no rows."""
    found = [parts for name in answering(run) if (parts := decomposition_of(run, name, metric))]
    rows = [{"configuration": parts.configuration, "metric": parts.metric, **row} for parts in found for row in _rows(parts)]
    return pd.DataFrame(rows, columns=[*_COLUMNS, *_TESTED])


def _rows(parts: Decomposition) -> Iterator[dict[str, Any]]:
    yield {"part": "evidence alone", **_interval(parts.gold)}
    for loss in parts.losses:
        yield {"part": loss.name, **_interval(loss.difference), **_tested(loss)}
    for name, mean in (("remaining", parts.remaining), ("closed book", parts.closed_book)):
        if mean:
            yield {"part": name, **_interval(mean)}


def _interval(mean: Interval) -> dict[str, Any]:
    return {"value": mean.value, "low": mean.low, "high": mean.high, "n": mean.n, "clusters": mean.clusters}


def _tested(loss: Loss) -> dict[str, Any]:
    row = loss.comparison
    bounds = {"low_adjusted": row.low_adjusted, "high_adjusted": row.high_adjusted, "p": row.p, "p_adjusted": row.p_adjusted}
    reading = MASKED if loss.masked and loss.reading is EffectReading.UNDECIDED else _READINGS[loss.reading]
    return bounds | {"detectable": loss.detectable, "reading": reading} | _answered(loss)


def _answered(loss: Loss) -> dict[str, Any]:
    row = {"refused_alone": loss.alone.share, "refused": loss.refused.share}
    if loss.answered:
        mean = loss.answered.comparison.simultaneous
        ends = {"answered_value": mean.value, "answered_low": mean.low, "answered_high": mean.high, "answered_n": mean.n}
        row |= ends | {"answered_detectable": loss.answered.detectable}
    return row
