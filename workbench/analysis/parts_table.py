"""The effects of parts as a table, a row for each effect and metric."""

from dataclasses import asdict
from typing import Any

import pandas as pd

from workbench.analysis.parts import LATENCIES, PartEffect, parts
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval

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


def parts_table(run: RunTables) -> pd.DataFrame:
    """Tabulate the effects. The columns of tests are missing in rows of other metrics than the primary one."""
    rows = [row for part in parts(run) for row in _rows(part, str(run.primary))]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)


def _rows(part: PartEffect, primary: str) -> list[dict[str, Any]]:
    named = {"stage": part.stage, "alternative": part.alternative, "reference": part.reference}
    counted = {"pairs": len(part.pairs), "possible": part.possible}
    effects = {primary: part.effect.comparison.difference, **part.others}
    rows = [{**named, "metric": metric, **_bounds(effect), **counted} for metric, effect in effects.items()]
    rows[0] |= _tests(part) | {"verdict": part.verdict}
    return rows


def _bounds(effect: Interval) -> dict[str, Any]:
    values = asdict(effect)
    return {"difference": values.pop("value"), **values}


def _tests(part: PartEffect) -> dict[str, float]:
    effect, row = part.effect, part.effect.comparison
    tests = {name: float(getattr(row, name)) for name in ("low_adjusted", "high_adjusted", "p", "p_adjusted")}
    tests |= {"detectable": effect.detectable, "p_differs": effect.p_differs}
    tests |= {"lowest": part.lowest.difference.value, "highest": part.highest.difference.value}
    for percentile, time in part.latency.items():
        tests |= {f"added_{percentile}": time.value}
        tests |= {f"added_{percentile}_low": time.span.low, f"added_{percentile}_high": time.span.high} if time.span.repeated else {}
    return tests
