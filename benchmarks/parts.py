"""Measure where a sweep spends its time outside encoding, once with everything in the store, once with only the vectors.

The sweep runs in a new process under cProfile, after all imports. Seconds are CPU seconds of that process and its threads, so
other work on the machine affects them little. They exclude kernels and the disk, but include the profiler's cost, so compare shares.
"""

import cProfile
import importlib
import json
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.core.environment import skip_schema_grammar

ROOT = Path(__file__).parents[1]
MODULES = (
    "workbench.runner.execution.outputs",
    "workbench.runner.notebook_runner.notebooks",
    "workbench.report.render.html",
    "workbench.report.canvas",
    "workbench.runner.notebook_runner.kernels",
    "chromadb",
    "tokenizers",
    "papermill",
    "matplotlib.backends.backend_svg",
)
COLD = """
name: cold
dataset: {kind: beir, path: $WORKBENCH_DATA/covid-qa, split: test}
pipeline: {embedding: {kind: static}}
sweep: {chunking: [{kind: recursive, size: 256}, {kind: sentence, size: 256}, {kind: fixed, size: 128, overlap: 32}]}
metrics: [span_recall@2000t, span_precision@2000t, need_recall@2000t, span_recall@5, recall@5, precision@5, mrr@10, ndcg@10, hit_recall@5, margin]
"""
# Each part is a function by the end of its file's path; an indented one is part of the one above.
PARTS = {
    "reading experiment and data": "experiment/read.py read_experiment",
    "dataset": "execution/local.py context_of",
    "stages": "pipeline/graph.py walk",
    "  chunks, and vectors of chunks and questions": "stages/indexing.py compute",
    "    tokens of each text": "embedding/static.py lengths",
    "  index": "stages/indexing.py obtain",
    "  hits": "stages/hits.py compute",
    "    exact": "retrieval/dense.py exact",
    "    Chroma's": "retrieval/dense.py approximate",
    "  scores": "stages/scores.py compute",
    "  explanations and faults of chunks": "stages/explanations.py compute",
    "tables": "execution/outputs.py write_outputs",
    "  metrics": "execution/collect.py metrics_table",
    "  queries": "execution/collect.py queries_table",
    "  hits table": "pipeline/stages/hits.py _hits_table",
    "  configurations": "execution/collect.py configuration_row",
    "  comparisons, with the verdict": "analysis/pairwise.py comparisons_table",
    "  timings": "execution/collect.py timings_table",
    "  run files": "execution/outputs.py run_lines",
    "  manifest": "execution/collect.py manifest",
    "history": "results/history.py append",
    "notebooks, without their kernels": "notebook_runner/notebooks.py run_notebooks",
    "report": "execution/outputs.py publish_report",
    "  findings": "analysis/findings.py findings",
    "  slices": "analysis/standings.py slice_means",
    "  figures": "render/html.py inline_svg",
    "  drill-down": "retrieval/questions.py drill",
    "  appendix": "run/appendix.py render_metrics",
}
ANYWHERE = {
    "keys of results": "pipeline/graph.py key",
    "tokenising": "models/tokenizers.py _tokenise",
    "causes of misses": "analysis/causes.py causes_by_query",
    "tables read from the store": "storage/result_store.py table",
}


def run() -> dict[str, object]:
    """CPU seconds by part, of a repeated quickstart and of a sweep of covid-qa whose vectors are all cached."""
    with tempfile.TemporaryDirectory() as folder:
        cold = Path(folder) / "cold.yaml"
        cold.write_text(COLD)
        figures: dict[str, object] = {}
        for name, experiment in {"again, quickstart": ROOT / "experiments" / "quickstart.yaml", "cold, covid-qa": cold}.items():
            outputs = Path(folder) / name
            sweep = "from workbench.cli.main import run; run()"
            subprocess.run([sys.executable, "-c", sweep, "sweep", experiment, "--outputs", outputs], cwd=ROOT, check=True)
            if name.startswith("cold"):
                outputs = _only_vectors(outputs, Path(folder) / "vectors")
            command = [sys.executable, "-m", "benchmarks.parts", str(experiment), str(outputs)]
            done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
            figures[name] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _only_vectors(outputs: Path, target: Path) -> Path:
    (target / ".store").mkdir(parents=True)
    shutil.copy(outputs / ".store" / "vectors.sqlite", target / ".store")
    return target


def profiled(experiment: str, outputs: str) -> dict[str, float]:
    """Run a sweep in this process: seconds by part, and `rest` for everything else."""
    skip_schema_grammar()
    started = time.process_time()
    for module in MODULES:
        importlib.import_module(module)
    imports = time.process_time() - started
    from workbench.cli.main import main

    profile = cProfile.Profile(time.process_time)
    profile.enable()
    main(["sweep", experiment, "--outputs", outputs], standalone_mode=False)
    profile.disable()
    found = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # in no stub
    times = {name: _seconds(found, place) for name, place in PARTS.items()}
    whole = _seconds(found, "cli/sweep.py sweep")
    rest = whole - sum(seconds for name, seconds in times.items() if not name.startswith(" "))
    times |= {"rest": rest, "all": whole, "imports, before": imports}
    times |= {f"anywhere: {name}": _seconds(found, place) for name, place in ANYWHERE.items()}
    return {name: round(seconds, 2) for name, seconds in times.items()}


def _seconds(profile: dict[tuple[str, int, str], tuple[Any, ...]], place: str) -> float:
    """The cumulative time of a function of the package; 0 if it was never called."""
    file, function = place.split(" ", 1)
    return float(
        sum(
            row[3]
            for (path, _, name), row in profile.items()
            if name == function and path.endswith(f"{os.sep}{file}") and "workbench" in path
        )
    )


if __name__ == "__main__":
    print(json.dumps(profiled(*sys.argv[1:])))
