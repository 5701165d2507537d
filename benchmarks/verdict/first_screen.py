"""The rates of false claims on the first screen of a report: python -m benchmarks.verdict.first_screen [verdicts] [screens]."""

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.verdict.catalogue import QUIET, even, zipf
from benchmarks.verdict.claims import FLIPS
from benchmarks.verdict.tables import in_processes, markdown
from benchmarks.verdict.worlds import Floats, Recalls, World
from workbench.core.schemas import SCHEMAS
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.verdict import Verdict, verdict
from workbench.report.analysis.decision import RunDecision, decide
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables

METRIC = "span_recall@2000t"
# Chunkings and retrievers: configurations that differ only in the retriever are neighbours.
GRID = (3, 2)
# The sentences with a claim: those that a verdict decides, and those of whole screens.
CLAIMS = (
    "*finds more than each of the others*: a winner",
    "*finds more than the baseline*, *better than the baseline*",
    "*behind #2, p = 0.027* in a row",
    "*5 of 12 may be best*: a best one is not among them",
    "*is equivalent to*, *equivalent*",
    "any of these",
)
SCREENS = ("*Split at headings*: a part leads", "any claim of sentence and answers")
_NO_DIFFERENCE = "no difference"
_FILLED = {"str": "", "int64": 0, "float64": 0.0, "bool": False, "Int64": 0, "boolean": False}
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ScreenWorld:
    """A world of a grid of configurations, with the experiment's baseline and the smallest difference that matters."""

    world: World
    baseline: int | None = None
    smallest: float = 0.02


def names() -> list[str]:
    """The names of the configurations."""
    return [f"chunking{a}-retrieval{b}" for a, b in itertools.product(*map(range, GRID))]


def grid_means(chunking: float = 0, retrieval: float = 0) -> tuple[float, ...]:
    """The true means: gains of the second chunking over the others, and of the second retriever."""
    return tuple(0.6 + chunking * (a == 1) + retrieval * b for a, b in itertools.product(*map(range, GRID)))


def run_of(values: Floats, world: ScreenWorld) -> RunTables:
    """Make the tables of a run that the decision reads, without files."""
    clusters, queries = world.world.clusters, [f"q{place}" for place in range(values.shape[1])]
    documents = _documents(clusters, len(queries))
    settings = {
        name: {"chunking": {"kind": f"chunker-{a}"}, "retrieval": {"kind": f"retriever-{b}"}}
        for name, (a, b) in zip(names(), itertools.product(*map(range, GRID)), strict=True)
    }
    mean = {"metric": METRIC, "condition": "retrieved", "slice": "all", "n": len(queries), "clusters": clusters.count, "attainable": 1.0}
    cell = {"condition": "retrieved", "metric": METRIC, "state": "scored"}
    rows: dict[str, list[dict[str, Any]]] = {
        "metrics": [mean | {"configuration": name, "value": float(row.mean())} for name, row in zip(names(), values, strict=True)],
        "queries": [
            cell | {"configuration": name, "query_id": query, "value": value}
            for name, row in zip(names(), values, strict=True)
            for query, value in zip(queries, row.tolist(), strict=True)
        ],
        "configurations": [{"configuration": name, "embedding": None, "error": None} for name in names()],
        "questions": [
            {"query_id": query, "cluster": int(code), "documents": json.dumps(own), "metadata": "{}"}
            for query, code, own in zip(queries, clusters.codes, documents, strict=True)
        ],
    }
    manifest = {
        "experiment": {"name": "simulated", "metrics": [METRIC]},
        "primary": METRIC,
        "baseline": None if world.baseline is None else names()[world.baseline],
        "average": "questions",
        "smallest_difference": world.smallest,
        "metrics": {METRIC: Metric.parse(METRIC).record},
        "failures": {},
        "configurations": settings,
        "dataset": {"name": "simulated", "documents": clusters.count, "queries": len(queries), "unanswerable": 0, "needs": 1},
    }
    tables = {name: _table(name, given) for name, given in rows.items()}
    return RunTables(manifest, {name: partial(_given, table) for name, table in tables.items()})


def _given(table: pd.DataFrame, _: RunTables) -> pd.DataFrame:
    return table


def _documents(clusters: Clusters, queries: int) -> list[list[str]]:
    own: list[list[str]] = [[] for _ in range(queries)]
    for place, code in zip(clusters.query.tolist(), clusters.document.tolist(), strict=True):
        own[place].append(f"d{code}")
    return own


def _table(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    schema = SCHEMAS[name]
    return pd.DataFrame([{column: _FILLED[kind] for column, kind in schema.dtypes.items()} | row for row in rows], columns=schema.names)


def false_claims(decision: RunDecision, truth: dict[str, float], smallest: float) -> dict[str, bool]:
    """The claims of the sentence and the four answers that are false in the true means."""
    verdict, part, margin = decision.findings.verdict, decision.part, decision.margin
    assert verdict
    best = max(truth.values())
    winner = verdict.winner
    gap = 0.0 if part is None else float(np.mean([truth[pair.configuration] - truth[pair.reference] for pair in part.pairs]))
    equivalent = [truth[name] for name in verdict.equivalent]
    return {
        "winner": winner is not None and (truth[winner] < best - _ROUNDING or list(truth.values()).count(best) > 1),
        "part": part is not None and gap <= _ROUNDING,
        "better than the other": decision.shown_better and margin is not None and truth[margin.a] <= truth[margin.b] + _ROUNDING,
        "equivalent": bool(equivalent) and max(equivalent) - min(equivalent) >= smallest - _ROUNDING,
    }


def screens() -> dict[str, ScreenWorld]:
    """Worlds without a difference, with parts, and with a baseline."""
    equal = grid_means()
    return {
        "no difference": ScreenWorld(Recalls(equal)),
        "no difference, a baseline": ScreenWorld(Recalls(equal), 0),
        "no difference, Zipf sizes": ScreenWorld(Recalls(equal, zipf(40, 300))),
        "no difference, 12 documents, a baseline": ScreenWorld(Recalls(equal, even(12, 96)), 0),
        "a chunking better by .10": ScreenWorld(Recalls(grid_means(chunking=0.10))),
        "a chunking better by .10, a baseline": ScreenWorld(Recalls(grid_means(chunking=0.10)), 0),
        "a retriever better by .05": ScreenWorld(Recalls(grid_means(retrieval=0.05))),
        "both, a baseline": ScreenWorld(Recalls(grid_means(0.08, 0.04)), 0),
        "two best, better than a baseline by .05, quiet": ScreenWorld(QUIET((0.55, 0.55, 0.55, 0.55, 0.60, 0.60)), 0),
        "one best, better than a baseline by .05, quiet": ScreenWorld(QUIET((0.55, 0.55, 0.55, 0.55, 0.55, 0.60)), 0),
        "a retriever better by .10, of which .10 matters": ScreenWorld(Recalls(grid_means(retrieval=0.10)), smallest=0.10),
    }


def claim_rates(screen: ScreenWorld, runs: int, seed: int = 1) -> list[float]:
    """The shares of runs whose verdict makes each of the false CLAIMS. All sentences but that about a part say no more."""
    random, truth = np.random.default_rng(seed), dict(zip(names(), screen.world.means, strict=True))
    baseline = None if screen.baseline is None else names()[screen.baseline]
    rows = []
    with threadpool_limits(1):
        for run in range(runs):
            values = dict(zip(names(), screen.world.draw(random), strict=True))
            # Few flips, and others in each run: those of one seed would shift all rates.
            options: dict[str, Any] = {"smallest_difference": screen.smallest, "seed": run, "flips": FLIPS}
            judged = verdict(METRIC, values, screen.world.clusters, baseline=baseline, **options)
            claims = _claims_of(judged, truth, baseline)
            rows.append([*claims, any(claims)])
    return [float(np.mean(column)) for column in zip(*rows, strict=True)]


def _claims_of(judged: Verdict, truth: dict[str, float], baseline: str | None) -> list[bool]:
    best = max(truth.values()) - _ROUNDING
    bests = {name for name, value in truth.items() if value >= best}
    ahead = [(name, better[0]) for name in judged.ranked if name not in judged.best and (better := judged.ahead_of(name))]
    gains = [row if row.b == baseline else row.reversed() for row in judged.pairs if baseline in (row.a, row.b)]
    better_ones = [row.a for row in gains if row.p_adjusted <= ALPHA and row.difference.value > 0]
    alike = [truth[name] for name in judged.equivalent]
    return [
        judged.winner is not None and bests != {judged.winner},
        any(truth[name] <= truth[str(baseline)] + _ROUNDING for name in better_ones),
        any(truth[name] >= truth[other] - _ROUNDING for name, other in ahead),
        not bests <= set(judged.best),
        max(alike, default=0) - min(alike, default=0) >= judged.smallest_difference - _ROUNDING,
    ]


def rates(screen: ScreenWorld, runs: int, seed: int = 1) -> list[float]:
    """The shares of runs with each of the false claims in SCREENS, and whose recommendation is a best one."""
    random, truth = np.random.default_rng(seed), dict(zip(names(), screen.world.means, strict=True))
    rows = []
    with threadpool_limits(1):
        for _ in range(runs):
            decision = decide(findings(run_of(screen.world.draw(random), screen)))
            good = np.nan if decision.use is None else float(truth[decision.use.name] >= max(truth.values()) - _ROUNDING)
            claims = false_claims(decision, truth, screen.smallest)
            rows.append([float(claims["part"]), float(any(claims.values())), good])
    return [float(np.nanmean(column)) for column in zip(*rows, strict=True)]


def table(found: Mapping[str, Sequence[float]], claims: Sequence[str]) -> str:
    """The largest rate of each claim in worlds without a difference and in others, with the world, as Markdown."""
    rows = []
    for place, claim in enumerate(claims):
        cells = []
        for chosen in (True, False):
            rate, world = max((each[place], name) for name, each in found.items() if name.startswith(_NO_DIFFERENCE) is chosen)
            cells += [f"{rate:.3f}", world if rate else "-"]
        rows.append([claim, *cells])
    return markdown(("claim", "no difference", "world", "a difference", "world"), rows)


if __name__ == "__main__":
    of_verdicts, of_screens = (*map(int, sys.argv[1:]), *(4_000, 400)[len(sys.argv) - 1 :])
    print(table(in_processes(partial(claim_rates, runs=of_verdicts), screens()), CLAIMS))
    print(table(in_processes(partial(rates, runs=of_screens), screens()), SCREENS))
