"""Run benchmarks by name, or all. Each prints ratios against the usual alternative and stores them in benchmarks/results/.

`python -m benchmarks sweep --documents all`. A benchmark is a module in this folder with `run() -> dict` and a line in `BENCHMARKS`. The large
datasets that it reads are listed in `NEEDS`, and environment variables that name its files in `NEEDS_FILES`; it is skipped without them.
Requirements are listed under `claims` in its result. Exits with 1 if a benchmark failed or a claim does not hold; the other benchmarks still run.
"""

import argparse
import importlib
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.claims import failed
from benchmarks.record import commit, load, machine, versions
from benchmarks.shown import lines
from workbench.core.environment import data_folder

RESULTS = Path(__file__).with_name("results")
BENCHMARKS = {
    "encoding": "texts to vectors, against SentenceTransformer.encode",
    "sweep": "eight chunkings of covid-qa, against LangChain, SentenceTransformer.encode and Chroma in a loop",
    "notebooks": "ten notebooks, against plain papermill",
    "late": "seven chunkings with late pooling, against standard pooling",
    "metrics": "ten metrics of 10,000 questions, against pytrec_eval",
    "parts": "where a sweep's time goes outside encoding",
    "search": "exact search, against Chroma's index",
    "panels": "boundaries that follow a slider, and what-if on stored hits",
    "reranking": "late interaction and a cross-encoder, against encoding each pair and CrossEncoder.predict in loops",
    "memory": "memory of a million chunks",
    "scaling": "workers, and the cost of each stage as a corpus grows",
    "hostile": "files made to be slow, read and split",
    "screening": "how often screening keeps the true best",
    "calls": "2,000 calls of a chat model at once, against the ideal time",
    "exploring": "the explorer on 24 configurations and 1,000 questions",
    "query_log": "what logging a question costs a service, against logging.QueueHandler and a write in the caller",
    "logs": "a million logged questions, read, summarised and compacted, against pandas.read_json",
    "monitored_service": "a service that is degraded three times under load: alerts, their delays, and what a kill loses",
    "injections": "how often a text talks a local judge into a yes, with marks around texts and without",
    "checks": "what checking stored results adds to a warm re-run",
}
_FINE = ("done", "left out")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks. Return 0, or 1 if one failed or a claim does not hold."""
    options = _options(arguments)
    ended = {name: _ended(name, options) for name in options.names or BENCHMARKS}
    print("\n" + ", ".join(f"{name}: {outcome}" for name, outcome in ended.items()))
    print(f"{len(ended)} benchmarks, {sum(outcome == 'left out' for outcome in ended.values())} left out")
    return int(any(outcome not in _FINE for outcome in ended.values()))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    listed = "; ".join(f"{name}: {description}" for name, description in BENCHMARKS.items())
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure Workbench against the usual alternatives.", epilog=listed)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the benchmarks to run; default all")
    parser.add_argument(
        "--documents",
        type=_documents,
        help="the number of documents of the benchmark sweep, or of questions of reranking, or all; others ignore it",
    )
    parser.add_argument(
        "--loops", nargs="+", choices=("plain", "sorted", "tuned"), help="the loops that the sweep is compared with; default all"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the figures; default benchmarks/results")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    return options


def _documents(text: str) -> int:
    if text == "all":
        return sys.maxsize
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of documents, such as 12, or all")
    return int(text)


def _ended(name: str, options: argparse.Namespace) -> str:
    """Run one benchmark, store and print its figures, and return its outcome."""
    print(f"\n{name}: {BENCHMARKS[name]}", flush=True)
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        absent = [needed for needed in getattr(module, "NEEDS", ()) if not (data_folder() / needed).is_dir()]
        if absent:
            print(f"left out: {', '.join(absent)} is not in {data_folder()}; set WORKBENCH_DATA")
            return "left out"
        unnamed = [name for name in getattr(module, "NEEDS_FILES", ()) if not Path(os.environ.get(name, "")).is_file()]
        if unnamed:
            print(f"left out: {', '.join(unnamed)} names no file")
            return "left out"
        figures = _measured(module, options)
    except Exception:  # a failure of one benchmark must not stop the others
        traceback.print_exc()
        return "FAILED"
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    print("\n".join(lines({key: value for key, value in figures.items() if key != "versions"})), flush=True)
    return f"{len(failed(figures))} claims do not hold" if failed(figures) else "done"


def _measured(module: ModuleType, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run a benchmark and return its figures, after the machine, versions, commit and time of the measurement."""
    takes = inspect.signature(module.run).parameters
    options = {name: value for name in ("documents", "loops") if (value := getattr(arguments, name)) and name in takes}
    before, date, started = load(), datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    figures = module.run(**options)
    seconds = round(time.perf_counter() - started, 1)
    conditions = machine() | {"load_before": before, "load_after": load()}
    return {"machine": conditions, "versions": versions(), "commit": commit(), "date": date, "seconds_taken": seconds, **figures}


if __name__ == "__main__":
    sys.exit(main())
