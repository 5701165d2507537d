"""What the numbers say, in words made from them; nothing here calls a difference real, since no test was run."""

from collections.abc import Sequence

import numpy as np

from workbench.metrics.names import Metric
from workbench.records import Dataset
from workbench.report.numerals import count, interval, listed, number, plural, share, signed
from workbench.report.standings import Mean, Standing, Standings
from workbench.statistics.intervals import Interval

NO_TEST = "No test was run and nothing is corrected for the number of configurations: an order is not yet a finding."


def about_dataset(dataset: Dataset) -> str:
    """What there is to search and to ask."""
    unanswerable = sum(not query.answerable for query in dataset.queries)
    evidence = f", {plural(len(dataset.needs), 'piece')} of evidence" if dataset.needs else ", no evidence spans"
    not_there = f" ({plural(unanswerable, 'of them has', 'of them have')} no answer in the documents)" if unanswerable else ""
    return f"{dataset.name}: {plural(len(dataset.documents), 'document')}, {plural(len(dataset.queries), 'question')}{not_there}{evidence}."


def about_primary(metric: Metric, dataset: Dataset) -> str:
    """What the configurations are ordered by, and whether it compares them at equal context."""
    if metric.tokens is not None:
        return (
            f"The primary metric is {metric}: every configuration delivers its chunks by rank until {count(metric.tokens)} tokens "
            "are there, so that large and small chunks are compared on the same amount of text."
        )
    if not dataset.needs:
        return (
            f"The questions have no evidence spans, so equal context does not apply: "
            f"the primary metric is {metric}, over distinct documents, each ranked by its highest chunk."
        )
    return f"The primary metric is {metric}: it is not taken at equal context, where larger chunks deliver more text."


def said(mean: Mean) -> str:
    """A mean as the predicate of a sentence."""
    metric = Metric.parse(mean.metric)
    if metric.name == "span_recall":
        within = f"within {count(metric.tokens)} tokens" if metric.tokens is not None else f"with {plural(metric.k or 0, 'chunk')}"
        return f"delivers {mean.text(2)} of the evidence {within}"
    return f"has {mean.metric} {mean.text(2)}"


def headline(found: Standings) -> str:
    """The first of the order and how many intervals overlap its own."""
    if not found.ranked:
        return "No configuration can be ranked."
    first, *others = found.ranked
    mean = first.means[str(found.primary)]
    text = f"{first.name} {said(mean)} (95 % interval, {plural(mean.n, 'question')} in {plural(mean.clusters, 'cluster')})"
    if not others:
        return f"{text}."
    overlapping = sum(_overlap(mean, other.means[str(found.primary)]) for other in others)
    return f"{text}, the {_extreme(found.primary)} value; {_so_many(overlapping, len(others))}."


def window_note(standing: Standing) -> str:
    """Why a configuration is not ranked."""
    truncated = standing.result.truncated
    total = int(standing.result.lengths.sum())
    return (
        f"{plural(int((truncated > 0).sum()), 'chunk')} of {count(len(truncated))} longer than the window of "
        f"{count(standing.result.window or 0)} tokens; {count(int(truncated.sum()))} tokens ({share(truncated.sum(), total)}) never embedded"
    )


def reading(found: Interval) -> str:
    """Where a difference's interval lies."""
    if np.isnan(found.low) or np.isnan(found.high):
        return "no interval"
    if found.low == found.high == 0:
        return "the same on every question"
    return "interval above zero" if found.low > 0 else "interval below zero" if found.high < 0 else "interval includes zero"


def differences_told(baseline: str, found: Sequence[tuple[str, Interval]]) -> str:
    """How many differences have an interval away from zero."""
    if not found:
        return "There is no second configuration to compare."
    apart = [f"{name} ({signed(one.value, 2)} {interval(one.low, one.high, 2)})" for name, one in found if one.low > 0 or one.high < 0]
    which = f": {listed(apart)}" if apart else ""
    return (
        f"Against {baseline}, the interval of {len(apart) or 'none'} of {plural(len(found), 'difference')} excludes zero{which}. {NO_TEST}"
    )


def context_told(standings: Sequence[Standing]) -> str:
    """How much more text one configuration delivers than another at the same number of chunks."""
    tokens = {standing.name: float(standing.result.summary["delivered_tokens"]) for standing in standings}
    most, least = max(tokens, key=tokens.__getitem__), min(tokens, key=tokens.__getitem__)
    if len(tokens) < 2 or not tokens[least]:
        return "The same number of chunks is not the same amount of text."
    return (
        f"At a fixed number of chunks the amount of text differs: {most} delivers {count(tokens[most])} tokens a question, "
        f"{number(tokens[most] / tokens[least], 1)} times what {least} delivers ({count(tokens[least])}). "
        "Larger chunks gain recall here by construction."
    )


def _overlap(one: Mean, other: Mean) -> bool:
    return bool(one.low <= other.high and other.low <= one.high)


def _so_many(some: int, others: int) -> str:
    if others == 1:
        return "the other's interval overlaps it" if some else "the other's interval does not overlap it"
    if some in (0, others):
        return f"the intervals of {'all' if some else 'none of the'} {others} others overlap it"
    return f"the intervals of {some} of the {others} others overlap it"


def _extreme(metric: Metric) -> str:
    return "highest" if metric.higher_is_better else "lowest"
