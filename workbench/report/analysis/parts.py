"""Estimate what each part of a configuration adds: the mean effect of every alternative of a stage over matched pairs of configurations."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.memo import memoised
from workbench.core.text.formatting import plural, setting
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.comparison import paired_difference
from workbench.measures.statistics.effects import Change, Effect, EffectReading, SideLevels, effects
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.pairs import total_loss
from workbench.report.analysis.standings import DRIFT, CostRange, comparison, difference, timings_of, value_bounds, verdict_of
from workbench.report.analysis.values import clusters, per_query
from workbench.report.results.run_tables import RunTables

Settings = Mapping[str, Any]
NONE = "none"
# A setting of every retriever.
NEIGHBOURS = "neighbours"
# A configuration whose retriever needs no vectors has no embedder. Every other stage that can be left out is left out by choice.
_FOLLOWS = "embedding"
# The vocabulary that a chunker counts in is that of the embedder.
_OF_EMBEDDING = ("chunking", "model")
# The settings of a fused retriever that its fusion does not use.
_NOT_FUSED = ("k", "deliver", NEIGHBOURS)
# Metrics that are shown beside the primary one.
_BESIDE = ("span_recall", "chunk_precision", "ndcg")
LATENCIES = ("p50", "p95")
# The verdicts on an alternative that adds to its reference, and on one that replaces it.
_VERDICTS: Mapping[EffectReading, tuple[str, str]] = {
    EffectReading.GAIN: ("worth it", "better"),
    EffectReading.LOSS: ("harmful", "worse"),
    EffectReading.GAIN_HERE: ("a gain on these documents", "a gain on these documents"),
    EffectReading.LOSS_HERE: ("a loss on these documents", "a loss on these documents"),
    EffectReading.UNDECIDED: ("no benefit shown", "no difference shown"),
    EffectReading.TOO_FEW: ("too few data for a claim", "too few data for a claim"),
}
_TIMES = [f"added_{percentile}{end}" for percentile in LATENCIES for end in ("", "_low", "_high")]
_NUMBERS = ["low_adjusted", "high_adjusted", "p", "p_adjusted", "detectable", "lowest", "highest", "p_differs", *_TIMES]
_COLUMNS = {
    **dict.fromkeys(("stage", "alternative", "reference", "metric"), "str"),
    **dict.fromkeys(("difference", "low", "high"), "float64"),
    **dict.fromkeys(("n", "clusters"), "int64"),
    "conditional": "str",
    **dict.fromkeys(("pairs", "possible"), "int64"),
    **dict.fromkeys(_NUMBERS, "float64"),
    "verdict": "str",
}


@dataclass(frozen=True)
class Alternative:
    """One of the settings that a stage has in the run: `none` if the stage is left out. `label` names it among the stage's alternatives."""

    stage: str
    label: str
    settings: Settings | None


@dataclass(frozen=True)
class MatchedPair:
    """Two configurations that are equal in every other stage, with the difference of the primary metric in their `comparison`."""

    configuration: str
    reference: str
    difference: Interval


class AddedTime(NamedTuple):
    """Milliseconds per question that an alternative adds: the median over the most precisely timed pairs, and the range of their times."""

    value: float
    span: CostRange


@dataclass(frozen=True)
class PartEffect:
    """The effect of `alternative` in place of `reference` in a stage, over the matched `pairs` of the `possible` ones.

    `added`: the alternative adds to the reference, which leaves the stage out or is fused by the alternative, rather than replacing it.
    `effect` is that on the primary metric, `others` those on other metrics, `latency` the time added by p50 and p95, of `timed` questions.
    """

    stage: str
    alternative: str
    reference: str
    added: bool
    effect: Effect
    pairs: tuple[MatchedPair, ...]
    possible: int
    others: Mapping[str, Interval]
    latency: Mapping[str, AddedTime]
    timed: int = 0

    @property
    def verdict(self) -> str:
        """The conclusion, by the primary metric."""
        return _VERDICTS[self.effect.reading][0 if self.added else 1]

    @property
    def lowest(self) -> MatchedPair:
        """The pair with the smallest difference."""
        return min(self.pairs, key=lambda pair: pair.difference.value)

    @property
    def highest(self) -> MatchedPair:
        """The pair with the largest difference."""
        return max(self.pairs, key=lambda pair: pair.difference.value)


class Contrasted(NamedTuple):
    """Two alternatives of a stage with the `pairs` of ranked configurations that differ only in them, of `possible` ones."""

    alternative: Alternative
    reference: Alternative
    added: bool
    pairs: list[tuple[str, str]]
    possible: int


@memoised(1)
def parts(run: RunTables) -> tuple[PartEffect, ...]:
    """Estimate the effects of all stages that vary, on the configurations that the verdict ranks.

    Every alternative is compared with `none`, or else with the first alternative of its stage. One that fuses others, as hybrid retrieval does, is
    compared with each of those that the run has alone. All effects on the primary metric form one family, without those of a single pair: these are
    the comparisons of two configurations.
    """
    contrasts = [each for each in contrasts_of(run) if each.pairs]
    if not contrasts:
        return ()
    groups, metric = clusters(run), run.primary
    loss = total_loss(np.array([per_query(run, name, str(metric)) for name in run.names]))
    estimated = effects([_change(run, each) for each in contrasts], groups, loss, 1.0 if metric.higher_is_better else -1.0)
    part_effects = []
    for contrast, effect in zip(contrasts, estimated, strict=True):
        cells = [(a, b, difference(run, str(metric), a, b)) for a, b in contrast.pairs]
        # The fewest questions that any of the pairs was timed on, 0 if that is not known.
        timed = [timings_of(run, name).get("latency_questions", 0.0) for pair in contrast.pairs for name in pair]
        part = PartEffect(
            stage=contrast.alternative.stage,
            alternative=contrast.alternative.label,
            reference=contrast.reference.label,
            added=contrast.added,
            effect=effect,
            pairs=tuple(MatchedPair(a, b, cell) for a, b, cell in cells if cell),
            possible=contrast.possible,
            timed=int(min(timed, default=0.0)),
            others={name: _mean(_differences(run, name, contrast), run) for name in _beside(run)},
            latency={name: added for name in LATENCIES if (added := _latency(run, contrast.pairs, name))},
        )
        part_effects.append(part)
    return tuple(part_effects)


def alternatives(run: RunTables) -> Mapping[str, tuple[Alternative, ...]]:
    """The alternatives of each stage that varies, in the experiment's order, failed configurations included."""
    settings = _settings(run)
    stages = dict.fromkeys(stage for each in settings.values() for stage in each)
    varying = {}
    for stage in stages:
        chosen = {_key(stage, each.get(stage)): each.get(stage) for each in settings.values() if stage != _FOLLOWS or each.get(stage)}
        if len(chosen) > 1:
            values = list(chosen.values())
            varying[stage] = tuple(Alternative(stage, label, value) for label, value in zip(_labels(stage, values), values, strict=True))
    return varying


@memoised(1)
def _settings(run: RunTables) -> Mapping[str, Mapping[str, Any]]:
    """The settings of each configuration by stage, without targets, whose parts are not known.

    Neighbours are a part of their own, since they do not change what a retriever finds.
    """
    settings = {}
    for name, stages in run.configurations_settings.items():
        if "target" not in stages:
            retrieval = dict(stages["retrieval"])
            each_side = retrieval.pop(NEIGHBOURS, 0)
            added = {"kind": f"{plural(each_side, 'neighbour')} on each side"} if each_side else None
            settings[name] = {**stages, "retrieval": retrieval, NEIGHBOURS: added}
    return settings


@memoised(1)
def contrasts_of(run: RunTables) -> tuple[Contrasted, ...]:
    """The alternatives that are compared, also those of which no matched pair can be ranked."""
    verdict, metric, contrasts = verdict_of(run), str(run.primary), []
    ranked = set(verdict.ranked if verdict else ())
    for stage, choices in alternatives(run).items():
        members = {each.label: [other for other in choices if _fuses(each, other)] for each in choices}
        simple = [each for each in choices if not members[each.label]]
        reference = next((each for each in choices if each.settings is None), (simple or choices)[0])
        for each in choices:
            for other in members[each.label] or [reference]:
                if each is not other:
                    possible = list(_matched(_settings(run), stage, each, other))
                    both = [(a, b) for a, b in possible if {a, b} <= ranked]
                    pairs = [(a, b) for a, b in both if not np.isnan(per_query(run, a, metric) + per_query(run, b, metric)).all()]
                    added = other.settings is None or bool(members[each.label])
                    contrasts.append(Contrasted(each, other, added, pairs, len(possible)))
    return tuple(contrasts)


def _fuses(one: Alternative, other: Alternative) -> bool:
    """Check for an alternative that another one fuses: one of the components in its settings."""
    parts_of = (part for value in (one.settings or {}).values() if isinstance(value, Mapping) for part in value.values())
    inside = [part for part in parts_of if isinstance(part, Mapping) and "kind" in part]
    return other is not one and _fused(other.settings) in [_fused(part) for part in inside]


def _fused(settings: Settings | None) -> Settings | None:
    return None if settings is None else {name: value for name, value in settings.items() if name not in _NOT_FUSED}


def _matched(settings: Mapping[str, Mapping[str, Any]], stage: str, one: Alternative, other: Alternative) -> Iterator[tuple[str, str]]:
    """Pair the configurations that are equal in every other stage."""
    keys = {_key(stage, each.settings): each for each in (one, other)}
    sides: dict[str, list[tuple[str, str, str]]] = {one.label: [], other.label: []}
    for name, each in settings.items():
        if (side := keys.get(_key(stage, each.get(stage)))) is not None:
            rest = {key: value for key, value in each.items() if key not in (stage, _FOLLOWS) and value is not None}
            if stage == _FOLLOWS:
                rest["chunking"] = {key: value for key, value in rest["chunking"].items() if key != _OF_EMBEDDING[1]}
            embedding = _key(_FOLLOWS, each[_FOLLOWS]) if stage != _FOLLOWS and each.get(_FOLLOWS) else ""
            sides[side.label].append((name, json.dumps(rest, sort_keys=True), embedding))
    for name, same, embedding in sides[one.label]:
        for partner, others, of_partner in sides[other.label]:
            if same == others and (embedding == of_partner or not (embedding and of_partner)):
                yield name, partner


def _change(run: RunTables, contrast: Contrasted) -> Change:
    """The differences by the primary metric, with the means of the pairs' sides as distances from its worst value."""
    values = {name: per_query(run, name, str(run.primary)) for pair in contrast.pairs for name in pair}
    worst, _ = value_bounds(run.primary, values)
    a, b = (float(np.nanmean(np.abs([values[name] - worst for name in side]))) for side in zip(*contrast.pairs, strict=True))
    tested = comparison(run, *contrast.pairs[0]) if len(contrast.pairs) == 1 else None
    sides = contrast.alternative.label, contrast.reference.label
    return Change(_differences(run, str(run.primary), contrast), sides, SideLevels(a, b), tested)


def _differences(run: RunTables, metric: str, contrast: Contrasted) -> Floats:
    """The differences of each pair on each query. Shape (pairs, queries)."""
    return np.array([per_query(run, a, metric) - per_query(run, b, metric) for a, b in contrast.pairs])


def _mean(change: Floats, run: RunTables) -> Interval:
    means = change.mean(axis=0)
    if np.isnan(means).all():
        return Interval(np.nan, np.nan, np.nan, 0, 0)
    return paired_difference(means, np.zeros_like(means), clusters(run))


def _beside(run: RunTables) -> list[str]:
    """The metrics beside the primary one: of chunks, of ranks, and of spans at equal context, as named in the experiment if any is."""
    named = run.manifest["experiment"].get("metrics", ())
    chosen = [name for name in named if name in run.measures and run.measures[name].name in _BESIDE]
    spans = [name for name in chosen if run.measures[name].name == "span_recall" and run.measures[name].tokens is None]
    return [name for name in chosen if name != str(run.primary) and name not in spans]


def _latency(run: RunTables, pairs: Sequence[tuple[str, str]], percentile: str) -> AddedTime | None:
    """Summarise the pairs without those whose range is far wider than the narrowest, as with a slow reranker in both configurations."""
    name, times = f"latency_question_{percentile}", []
    for a, b in ((timings_of(run, a), timings_of(run, b)) for a, b in pairs):
        if name in a and name in b:
            first, second = (CostRange(each.get(f"{name}_low", -math.inf), each.get(f"{name}_high", math.inf)) for each in (a, b))
            times.append(AddedTime(a[name] - b[name], CostRange(first.low - second.high, first.high - second.low)))
    if not times:
        return None
    narrowest = min(time.span.high - time.span.low for time in times)
    chosen = [time for time in times if time.span.high - time.span.low <= DRIFT * narrowest]
    span = CostRange(min(time.span.low for time in chosen), max(time.span.high for time in chosen))
    return AddedTime(float(np.median([time.value for time in chosen])), span)


def _key(stage: str, settings: Settings | None) -> str:
    """The settings as text. A chunker's vocabulary is not its own choice."""
    own = {name: value for name, value in (settings or {}).items() if (stage, name) != _OF_EMBEDDING}
    return json.dumps(own, sort_keys=True)


def _labels(stage: str, values: Sequence[Settings | None]) -> list[str]:
    """Name alternatives by their kind and by the fields that differ among those of the kind."""
    labels = []
    for value in values:
        if value is None:
            labels.append(NONE)
            continue
        alike = [other for other in values if other is not None and other["kind"] == value["kind"]]
        differ = [name for name in value if len({json.dumps(other.get(name), sort_keys=True) for other in alike}) > 1]
        fields = [
            f"{name} {_text(value[name])}"
            for name in differ
            if (stage, name) != _OF_EMBEDDING and value[name] is not None and value[name] != {}
        ]
        labels.append(", ".join([str(value["kind"]), *fields]))
    unique = len(set(labels)) == len(labels)
    return labels if unique else [f"{label} ({number})" for number, label in enumerate(labels, 1)]


def _text(value: Any) -> str:
    if isinstance(value, Mapping) and any(isinstance(part, Mapping) for part in value.values()):
        return " + ".join(value)
    return setting(value)


def parts_table(run: RunTables) -> pd.DataFrame:
    """Tabulate the effects. The columns of tests are missing in rows of other metrics than the primary one."""
    rows: list[dict[str, Any]] = []
    for part in parts(run):
        row = part.effect.comparison
        named: dict[str, Any] = {"stage": part.stage, "alternative": part.alternative, "reference": part.reference}
        named |= {"pairs": len(part.pairs), "possible": part.possible}
        tests = {name: float(getattr(row, name)) for name in ("low_adjusted", "high_adjusted", "p", "p_adjusted")}
        tests |= {"detectable": part.effect.detectable, "p_differs": part.effect.p_differs}
        tests |= {"lowest": part.lowest.difference.value, "highest": part.highest.difference.value}
        for percentile, time in part.latency.items():
            tests |= {f"added_{percentile}": time.value}
            tests |= {f"added_{percentile}_low": time.span.low, f"added_{percentile}_high": time.span.high} if time.span.repeated else {}
        for metric, mean in {str(run.primary): row.difference, **part.others}.items():
            tested = {**tests, "verdict": part.verdict} if metric == str(run.primary) else {}
            rows.append({**named, "metric": metric, "difference": mean.value, **asdict(mean), **tested})
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
