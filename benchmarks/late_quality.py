"""Test that late pooling is non-inferior to standard pooling: span_recall@2000t, margin .02, paired by question, clustered by document.

    python -m benchmarks.late_quality OUTPUTS [SET ...]

Every chunking is compared separately. Chunks of 400 tokens are compared with a window of 512, so that nothing is truncated.
Late is non-inferior on a set if the lower bound of every chunking's difference (late - standard; 95 % interval, so one-sided
2.5 %) is above -.02: all must pass, which needs no correction (intersection-union; Berger 1982). The window was chosen on the
handbook's development questions only. Encodes about ten million tokens, whose vectors are stored in OUTPUTS.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.measures.statistics.clusters import Clusters, query_clusters
from workbench.measures.statistics.comparison import paired_difference
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import experiment_of

METRIC, MARGIN = "span_recall@2000t", 0.02
SETS: dict[str, dict[str, str]] = {
    "covid-qa": {"kind": "beir", "path": "$WORKBENCH_DATA/covid-qa"},
    "chroma-chunking": {"kind": "beir", "path": "$WORKBENCH_DATA/chroma-chunking"},
    "handbook-dev": {"kind": "golden", "path": "experiments/handbook", "split": "dev"},
    "handbook-test": {"kind": "golden", "path": "experiments/handbook", "split": "test"},
}
SMALL = ((64, 0), (128, 0), (128, 64), (256, 0), (256, 128))
LARGE = ((400, 0), (400, 200))


def run(outputs: Path, sets: tuple[str, ...] = tuple(SETS)) -> dict[str, Any]:
    """For each set, a row for each chunking and one for their mean; `non_inferior` if all chunkings are."""
    results = {}
    for name in sets:
        rows = compared(name, outputs)
        passed = all(row["low"] > -MARGIN for row in rows[:-1])
        results[name] = {"rows": rows, "non_inferior": passed}
        print(
            pd.DataFrame(rows).to_string(index=False),
            f"\n{name}: {'' if passed else 'not '}shown non-inferior in every chunking\n",
            flush=True,
        )
    return results


def compared(name: str, outputs: Path) -> list[dict[str, Any]]:
    """The chunkings of one set, and the mean of their differences as the last row."""
    late, clusters = values(name, SMALL + LARGE, {"pooling": "late"}, outputs)
    rivals = values(name, SMALL, {}, outputs)[0] | values(name, LARGE, {"max_tokens": 512}, outputs)[0]
    rows = [row(chunking, late[chunking], rivals[chunking], clusters) for chunking in late]
    means = [np.mean([each[chunking] for chunking in late], axis=0) for each in (late, rivals)]
    return [*rows, row("mean of these", means[0], means[1], clusters)]


def row(chunking: str, late: np.ndarray, standard: np.ndarray, clusters: Clusters) -> dict[str, Any]:
    found = paired_difference(late, standard, clusters)
    both = ~np.isnan(late + standard)
    means = {"standard": float(standard[both].mean()), "late": float(late[both].mean())}
    bounds = {"difference": found.value, "low": found.low, "high": found.high}
    verdict = "non-inferior" if found.low > -MARGIN else "inferior" if found.high < -MARGIN else "undecided"
    rounded = {key: round(value, 4) for key, value in (means | bounds).items()}
    return {"chunking": chunking, **rounded, "n": found.n, "clusters": found.clusters, "verdict": verdict}


def values(
    name: str, sizes: tuple[tuple[int, int], ...], embedding: dict[str, Any], outputs: Path
) -> tuple[dict[str, np.ndarray], Clusters]:
    """The metric of each question by chunking (NaN if unscored), and the questions' clusters."""
    chunking = [{"kind": "fixed", "size": size, "overlap": overlap} for size, overlap in sizes]
    settings = {
        "name": "quality",
        "dataset": SETS[name],
        "pipeline": {"embedding": embedding},
        "sweep": {"chunking": chunking},
        "metrics": [METRIC],
    }
    outcome: Outcome = run_experiment(experiment_of(settings, "benchmark"), outputs, print)
    assert not outcome.failures, outcome.failures
    found = {}
    for result in outcome.results:
        scores = result.scores_table
        scored = scores[(scores["metric"] == METRIC) & (scores["state"] == "scored")]
        found[result.configuration.name] = scored.set_index("query")["value"].reindex(range(outcome.run.labels.queries)).to_numpy()
    return found, query_clusters(outcome.run.labels)


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), tuple(sys.argv[2:]) or tuple(SETS)), indent=2))
