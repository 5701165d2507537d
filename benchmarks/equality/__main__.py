"""Run four experiments with the code of a checkout, and compare their tables with those of another checkout, cell by cell.

    python -m benchmarks.equality run ../before /tmp/before     # a checkout with its .venv, and a folder to make
    python -m benchmarks.equality run . /tmp/after
    python -m benchmarks.equality compare /tmp/before /tmp/after

The experiments are the quickstart, experiments/retrieval.yaml, recorded answers that chat models judge, and four kinds of targets. Both sides
read the experiment files of this checkout. The judges and the HTTP service are a server on the loopback interface whose replies depend on the
request alone. `compare` prints the first differences of each table and exits with 1 if there are any. Numbers may differ by 1e-9.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.equality.words_service import PORT, Handler

_HERE = Path(__file__).parent
_EXPERIMENTS = ("experiments/quickstart.yaml", "experiments/retrieval.yaml", "judged.yaml", "targets.yaml")
_TABLES = ("metrics", "queries", "hits", "comparisons", "answers", "claims", "causes", "configurations")
_TOLERANCE, _SHOWN = 1e-9, 5
# Columns of the history that differ between runs of the same code, or that fingerprint the settings and the keys of stages.
_OTHER = ["time", "run", "commit", "chunking", "embedding", "retrieval", "prompt", "stages", "scores"]


def main() -> int:
    """Read the command line, and run or compare. Return the exit code."""
    parser = argparse.ArgumentParser("python -m benchmarks.equality", description="Compare the tables of two checkouts.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, first, second in (("run", "checkout", "folder"), ("compare", "before", "after")):
        command = commands.add_parser(name)
        command.add_argument(first, type=Path)
        command.add_argument(second, type=Path)
    options = parser.parse_args()
    return run(options.checkout, options.folder) if options.command == "run" else compare(options.before, options.after)


def run(checkout: Path, folder: Path) -> int:
    """Run the four experiments with the code of `checkout` in a new `folder`, which gets `outputs/`. Return the worst exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiments").symlink_to(_HERE.parents[1] / "experiments")
    for file in ("words_service.py", "judged.yaml", "targets.yaml"):
        (folder / file).symlink_to(_HERE / file)
    commands = checkout.resolve() / ".venv/bin"
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    with _service():
        codes = [
            subprocess.run([commands / "workbench", "sweep", file, "--allow-code"], cwd=folder, env=environment).returncode
            for file in _EXPERIMENTS
        ]
    return max(codes)


def compare(before: Path, after: Path) -> int:
    """Print how the tables of two folders differ. Return 1 if any table does."""
    counts = {"history": _print("history", _differences(*(_values(folder / "outputs/history.parquet") for folder in (before, after))))}
    for manifest in sorted((before / "outputs").glob("*/manifest.json")):
        for name in _TABLES:
            if (file := manifest.with_name(f"{name}.parquet")).exists():
                tables = (pd.read_parquet(file), pd.read_parquet(after / file.relative_to(before)))
                counts[str(file)] = _print(f"{manifest.parent.name}/{name}", _differences(*tables))
        for file in sorted(manifest.parent.glob("runs/*.trec")):
            same = file.read_bytes() == (after / file.relative_to(before)).read_bytes()
            counts[str(file)] = _print(f"{manifest.parent.name}/{file.name}", [] if same else ["other bytes"])
    print(f"{len(counts)} tables compared, {sum(map(bool, counts.values()))} differ")
    return int(any(counts.values()))


def _differences(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """Compare two tables by position. Return a line for each cell that differs, or one line if their shapes do."""
    if list(before.columns) != list(after.columns):
        return [f"columns {list(before.columns)} became {list(after.columns)}"]
    if len(before) != len(after):
        return [f"{len(before)} rows became {len(after)}"]
    return [
        f"row {row}, {column}: {one!r:.200} became {other!r:.200}"
        for column in before.columns
        for row, (one, other) in enumerate(zip(before[column], after[column], strict=True))
        if not _equal(one, other)
    ]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return len(one) == len(other) and all(map(_equal, one.tolist(), other.tolist()))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=0, atol=_TOLERANCE, equal_nan=True))
    return one is other or (pd.api.types.is_scalar(one) and pd.isna(one) and pd.isna(other)) or bool(one == other)


def _print(name: str, lines: list[str]) -> int:
    if lines:
        print("\n  ".join([f"{name}: {len(lines)} differences", *lines[:_SHOWN]]))
    return len(lines)


def _values(history: Path) -> pd.DataFrame:
    return pd.read_parquet(history).drop(columns=_OTHER)


@contextlib.contextmanager
def _service() -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    sys.exit(main())
