"""The figures of the simulations as Markdown, beside their targets, and as values that the soak tests assert."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from benchmarks.verdict.catalogue import worlds
from benchmarks.verdict.claims import Claims, simulate
from benchmarks.verdict.power import SETTINGS, Detected, check
from benchmarks.verdict.targets import TARGETS, Target
from benchmarks.verdict.worlds import RareLosses

Case = TypeVar("Case")
Outcome = TypeVar("Outcome")

_POWERS = {
    "size": "set",
    "oracle_size": "oracle",
    "won": "winner found",
    "oracle_won": "oracle",
    "found": "pair found",
    "oracle_found": "oracle",
    "naive": "bias of first",
    "corrected": "corrected",
}
# Of intervals that no selection widens.
COVERAGE, SHARED = Target("coverage", 0.94, least=True), TARGETS["plain"]


def claims(runs: int) -> dict[str, Claims]:
    """The claims by world, simulated by one process for each processor."""
    return in_processes(partial(simulate, runs=runs), worlds())


def powers(runs: int) -> dict[str, Detected]:
    """The differences that the verdict calls detectable, by setting."""
    return in_processes(partial(check, runs=runs), SETTINGS)


def claims_table(found: Mapping[str, Claims]) -> str:
    """The rates of errors below their targets."""
    targets = ["target", "", "", "", *map(str, TARGETS.values())]
    rows = [
        [name, *map(str, (each.arms, each.questions, each.documents)), *(f"{each.rates[rate]:.3f}" for rate in TARGETS)]
        for name, each in found.items()
    ]
    return markdown(["world", "arms", "questions", "clusters", *(target.heading for target in TARGETS.values())], [targets, *rows])


def power_table(found: Mapping[str, Claims]) -> str:
    """The powers, with `-` where they cannot occur."""
    rows = [
        [
            name,
            *(
                "-" if math.isnan(value) else f"{value:+.3f}" if "bias" in heading or heading == "corrected" else f"{value:.2f}"
                for value, heading in zip((each.powers[power] for power in _POWERS), _POWERS.values(), strict=True)
            ),
        ]
        for name, each in found.items()
    ]
    return markdown(["world", *_POWERS.values()], rows)


def misses(found: Mapping[str, Claims]) -> list[str]:
    """The rates that miss their targets. Rare losses have no target for plain intervals, because a small sample may contain none of them."""
    exempt = {name for name, world in worlds().items() if isinstance(world, RareLosses)}
    return [
        f"{name}: {target.heading} {each.rates[rate]:.3f}"
        for name, each in found.items()
        for rate, target in TARGETS.items()
        if target.missed(each.rates[rate], each.runs) and not (rate == "plain" and name in exempt)
    ]


def coverage_table(found: Mapping[tuple[str, int, str], Sequence[float]]) -> str:
    """The least and the mean coverage by sizes, number of documents and kind of values."""
    rows = [[sizes, str(documents), kind, *_least_and_mean(values)] for (sizes, documents, kind), values in found.items()]
    return markdown(["sizes", "documents", "values", "least", "mean"], [["target", "", "", str(COVERAGE), str(COVERAGE)], *rows])


def sharing_table(found: Mapping[str, Sequence[float]]) -> str:
    """The least and the mean coverage of questions that share documents."""
    rows = [[name, *_least_and_mean(values)] for name, values in found.items()]
    return markdown(["questions", "least", "mean"], [["target", str(SHARED), str(SHARED)], *rows])


def detected_table(found: Mapping[str, Detected]) -> str:
    """The differences that are called detectable, and how often they are detected."""
    headings = ["world", "questions", "detectable difference", "detected", "questions needed for .05", "detected with these"]
    rows = [
        [name, str(each.questions), f"{each.difference:.3f}", f"{each.detected:.3f}", str(each.needed), f"{each.detected_with_needed:.3f}"]
        for name, each in found.items()
    ]
    return markdown(headings, [["target", "", "", "0.80", "", "0.80"], *rows])


def _least_and_mean(values: Sequence[float]) -> tuple[str, str]:
    return f"{min(values):.3f}", f"{sum(values) / len(values):.3f}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def in_processes(function: Callable[[Case], Outcome], cases: Mapping[str, Case]) -> dict[str, Outcome]:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return dict(zip(cases, pool.map(function, cases.values()), strict=True))
