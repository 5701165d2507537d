"""Runs whose primary metric has given values, for tests of gates."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.gate.baseline import Baseline, baseline_of
from workbench.gate.rules import Floor, GateSettings
from workbench.report.results.run_tables import RunTables

PRIMARY, DOCUMENTS, QUESTIONS = "span_recall@60t", 12, 120
_RNG = np.random.default_rng(7)
BASE = np.round(0.6 + 0.3 * _RNG.random(QUESTIONS), 3)
_NOISE = _RNG.normal(0, 0.02, QUESTIONS)
_MISSING, _MANY = (np.where(np.arange(QUESTIONS) < count, np.nan, BASE) for count in (2, 9))
# The baseline, then candidates: equal values, far worse, worse within 5 %, noise, a noise that hides a drop, unscored questions.
VALUES = {
    "base": BASE,
    "equal": BASE,
    "worse": BASE - 0.1 + _NOISE,
    "tolerated": BASE - 0.01 + _NOISE / 4,
    "noisy": np.clip(BASE - 0.01 + 9 * (_NOISE - _NOISE.mean()), 0, 1),
    "missing": _MISSING,
    "many": _MANY,
}


@pytest.fixture(scope="session")
def gated_run(made: Made) -> RunTables:
    return made.valued([list(row) for row in VALUES.values()], name="gated")


@pytest.fixture(scope="session")
def names(gated_run: RunTables) -> dict[str, str]:
    """The configuration of each candidate."""
    return dict(zip(VALUES, gated_run.names, strict=True))


@pytest.fixture(scope="session")
def base(gated_run: RunTables, names: dict[str, str]) -> Baseline:
    return baseline_of([gated_run], names["base"], Path("base.json"))


def floors(*rules: str, **changes: object) -> GateSettings:
    return GateSettings(floors=tuple(map(Floor.parse, rules)), **changes)


def as_random(run: RunTables) -> RunTables:
    """Return a run as if its embedder were behind a server, whose numbers can differ from call to call."""
    settings = {name: {**own, "embedding": {"kind": "openai", "model": "served"}} for name, own in run.configurations_settings.items()}
    return replace(run, manifest=dict(run.manifest) | {"configurations": settings})


def repeated(run: RunTables) -> RunTables:
    """Return a run of the same values that took other times, as one that was swept again."""
    return replace(run, sources={**run.sources, "timings": lambda _: run.timings.assign(value=run.timings["value"] + 1)})
