"""Write what a sweep leaves under outputs/<name>/; each file whole or not at all."""

import json
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.analysis.comparisons import comparisons_table
from workbench.core.files import write_atomically, write_text
from workbench.execution.local import Outcome
from workbench.execution.screening import FILE, screening_table
from workbench.execution.tables import (
    configurations_table,
    hits_table,
    metrics_table,
    queries_table,
    run_lines,
    timings_table,
)
from workbench.retrieval.rank import SEED

_VERSIONS = (
    "workbench",
    "chromadb",
    "sentence-transformers",
    "torch",
    "transformers",
    "openvino",
    "numpy",
    "ir-measures",
    "pytrec-eval-terrier",
)
TABLES: dict[str, Callable[[Outcome], pd.DataFrame]] = {
    "metrics": metrics_table,
    "queries": queries_table,
    "hits": hits_table,
    "configurations": configurations_table,
    "comparisons": comparisons_table,
    "timings": timings_table,
}


def write_outputs(outcome: Outcome) -> None:
    """All tables, the run files and the manifest; run files of configurations that are gone are taken away."""
    for name, table in TABLES.items():
        _write_table(outcome.folder / f"{name}.parquet", table(outcome))
    screening = outcome.experiment.screening
    if screening:
        _write_table(outcome.folder / FILE, screening_table(screening))
    else:
        (outcome.folder / FILE).unlink(missing_ok=True)
    wanted = set()
    for result in outcome.results:
        path = outcome.folder / "runs" / f"{result.configuration.name}.trec"
        write_text(path, run_lines(outcome, result))
        wanted.add(path)
    for stale in set((outcome.folder / "runs").glob("*.trec")) - wanted:
        stale.unlink()
    text = json.dumps(manifest(outcome), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(outcome.folder / "manifest.json", text + "\n")


def manifest(outcome: Outcome) -> dict[str, Any]:
    """What was run on what: settings, fingerprints, versions, seeds, commit, failures. Nothing in it differs between equal runs."""
    bench, dataset = outcome.bench, outcome.bench.dataset
    return {
        "experiment": outcome.experiment.settings,
        "primary": str(outcome.primary),
        "dataset": {
            "name": dataset.name,
            "documents": len(dataset.documents),
            "queries": len(dataset.queries),
            "unanswerable": sum(not query.answerable for query in dataset.queries),
            "judgements": len(dataset.qrels),
            "needs": len(dataset.needs),
        },
        "fingerprints": {
            "corpus": bench.identity.corpus,
            "questions": bench.identity.questions,
            "labels": bench.identity.labels,
            "configurations": {
                one.name: bench.keys(one).scores for one in outcome.experiment.configurations if one.name not in outcome.failures
            },
        },
        "encoders": {one.name: one.embedding.encoder()._asdict() for one in outcome.experiment.configurations if one.embedding},
        "failures": outcome.failures,
        **({"screening": screening.about} if (screening := outcome.experiment.screening) else {}),
        "versions": {"python": platform.python_version()} | {name: found for name in _VERSIONS if (found := _version(name))},
        "seeds": {"ties": SEED},
        "commit": _commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _write_table(path: Path, table: pd.DataFrame) -> None:
    write_atomically(path, lambda aside: table.to_parquet(aside, index=False))


def _commit() -> str | None:
    """The commit of the working directory, where that is under git: it is the experiment's, not the package's."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
