"""Logs written by hand: rows as the fields of a log have them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from tests.monitor.log_lines import arrow_table
from workbench.monitor.alerts.settings import AlertSettings
from workbench.monitor.alerts.signals import signals
from workbench.monitor.settings import MonitorSettings

START = datetime(2026, 11, 2, tzinfo=UTC)
HITS = [{"doc_id": "a", "text": "text", "score": 0.8}]


def alert_settings(values: Mapping[str, Any]) -> AlertSettings:
    return MonitorSettings.of({"alerts": values}).alerts


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def row(number: int, minutes: float, **values: Any) -> dict[str, Any]:
    return {"id": f"q{number}", "time": at(minutes), "query": f"question {number}", "hits": HITS, **values}


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return signals(arrow_table(rows))


def rates(bad: list[float], per_day: int = 100, seed: int = 0, **values: Any) -> list[dict[str, Any]]:
    """Rows of which a share was refused: one share a day."""
    random = np.random.default_rng(seed)
    shares = np.repeat(bad, per_day)
    return [
        row(number, number * 1440 / per_day, refused=bool(random.random() < share), **values)
        for number, share in enumerate(shares.tolist())
    ]
