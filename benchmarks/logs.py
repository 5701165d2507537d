"""Logged questions, read once, summarised and checked by all alerts but drift: seconds and memory of JSON Lines, of compaction and of parquet, against
pandas.read_json in chunks.

`python -m benchmarks logs` writes a million questions of about 3 kB by rule, 3 GB in the temporary folder, and deletes them. Each case is a process
of its own. pandas reads a tenth of them into chunks of 10,000 rows and adds up two columns: its figures are for a question.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import psutil

from benchmarks.claims import at_most
from workbench.monitor.alerts.detect import detect
from workbench.monitor.alerts.settings import AlertSettings
from workbench.monitor.log.log_files import compact
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.passes import read_log

QUESTIONS = 1_000_000
HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"
_SEGMENT = 25_000
_MOST_SECONDS, _MOST_MB = 60.0, 2_000.0
_PREFIXES = ("", "hello, ", "quick question: ", "can you tell me ", "i wonder ")


def rows(questions: int) -> Iterator[dict[str, Any]]:
    """Questions of the handbook with a prefix, ten passages each, over four weeks, and feedback to one in twenty."""
    own = random.Random(0)
    asked = [json.loads(line)["query"] for line in (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()]
    texts = {path.stem: path.read_text("utf-8") for path in sorted((HANDBOOK / "documents").rglob("*.md"))}
    passages = [(name, start, text[start : start + 180]) for name, text in texts.items() for start in range(0, len(text) - 180, 180)]
    begin = datetime(2026, 10, 1, tzinfo=UTC)
    for number in range(questions):
        hits = [
            {"doc_id": name, "text": text, "score": round(1 - own.random() / (rank + 2), 4), "start": start, "end": start + 180}
            for rank, (name, start, text) in enumerate(own.sample(passages, 10))
        ]
        asking = (begin + timedelta(weeks=4) * number / questions).isoformat(timespec="microseconds").replace("+00:00", "Z")
        yield {
            "id": f"{number:032x}",
            "time": asking,
            "query": own.choice(_PREFIXES) + own.choice(asked),
            "hits": hits if own.random() > 0.01 else [],
            "answer": own.choice(passages)[2],
            "refused": own.random() < 0.03,
            "model": "small",
            "input_tokens": own.randrange(500, 3000),
            "output_tokens": own.randrange(20, 300),
            "cost": own.random() / 1000,
            "embedding_seconds": own.expovariate(100),
            "retrieval_seconds": own.expovariate(50),
            "generation_seconds": own.expovariate(1),
            "seconds": own.expovariate(0.9),
            "configuration": own.choice(("a", "b")),
            "versions": {"index": "3", "prompt": own.choice(("v1", "v2"))},
            "session": f"s{number // 3}",
            "turn": number % 3 + 1,
        }
        if own.random() < 0.05:
            yield {"id": f"{number:032x}", "feedback": [{"kind": "thumb", "value": own.choice((1, -1))}]}


def write(folder: Path, questions: int) -> float:
    """Write segments, and return their gigabytes."""
    size, part = 0, list[bytes]()
    segments = 0
    for row in rows(questions):
        part.append(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        if len(part) == _SEGMENT:
            size += (folder / f"20261001T000000Z-1-{segments:06}.jsonl").write_bytes(b"".join(part))
            part, segments = [], segments + 1
    size += (folder / f"20261001T000000Z-1-{segments:06}.jsonl").write_bytes(b"".join(part))
    return size / 1e9


def run(questions: int = QUESTIONS) -> dict[str, Any]:
    """Measure each case, and claim a minute and 2 GB of all its processes for reading, summary and alerts."""
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, Any] = {"questions": questions, "gigabytes": write(Path(folder), questions)}
        for case in ("pandas", "jsonl", "compaction", "parquet"):
            figures[case] = _apart(case, folder)
            print(case, figures[case], flush=True)
        figures["parquet"]["gigabytes"] = sum(path.stat().st_size for path in Path(folder).glob("*.parquet")) / 1e9
    theirs = figures["pandas"]
    figures["ratios"] = {
        f"{case}: {what} of pandas / ours": theirs[key] / figures[case][key]
        for case in ("jsonl", "parquet")
        for what, key in (("microseconds a question", "microseconds"), ("peak memory", "megabytes"))
    }
    limits = (("seconds", _MOST_SECONDS), ("megabytes", _MOST_MB))
    figures["claims"] = [at_most(f"{case}: {key}", figures[case][key], most) for case in ("jsonl", "parquet") for key, most in limits]
    return figures


def _apart(case: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.logs", case, folder]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                own = psutil.Process(process.pid)
                peak = max(peak, sum(each.memory_info().rss for each in (own, *own.children(recursive=True))))
            time.sleep(0.1)
        assert process.stdout is not None
        figures = dict(json.loads(process.stdout.read().splitlines()[-1]))
    # Memory that processes share counts in each.
    return figures | {"megabytes": max(figures["megabytes"], peak / 1e6)}


def _case(case: str, folder: Path) -> int:
    """Run a case, and return the number of questions."""
    if case == "compaction":
        return compact(folder, idle_seconds=0).rows
    if case == "pandas":
        number, total = 0, 0.0
        for path in sorted(folder.glob("*.jsonl"))[: max(1, len(list(folder.glob("*.jsonl"))) // 10)]:
            for chunk in pd.read_json(path, lines=True, chunksize=10_000):
                number, total = number + int(chunk["query"].notna().sum()), total + float(chunk["seconds"].sum())
        return number
    table, questions, _ = read_log(LoggedQuestions(folder))
    detect(questions, AlertSettings())
    return int(table.loc[(table["by"] == "all") & (table["measure"] == "questions"), "n"].item())


if __name__ == "__main__":
    started = time.perf_counter()
    counted = _case(sys.argv[1], Path(sys.argv[2]))
    seconds = time.perf_counter() - started
    # ru_maxrss would begin with the memory of the parent.
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e3
    times = {"seconds": round(seconds, 1), "cpu_seconds": round(sum(os.times()[:4]), 1), "microseconds": 1e6 * seconds / counted}
    print(json.dumps({"questions": counted, **times, "megabytes": peak}))
