"""How well an attribution recovers known causes: recall, precision and F1 of each cause, and how often it blames what is sound."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.faultbench.cases import NONE
from workbench.measures.attribution.causes import OWN_CAUSES
from workbench.measures.statistics.intervals import wilson

_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion or a mean of proportions, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CauseQuality:
    """How well one cause is recovered: the number of its `cases`, and `precision` is None if it is never named."""

    cause: str
    cases: int
    recall: Share
    precision: Share | None
    f1: Share


@dataclass(frozen=True, slots=True)
class AttributionQuality:
    """The quality of an attribution for each cause with cases, the mean F1, and the share of the `sound` answers that it blames."""

    causes: tuple[CauseQuality, ...]
    macro_f1: Share
    false_blame: Share
    sound: int


@dataclass(frozen=True, slots=True)
class AttributedCase:
    """A case of a question with its true cause and the one that an attribution names, or `none`."""

    query_id: str
    cause: str
    attributed: str


def evaluate(cases: Sequence[AttributedCase], fewest: int = 10, seed: int = 0) -> AttributionQuality:
    """Compare attributed with true causes.

    Recall, precision and the share of false blame have Wilson's intervals. F1 = 2 J / (1 + J), where J = TP / (TP + FP + FN) is a proportion with
    Wilson's interval. The mean F1 is over causes with at least the `fewest` cases, and its interval from 2,000 bootstrap samples of questions,
    since a question occurs in several causes.
    """
    table = pd.DataFrame([(case.query_id, case.cause, case.attributed) for case in cases], columns=["query", "cause", "attributed"])
    names = [name for name in OWN_CAUSES if (table["cause"] == name).any()]
    sound = table["cause"] == NONE
    blamed = int((sound & (table["attributed"] != NONE)).sum())
    qualities = tuple(_quality(table, name) for name in names)
    macro = _macro(table, [each.cause for each in qualities if each.cases >= fewest], seed)
    return AttributionQuality(qualities, macro, _share(blamed, int(sound.sum())), int(sound.sum()))


def _quality(table: pd.DataFrame, name: str) -> CauseQuality:
    true, named = table["cause"] == name, table["attributed"] == name
    hits, either = int((true & named).sum()), int((true | named).sum())
    jaccard = _share(hits, either)
    f1 = Share(*(2 * value / (1 + value) for value in (jaccard.value, jaccard.low, jaccard.high)))
    precision = _share(hits, int(named.sum())) if named.any() else None
    return CauseQuality(name, int(true.sum()), _share(hits, int(true.sum())), precision, f1)


def _share(part: int, whole: int) -> Share:
    if not whole:
        return Share(float("nan"), float("nan"), float("nan"))
    return Share(part / whole, *wilson(part / whole, whole).tolist())


def _macro(table: pd.DataFrame, names: Sequence[str], seed: int) -> Share:
    """The mean F1 over causes. In a sample without a cause, the mean is over the others."""
    if not names:
        return Share(float("nan"), float("nan"), float("nan"))
    codes, queries = pd.factorize(table["query"])
    true, named = (np.column_stack([table[column] == name for name in names]) for column in ("cause", "attributed"))
    counts = np.zeros((len(queries), 2, len(names)))
    np.add.at(counts, codes, np.stack([true & named, true.astype(int) + named], axis=1))
    weights = np.random.default_rng(seed).multinomial(len(queries), np.full(len(queries), 1 / len(queries)), size=_RESAMPLES)
    samples = np.tensordot(np.vstack([np.ones(len(queries)), weights]), counts, axes=1)
    with np.errstate(invalid="ignore"):
        means = np.nanmean(2 * samples[:, 0] / samples[:, 1], axis=1)
    low, high = np.percentile(means[1:], (2.5, 97.5))
    return Share(float(means[0]), float(low), float(high))
