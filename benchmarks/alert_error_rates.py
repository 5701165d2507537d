"""How often alerts are raised in four weeks without a change, in worlds that do not suit them too, and how soon each kind of degradation is seen.

`python -m benchmarks.alert_error_rates 500 2` simulates 500 months (fewer of more traffic) in 2 processes and prints the tables of docs/monitoring.md.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.storage.vector_cache import Vectors
from workbench.measures.metrics.coverage import Floats, Ints
from workbench.monitor.alerts.detect import DetectedAlerts, detect
from workbench.monitor.alerts.settings import DRIFTS, AlertLimit, AlertSettings
from workbench.monitor.alerts.signals import DAY

# The log begins with a reference week; four weeks follow. Changes come after the first of them.
REFERENCE, DAYS, CHANGE = 7, 35, 14
START = 20_000 * DAY
_JUDGED, _FEEDBACK = 0.6, 0.4
_SUBJECTS, _SIZE = 40, 32


@dataclass(frozen=True)
class AlertWorld:
    """Rates of a service without a change: about `conversations` a day, of `turns` questions on average, whose rates vary with the given cycles."""

    name: str
    conversations: int = 30
    turns: float = 1.0
    # The correlation of the questions of a conversation: the share of the variance of a rate that belongs to it.
    correlation: float = 0.0
    daily: float = 0.0
    weekly: float = 0.0
    bursts: bool = False
    users: int = 0
    tail: float = 0.0
    # The share of questions whose first document is not returned every time, as by an approximate index.
    unstable: float = 0.0
    empty: float = 0.03
    refused: float = 0.04
    negative: float = 0.15
    faithful: float = 0.9
    settings: AlertSettings = field(default_factory=lambda: AlertSettings(observations=500))


def at_limits(world: AlertWorld, name: str) -> AlertWorld:
    """Return a world whose rates are exactly at fixed limits: 5 % of latencies and costs are above theirs."""
    found = {
        "no_results": AlertLimit(limit=0.05),
        "refusals": AlertLimit(limit=0.05),
        "feedback": AlertLimit(limit=0.2),
        "latency": AlertLimit(limit=float(np.exp(1.6448536))),
        "cost": AlertLimit(limit=float(np.exp(1.6448536))),
    }
    return replace(world, name=name, empty=0.05, refused=0.05, negative=0.2, faithful=0.8, settings=world.settings.model_copy(update=found))


USUAL = AlertWorld("usual")
SESSIONS = AlertWorld("conversations of 4, correlated", conversations=30, turns=4.0, correlation=0.5)
BUSY = AlertWorld("ten times the traffic", conversations=300)
# The part of conversations that have a value. Lost results need known questions.
SEEN = {"faithfulness": _JUDGED, "feedback": _FEEDBACK}
WORLDS = (
    USUAL,
    at_limits(USUAL, "exactly at every limit"),
    AlertWorld("daily cycle", daily=0.5),
    AlertWorld("weekly cycle", weekly=0.5),
    SESSIONS,
    at_limits(SESSIONS, "correlated, exactly at every limit"),
    AlertWorld("users by Zipf's law, each with own rates", users=300),
    AlertWorld("bursts", bursts=True),
    AlertWorld("heavy tails", tail=1.2),
    AlertWorld("an approximate index", conversations=120, unstable=0.02),
    BUSY,
)
# The change of a rate or a factor, by the alert that should be raised.
CHANGES: Mapping[str, tuple[Mapping[str, float], ...]] = {
    "faithfulness": ({"faithful": 0.7}, {"faithful": 0.5}),
    "no_results": ({"empty": 0.1}, {"empty": 0.3}),
    "similarity": ({"similarity": -0.05}, {"similarity": -0.1}),
    "latency": ({"seconds": 2.0}, {"seconds": 4.0}),
    "cost": ({"cost": 2.0}, {"cost": 4.0}),
    "feedback": ({"negative": 0.4}, {"negative": 0.7}),
    "refusals": ({"refused": 0.15}, {"refused": 0.4}),
    "drift": ({"subject": 0.1}, {"subject": 0.3}),
    "off_topic": ({"off_topic": 0.1}, {"off_topic": 0.3}),
    "lost_results": ({"lost": 0.1}, {"documents": 0.1}, {"documents": 0.3}),
}


def simulated(world: AlertWorld, seed: int, change: Mapping[str, float] | None = None, drift: bool = True) -> DetectedAlerts:
    """Watch a log of a world, in which rates change after CHANGE days. Without `drift`, questions are not compared by their vectors."""
    random = np.random.default_rng([seed, len(world.name)])
    questions, judged = log(world, random, change or {})
    return detect(questions, world.settings, judged, encode if drift else None, until=START + DAYS * DAY)


def log(world: AlertWorld, random: np.random.Generator, change: Mapping[str, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw the questions of a world as rows of `signals`, in the order of time, and the judged ones."""
    times, sessions = _times(world, random)
    n, later = len(times), times >= START + CHANGE * DAY
    users = (random.zipf(1.3, n) % world.users)[sessions] if world.users else np.arange(n)[sessions]
    hours, days = times % DAY / DAY, (times // DAY) % 7
    factor = (1 + world.daily * np.sin(2 * np.pi * hours)) * (1 + world.weekly * np.where(days >= 5, 1.0, -0.4))

    def rate(name: str, usual: float) -> Floats:
        base = np.where(later, change.get(name, usual), usual)
        own = np.random.default_rng(1).beta(1, 1 / max(usual, 1e-9) - 1, world.users)[users] / usual if world.users else 1.0
        if world.correlation:
            spread = 1 / world.correlation - 1
            own = random.beta(usual * spread, (1 - usual) * spread, n)[sessions] / usual
        drawn: Floats = (random.random(n) < np.clip(base * own * factor, 0, 1)).astype(float)
        return drawn

    def positive(name: str) -> Floats:
        drawn = random.pareto(world.tail, n) if world.tail else np.exp(random.normal(size=n))
        return np.asarray(drawn * np.where(later, change.get(name, 1.0), 1.0))

    empty = rate("empty", world.empty)
    lost = later & (random.random(n) < change.get("lost", 0.0))
    moved = random.random(n) < np.where(later, change.get("documents", world.unstable), world.unstable)
    subjects = random.zipf(1.5, n) % _SUBJECTS
    subjects = np.where(later & (random.random(n) < change.get("subject", 0.0)), _SUBJECTS, subjects)
    subjects = np.where(later & (random.random(n) < change.get("off_topic", 0.0)), _SUBJECTS + 1, subjects)
    # A text has results always or never, unless it lost them.
    texts = [
        f"{'none' if none else 'some'} {subject} {number}"
        for none, subject, number in zip(empty, subjects, random.integers(0, 50, n), strict=True)
    ]
    faithful = 1 - rate("unfaithful", 1 - world.faithful) if "faithful" not in change else 1 - _changed(random, world, change, later)
    questions = pd.DataFrame(
        {
            "id": [f"{number}" for number in range(n)],
            "time": times,
            "query": texts,
            "user": [f"u{user}" for user in users],
            "session": [f"s{session}" if world.turns > 1 else None for session in sessions],
            "empty": np.where(lost, 1.0, empty),
            "documents": pd.Series(
                [("other",) if away else (f"about {subject}",) for away, subject in zip(moved, subjects, strict=True)], dtype=object
            ),
            "similarity": np.where(empty == 1, np.nan, random.normal(0.6, 0.1, n) + later * change.get("similarity", 0.0)),
            "seconds": positive("seconds"),
            "cost": positive("cost"),
            "refused": rate("refused", world.refused),
            "negative": np.where(random.random(n) < _FEEDBACK, rate("negative", world.negative), np.nan),
            "setup": pd.Series([("a", "m", "{}")] * n, dtype=object),
            "logged": np.ones(n),
        }
    )
    chosen = np.flatnonzero(random.random(n) < _JUDGED)
    judged = pd.DataFrame(
        {
            "id": questions["id"].iloc[chosen],
            "metric": "faithfulness",
            "score": faithful[chosen],
            "uniform": True,
            "time": pd.to_datetime(times[chosen], utc=True),
        }
    )
    return questions, judged


def _changed(random: np.random.Generator, world: AlertWorld, change: Mapping[str, float], later: Any) -> Floats:
    return np.asarray(random.random(len(later)) < 1 - np.where(later, change["faithful"], world.faithful)).astype(float)


def _times(world: AlertWorld, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the sorted times of questions and the number of the conversation of each."""
    count = random.poisson(world.conversations * DAYS)
    starts = random.random(count) * DAYS
    if world.daily:
        starts = np.floor(starts) + random.beta(3, 3, count)
    if world.weekly:
        starts = starts[(starts.astype(int) % 7 < 5) | (random.random(count) < 0.3)]
    if world.bursts:
        middles = random.random(60) * DAYS
        starts = middles[random.integers(0, len(middles), count)] + random.random(count) / 144
    turns = random.geometric(1 / world.turns, len(starts))
    sessions = np.repeat(np.arange(len(starts)), turns)
    # A question of a conversation comes two minutes after the one before.
    within = np.arange(len(sessions)) - np.repeat(np.cumsum(turns) - turns, turns)
    times = START + ((starts[sessions] + within / 720) * DAY).astype(np.int64)
    order = np.argsort(times, kind="stable")
    kept = order[times[order] < START + DAYS * DAY]
    # Conversations after the end are left out, so the others get new numbers.
    return times[kept], pd.factorize(sessions[kept])[0].astype(np.int64)


@cache
def _directions() -> Vectors:
    """Unit vectors of subjects. Those of the corpus share a part; the last is off-topic."""
    random = np.random.default_rng(0)
    found = random.normal(size=(_SUBJECTS + 2, _SIZE))
    found[: _SUBJECTS + 1, 0] += 6
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


@cache
def _noise() -> Vectors:
    return np.asarray(np.random.default_rng(1).normal(size=(50, _SIZE)) / _SIZE**0.5 / 2, dtype=np.float32)


def encode(texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts `KIND SUBJECT NUMBER`: near the vector of their subject."""
    parts = np.array([text.split()[1:] for text in texts], dtype=np.int64)
    return np.asarray(_directions()[parts[:, 0]] + _noise()[parts[:, 1]])


def false_alarms(world: AlertWorld, seeds: Sequence[int]) -> dict[str, int]:
    """Count the months in which each alert was raised, and under `any` those with at least one."""
    counts: dict[str, int] = {"any": 0}
    for seed in seeds:
        names = {one.alert for one in simulated(world, seed).raised}
        for name in [*names, *(["any"] if names else [])]:
            counts[name] = counts.get(name, 0) + 1
    return counts


def delays(world: AlertWorld, alert: str, change: Mapping[str, float], seeds: Sequence[int]) -> Floats:
    """Return the days until an alert was raised after the change (seeds), infinite if it was not."""
    found = []
    for seed in seeds:
        raised = simulated(world, seed, change, alert in DRIFTS).raised
        times = [one.raised for one in raised if one.alert == alert and one.raised >= START + CHANGE * DAY]
        found.append((min(times) - START) / DAY - CHANGE if times else np.inf)
    return np.array(found)


def main(months: int, processes: int) -> None:
    """Print both tables."""
    with ProcessPoolExecutor(processes) as pool:
        print("| four weeks without a change | months with an alert | by alert |\n| --- | --- | --- |")
        for world in WORLDS:
            # Vectors take most of the time, so the more questions the fewer months.
            number = months * USUAL.conversations // world.conversations
            parts = [range(start, min(start + 25, number)) for start in range(0, number, 25)]
            counts: dict[str, int] = {}
            for part in pool.map(false_alarms, [world] * len(parts), parts):
                counts = {name: counts.get(name, 0) + part.get(name, 0) for name in {**counts, **part}}
            each = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if name != "any")
            print(f"| {world.name} | {counts['any']} of {number} | {each} |", flush=True)
        cases = [(world, alert, change) for alert, changes in CHANGES.items() for change in changes for world in (USUAL, BUSY)]
        # Windows of a week, and many permutations once they differ.
        numbers = [
            range(max(10, months * USUAL.conversations // world.conversations // (50 if alert in DRIFTS else 5)))
            for world, alert, _ in cases
        ]
        print(
            "\n| alert | change | conversations a day | raised | days, median | days, 90 % | with a value, median |" + "\n|" + " --- |" * 7
        )
        for (world, alert, change), days in zip(cases, pool.map(delays, *zip(*cases, strict=True), numbers), strict=True):
            text = ", ".join(f"{name} {value:g}" for name, value in change.items())
            median, most = np.quantile(days, [0.5, 0.9], method="higher")
            observations = f"{median * world.conversations * SEEN.get(alert, 1.0):.0f}"
            raised = f"{np.isfinite(days).sum()} of {len(days)}"
            print(f"| {alert} | {text} | {world.conversations} | {raised} | {median:.1f} | {most:.1f} | {observations} |", flush=True)


if __name__ == "__main__":
    months, processes = (*map(int, sys.argv[1:3]), *(500, 2)[len(sys.argv[1:3]) :])
    main(months, processes)
