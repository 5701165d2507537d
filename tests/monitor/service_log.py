"""The log of a service over three weeks and a half, whose new index loses results and supports answers worse from day 21 on."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from tests.monitor.production_traffic import recorded

START = datetime(2026, 10, 5, tzinfo=UTC)
A_DAY, DAYS, CHANGED = 60, 24.6, 21
WRONG = "The rule of the annex says that nine managers approve it on Tuesday."


def rows(seed: int = 0, days: float = DAYS, **fields: Any) -> Iterator[dict[str, Any]]:
    """Arguments of `QueryLog.record`: 60 questions a day in conversations of two."""
    # A question always has the same hits.
    random, base = np.random.default_rng(seed), list({row["query"]: row for row in recorded()}.values())
    for number in range(round(A_DAY * days)):
        day = number / A_DAY
        own, is_new = base[int(random.integers(len(base)))], day >= CHANGED
        hits = [{name: hit[name] for name in ("doc_id", "start", "end", "text", "score")} for hit in own["hits"]]
        seconds = float(random.lognormal(-1, 0.3))
        yield {
            "query": own["query"],
            "hits": [] if random.random() < (0.4 if is_new else 0.02) else hits,
            "answer": WRONG if is_new and random.random() < 0.6 else own["answer"],
            "id": f"q{number:05}",
            "time": (START + timedelta(days=day)).isoformat().replace("+00:00", "Z"),
            "session": f"s{number // 2}",
            "turn": 1 + number % 2,
            "configuration": "canary" if number % 7 == 0 else "live",
            "versions": {"index": "2" if is_new else "1", "prompt": "3"},
            "retrieval_seconds": 0.1 * seconds,
            "generation_seconds": 0.8 * seconds,
            "seconds": seconds,
            "feedback": [{"kind": "thumb", "value": float(random.choice([1, 1, 1, -1]))}] if random.random() < 0.2 else None,
        } | fields


def write_service_log(folder: Path, **fields: Any) -> Path:
    """Write the log with QueryLog, as a service does."""
    log = wb.QueryLog(folder)
    for row in rows(**fields):
        log.record(**row)
    log.close()
    assert not log.lost
    return folder
