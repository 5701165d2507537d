"""The time that a service spends on logging a question, against logging.QueueHandler and a write of json.dumps in the caller.

`python -m benchmarks query_log`. A question has 10 hits with a text of 3 kB in all. The ways take turns, in rounds of 1,000 questions, flat out and
at 1,000 questions a second.
"""

import json
import logging
import logging.handlers
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_most
from workbench.core.records import Document, Hit
from workbench.monitor.log.query_log import QueryLog

ROUND, ROUNDS = 1_000, 10
_TEXT = "The company pays for the taxi if no train runs. " * 6
_DOCUMENTS = [Document(f"travel/expenses-{number}", _TEXT * 3) for number in range(10)]
_HITS = [Hit(document, 10, 290, rank, 1 / rank) for rank, document in enumerate(_DOCUMENTS, 1)]
_ROWS = [{"doc_id": hit.doc_id, "text": hit.text, "score": hit.score, "start": hit.start, "end": hit.end} for hit in _HITS]
_FIELDS: dict[str, Any] = {
    "answer": "The company pays if no train runs [1].",
    "user": "ann",
    "session": "s1",
    "turn": 1,
    "model": "m",
    "input_tokens": 900,
    "output_tokens": 20,
    "retrieval_seconds": 0.02,
    "generation_seconds": 0.8,
    "seconds": 0.9,
}
_VERSIONS = {"index": "7", "prompt": "3"}
Way = Callable[[int], object]


def run() -> dict[str, Any]:
    """Return the microseconds of each way, their ratios, and the claims that a question costs less than 50 µs and a QueueHandler more."""
    with tempfile.TemporaryDirectory() as folder:
        log = QueryLog(Path(folder, "log"), salt="secret", versions=_VERSIONS)
        handler, listener = _queue_handler(Path(folder, "handler.jsonl"))
        with open(Path(folder, "written.jsonl"), "w", encoding="utf-8", buffering=1) as file:
            ways: dict[str, Way] = {
                "QueryLog.record of wb.Hit": lambda number: log.record(f"who pays {number}?", _HITS, **_FIELDS),
                "QueryLog.record of rows": lambda number: log.record(f"who pays {number}?", _ROWS, **_FIELDS),
                "logging.QueueHandler": lambda number: handler.info(json.dumps(_row(number))),
                "json.dumps and write": lambda number: file.write(json.dumps(_row(number)) + "\n"),
            }
            figures = {pace: _measured(ways, wait) for pace, wait in (("flat out", 0.0), ("1,000 a second", 0.001))}
        log.close()
        listener.stop()
        lost = dict(log.lost)
    fast, paced = figures.values()
    ours, usual = list(ways)[:2], list(ways)[2:]
    ratios = {name: round(paced[ours[0]]["p50"] / paced[name]["p50"], 2) for name in usual}
    return {
        "microseconds": figures,
        "lost records": sum(lost.values()),
        "ratios of the medians at 1,000 a second": ratios,
        # At 1,000 a second the times are those of waking up too, on a busy machine most of all: the claim is the ratio.
        "claims": [
            *(at_most(f"microseconds of {name}, median, flat out", fast[name]["p50"], 50) for name in ours),
            at_most("QueryLog.record / logging.QueueHandler, medians at 1,000 a second", ratios["logging.QueueHandler"], 1),
        ],
    }


def _row(number: int) -> dict[str, Any]:
    return {"id": str(number), "time": time.time(), "query": f"who pays {number}?", "hits": _ROWS, "versions": _VERSIONS, **_FIELDS}


def _queue_handler(path: Path) -> tuple[logging.Logger, logging.handlers.QueueListener]:
    waiting: queue.Queue[logging.LogRecord] = queue.Queue()
    logger = logging.Logger("questions")
    logger.addHandler(logging.handlers.QueueHandler(waiting))
    listener = logging.handlers.QueueListener(waiting, logging.FileHandler(path, encoding="utf-8"))
    listener.start()
    return logger, listener


def _measured(ways: dict[str, Way], wait: float) -> dict[str, dict[str, float]]:
    taken: dict[str, list[int]] = {name: [] for name in ways}
    pause = threading.Event()
    for _ in range(ROUNDS):
        for name, way in ways.items():
            for number in range(ROUND):
                started = time.perf_counter_ns()
                way(number)
                taken[name].append(time.perf_counter_ns() - started)
                if wait:
                    pause.wait(wait)
    return {name: _percentiles(times) for name, times in taken.items()}


def _percentiles(times: list[int]) -> dict[str, float]:
    return {f"p{part:g}": round(float(np.percentile(times, part)) / 1000, 1) for part in (50, 95, 99, 99.9)}
