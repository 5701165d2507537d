"""Read what a log wrote: its lines in the order of its segments."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of questions."""
    return [line for line in lines(folder) if "query" in line]


def losses(folder: Path) -> dict[str, int]:
    """The sums of the lines that count lost records, by reason without the cause."""
    found: dict[str, int] = {}
    for line in lines(folder):
        for reason, count in line.get("lost", {}).items():
            name = reason.partition(": ")[0]
            found[name] = found.get(name, 0) + count
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")
