"""Separate the losses of an answer metric: by retrieval, by distractors, by each attack, and what remains with the evidence alone."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.context.conditions import GOLD, GOLD_DISTRACTORS, NONE, RETRIEVED
from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.effects import Effect, EffectReading
from workbench.measures.statistics.intervals import Interval, SimultaneousInterval
from workbench.measures.statistics.summary import losses, mean_interval
from workbench.report.analysis.answer_values import (
    Refusals,
    answer_measure,
    answer_score,
    answering,
    condition_mean,
    condition_values,
    is_verbatim,
    losing,
    refusals_in,
    refused_answers,
)
from workbench.report.analysis.values import clusters
from workbench.report.results.run_tables import RunTables

REMAINING = "generator, judge and label error"
_NAMES = {RETRIEVED: "retrieval", GOLD_DISTRACTORS: "distractors"}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Effect):
    """The loss in a condition against the evidence alone on the same questions. Positive values are losses.

    It is the effect of the evidence alone in place of the condition, in the family of all losses of the configuration. `answered` is the same on the
    questions without a refused answer from the evidence alone, whose family are the losses on these questions; None without such a question. `alone`
    and `refused` count the refused answers to the compared questions, from the evidence alone and in the condition.
    """

    condition: str
    perturbation: str
    answered: Effect | None
    alone: Refusals
    refused: Refusals

    @property
    def masked(self) -> bool:
        """True if the evidence alone is refused more often than the condition, which hides a part of the loss."""
        return self.alone.share > self.refused.share

    @property
    def name(self) -> str:
        """The cause of the loss: `retrieval`, `distractors`, or the attack."""
        return _NAMES.get(self.condition) or "/".join(filter(None, [self.condition, self.perturbation]))

    @property
    def difference(self) -> Interval:
        """The mean loss with its own 95 % interval."""
        return self.comparison.difference

    @property
    def simultaneous(self) -> SimultaneousInterval:
        """The mean loss with bounds that hold for all losses of the configuration at once."""
        return self.comparison.simultaneous

    @property
    def significant(self) -> bool:
        """True for a loss after correction for all losses."""
        return self.reading is EffectReading.LOSS


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The losses of a configuration's answers by a metric.

    `gold` is the mean with the evidence alone, `closed_book` the mean without any context, which is not a loss. It is None for answers that are copied
    from the context. `remaining` is 1 - gold, the loss with the evidence alone: generator, judge and label error. Each is None if its condition is
    not in the run. `alone` and `closed` count the refused answers behind `gold` and `closed_book`.
    """

    configuration: str
    metric: str
    gold: Interval
    closed_book: Interval | None
    losses: tuple[Loss, ...]
    remaining: Interval | None
    alone: Refusals
    closed: Refusals

    def loss(self, condition: str, perturbation: str = "") -> Loss | None:
        """Return the loss in a condition, None if the run lacks it."""
        return next((each for each in self.losses if (each.condition, each.perturbation) == (condition, perturbation)), None)


def decompose(run: RunTables, configuration: str, metric: str) -> Decomposition:
    """Decompose a metric of answers of which higher values are better. Repeats are averaged within each question first.

    Raises InputError if the run has no answers from the evidence alone by such a metric.
    """
    measure = answer_measure(run, metric)
    if not measure.higher_is_better:
        raise InputError(f"{metric} counts faults, so it has no losses", "choose a metric of which higher values are better")
    observed, clean = clusters(run), condition_values(run, configuration, metric, GOLD)
    gold = mean_interval(clean, observed, measure.proportion)
    if gold is None:
        raise InputError(f"{configuration} has no {metric} with the evidence alone", f"add {GOLD} to the conditions")
    closed = condition_values(run, configuration, metric, NONE)
    return Decomposition(
        configuration,
        metric,
        gold,
        None if is_verbatim(run, configuration) else mean_interval(closed, observed, measure.proportion),
        tuple(_losses(run, configuration, metric, clean)),
        mean_interval(1 - clean, observed, True) if measure.proportion else None,
        refusals_in(run, configuration, ~np.isnan(clean), GOLD),
        refusals_in(run, configuration, ~np.isnan(closed), NONE),
    )


def _losses(run: RunTables, configuration: str, metric: str, clean: Floats) -> Iterator[Loss]:
    observed, keys = clusters(run), losing(run, configuration, metric)
    degraded = {"/".join(filter(None, key)): condition_values(run, configuration, metric, *key) for key in keys}
    answered = np.where(refused_answers(run, configuration, GOLD)[0] > 0, np.nan, clean)
    effects, unrefused = (
        losses({(GOLD, name): (side, values) for name, values in degraded.items()}, observed) for side in (clean, answered)
    )
    for (_, name), effect in effects.items():
        condition, _, perturbation = name.partition("/")
        compared = ~np.isnan(clean + degraded[name])
        yield Loss(
            **{each.name: getattr(effect, each.name) for each in fields(effect)},
            condition=condition,
            perturbation=perturbation,
            answered=unrefused.get((GOLD, name)),
            alone=refusals_in(run, configuration, compared, GOLD),
            refused=refusals_in(run, configuration, compared, condition, perturbation),
        )


@memoised(64)
def decomposition_of(run: RunTables, configuration: str, metric: str = "") -> Decomposition | None:
    """Decompose a metric of a configuration's answers, by default the answer score. None without a score with the evidence alone."""
    name = metric or str(answer_score(run) or "")
    mean = condition_mean(run, configuration, name, GOLD) if name else None
    return decompose(run, configuration, name) if mean and mean.n else None


def decomposition_table(run: RunTables, metric: str = "") -> pd.DataFrame:
    """Tabulate the parts of every configuration's decomposition. Without answers or the condition gold it has no rows."""
    rows = []
    for parts in (parts for name in answering(run) if (parts := decomposition_of(run, name, metric))):
        losses = [(loss.name, loss.difference, _tested(loss)) for loss in parts.losses]
        means = [("evidence alone", parts.gold, {}), *losses, ("remaining", parts.remaining, {}), ("closed book", parts.closed_book, {})]
        for name, mean, tested in means:
            if mean:
                named = {"configuration": parts.configuration, "metric": parts.metric, "part": name}
                rows.append(named | {field: getattr(mean, field) for field in ("value", "low", "high", "n", "clusters")} | tested)
    return pd.DataFrame(rows, columns=[*_COLUMNS, *_TESTED])


def _tested(loss: Loss) -> dict[str, Any]:
    reading = MASKED if loss.masked and loss.reading is EffectReading.UNDECIDED else _READINGS[loss.reading]
    row = {name: getattr(loss.comparison, name) for name in ("low_adjusted", "high_adjusted", "p", "p_adjusted")}
    row |= {"detectable": loss.detectable, "reading": reading, "refused_alone": loss.alone.share, "refused": loss.refused.share}
    if loss.answered:
        mean = loss.answered.comparison.simultaneous
        row |= {"answered_value": mean.value, "answered_low": mean.low, "answered_high": mean.high, "answered_n": mean.n}
        row |= {"answered_detectable": loss.answered.detectable}
    return row
