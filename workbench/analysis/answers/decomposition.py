"""Separate the losses of an answer metric: by retrieval, by distractors, by each attack, and what remains with perfect context."""

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.analysis.answers.values import answer_measure, condition_values, losing
from workbench.analysis.values import clusters
from workbench.context.conditions import GOLD, GOLD_DISTRACTORS, NONE, RETRIEVED
from workbench.core.display import table_html
from workbench.core.formatting import number
from workbench.errors import InputError
from workbench.metrics.coverage import Floats
from workbench.results.run_tables import RunTables
from workbench.statistics.answers.losses import losses, mean_interval
from workbench.statistics.comparison import Comparison
from workbench.statistics.effects import Effect, EffectReading
from workbench.statistics.intervals import Interval, SimultaneousInterval

REMAINING = "generator, judge and label error"
_NAMES = {RETRIEVED: "retrieval", GOLD_DISTRACTORS: "distractors"}


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss in a condition against perfect context on the same questions. Positive values are losses.

    `comparison` is of the clean context minus the condition. Its family are all losses of the configuration. `detectable` is the loss that these
    questions show with 80 % power, NaN if it does not vary.
    """

    condition: str
    perturbation: str
    comparison: Comparison
    reading: EffectReading
    detectable: float

    @property
    def name(self) -> str:
        """Return what causes the loss: `retrieval`, `distractors`, or the attack."""
        return _NAMES.get(self.condition) or "/".join(filter(None, [self.condition, self.perturbation]))

    @property
    def difference(self) -> Interval:
        """Return the mean loss with its own 95 % interval."""
        return self.comparison.difference

    @property
    def simultaneous(self) -> SimultaneousInterval:
        """Return the mean loss with bounds that hold for all losses of the configuration at once."""
        return self.comparison.simultaneous

    @property
    def significant(self) -> bool:
        """Return whether it is a loss after correction for all losses."""
        return self.reading is EffectReading.LOSS


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The losses of a configuration's answers by a metric.

    `gold` is the mean with perfect context, `closed_book` the mean without any context, which is not a loss: what the model knows anyway.
    `remaining` is 1 - gold, the loss with perfect context: generator, judge and label error. Each is None if its condition is not in the run.
    """

    configuration: str
    metric: str
    gold: Interval
    closed_book: Interval | None
    losses: tuple[Loss, ...]
    remaining: Interval | None

    def loss(self, condition: str, perturbation: str = "") -> Loss | None:
        """Return the loss in a condition, None if the run lacks it."""
        return next((each for each in self.losses if (each.condition, each.perturbation) == (condition, perturbation)), None)

    def _repr_html_(self) -> str:
        rows = [_row("perfect context", self.gold), *([_row("closed book", self.closed_book)] if self.closed_book else [])]
        rows += [_row(f"loss: {each.name}", each.simultaneous) for each in self.losses]
        rows += [_row(f"loss: {REMAINING}", self.remaining)] if self.remaining else []
        note = "Intervals of losses against perfect context hold for all of them at once with 95 % confidence."
        return table_html(f"{self.configuration}: {self.metric}", rows, note)


def decompose(run: RunTables, configuration: str, metric: str) -> Decomposition:
    """Decompose a metric of answers of which higher values are better. Repeats are averaged within each question first.

    Raises InputError if the run has no answers with perfect context by such a metric.
    """
    measure = answer_measure(run, metric)
    if not measure.higher_is_better:
        raise InputError(f"{metric} counts faults, so it has no losses", "choose a metric of which higher values are better")
    observed, clean = clusters(run), condition_values(run, configuration, metric, GOLD)
    gold = mean_interval(clean, observed, measure.proportion)
    if gold is None:
        raise InputError(f"{configuration} has no {metric} with perfect context", f"add {GOLD} to the conditions")
    found = losses({_names(*key): (clean, values) for key, values in _degraded(run, configuration, metric)}, observed)
    return Decomposition(
        configuration,
        metric,
        gold,
        mean_interval(condition_values(run, configuration, metric, NONE), observed, measure.proportion),
        tuple(_loss(condition, effect) for (_, condition), effect in found.items()),
        mean_interval(1 - clean, observed, True) if measure.proportion else None,
    )


def _degraded(run: RunTables, configuration: str, metric: str) -> Iterator[tuple[tuple[str, str], Floats]]:
    for condition, perturbation in losing(run, configuration, metric):
        yield (condition, perturbation), condition_values(run, configuration, metric, condition, perturbation)


def _names(condition: str, perturbation: str) -> tuple[str, str]:
    return GOLD, "/".join(filter(None, [condition, perturbation]))


def _loss(name: str, effect: Effect) -> Loss:
    condition, _, perturbation = name.partition("/")
    return Loss(condition, perturbation, effect.comparison, effect.reading, effect.detectable)


def _row(name: str, interval: Interval) -> dict[str, str]:
    return {"": name, "value": number(interval.value), "95 % interval": interval.bounds(), "questions": str(interval.n)}
