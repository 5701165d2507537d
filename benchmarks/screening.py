"""Measure how often screening keeps the true best, and how much it saves. The full sweep with the real embedder defines the true best.

The datasets are real: the handbook's two splits, chroma-chunking, and half of covid-qa's articles, with 17 to 20 chunkings each. A draw
halves the documents (or the questions, if there are fewer than ten documents). A sample of one half's questions is screened by proxy; the
true best is the leader by the real embedder on the other half, which the screening does not see. `kept` is the share of draws in which
it was not screened out, `lost` how much worse the best remaining one is on that half. Random dropping drops as many, at random.
The margin was chosen on the handbook's dev split and chroma-chunking. The test split shares dev's documents, so covid-qa is the test of it.
"""

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.covid_qa import doc_ids, written
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER, Clusters, query_clusters
from workbench.measures.statistics.screening import MARGIN, screened
from workbench.runner.execution.local import context_of
from workbench.runner.execution.screening import QUERIES, proxy_of
from workbench.runner.experiment.read import ExperimentSpec, experiment_of
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.graph import Graph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"
OUTPUTS = Path("outputs/screening-benchmark")
METRIC = "span_recall@2000t"
DRAWS = 300
MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08)
CHOSEN_ON = ("handbook dev", "chroma-chunking")
_ARTICLES = 49
SMALL: list[dict[str, Any]] = [
    {"kind": "fixed", "size": [32, 64, 128, 192, 256]},
    {"kind": "fixed", "size": [64, 128], "overlap": 32},
    {"kind": "fixed", "size": 256, "overlap": [64, 128]},
    {"kind": "recursive", "size": [64, 128, 256]},
    {"kind": "sentence", "size": [64, 128, 256]},
    {"kind": "hierarchical", "child": 32, "parent": 128},
    {"kind": "hierarchical", "child": [64, 128], "parent": 256},
    {"kind": "fixed", "size": 128, "enrich": True},
    {"kind": "sentence", "size": 128, "enrich": True},
]
CHROMA: list[dict[str, Any]] = [
    {"kind": "fixed", "size": [50, 100, 200], "tokens": "cl100k"},
    {"kind": "fixed", "size": 250, "overlap": [0, 125], "tokens": "cl100k"},
    {"kind": "fixed", "size": 400, "overlap": [0, 200], "tokens": "cl100k"},
    {"kind": "recursive", "size": [50, 100, 200], "tokens": "cl100k"},
    {"kind": "recursive", "size": 250, "overlap": [0, 125], "tokens": "cl100k"},
    {"kind": "recursive", "size": 400, "overlap": [0, 200], "tokens": "cl100k"},
    {"kind": "sentence", "size": [128, 256]},
    {"kind": "hierarchical", "child": 128, "parent": 512},
]


@dataclass(frozen=True, eq=False)
class Measured:
    """Configurations on a set: values by the real embedder and by proxy, both (c, q) of scored questions, in `clusters` (q).

    `tokens` (c) is what the real embedder reads; `real` and `cheap` (c) are the seconds of the stages after the chunks.
    """

    names: tuple[str, ...]
    truth: Floats
    proxy: Floats
    clusters: Clusters
    tokens: Ints
    real: Floats
    cheap: Floats


def run(outputs: Path = OUTPUTS) -> dict[str, object]:
    """Rates by set, with the chosen margin, without one, and of random dropping; the spread of the proxy's error."""
    sets = measured_sets(outputs)
    return {
        "margin": MARGIN,
        "queries": QUERIES,
        "draws": DRAWS,
        "sets": {name: summary(name, results) for name, results in sets.items()},
        "margins": {
            name: {str(margin): rates(results, margin) for margin in MARGINS} for name, results in sets.items() if name in CHOSEN_ON
        },
    }


def summary(name: str, results: Measured) -> dict[str, object]:
    """A set's figures."""
    spent = {"real": float(results.real.sum()), "proxy": float(results.cheap.sum())}
    return {
        "configurations": len(results.names),
        "questions": results.truth.shape[1],
        "chose the margin": name in CHOSEN_ON,
        "error": error(results),
        "seconds": spent | {"ratio": spent["real"] / spent["proxy"]},
        "with the margin": rates(results, MARGIN),
        "without": rates(results, 0.0),
    }


def error(results: Measured) -> dict[str, float]:
    """The error of the proxy's differences of means over all pairs, and the correlation of the means."""
    truth, proxy = results.truth.mean(axis=1), results.proxy.mean(axis=1)
    first, second = np.triu_indices(len(truth), 1)
    off = (proxy[first] - proxy[second]) - (truth[first] - truth[second])
    return {"sd": float(off.std()), "largest": float(np.abs(off).max()), "correlation": float(np.corrcoef(truth, proxy)[0, 1])}


def rates(results: Measured, margin: float, draws: int = DRAWS) -> dict[str, float]:
    """Means over the draws, with the standard errors of `kept` and of `dropped` over them."""
    rng = np.random.default_rng(0)
    rows = np.array([draw(results, margin, rng) for _ in range(draws)])
    kept, by_chance, dropped, saved, lost = rows.mean(axis=0)
    spread = rows.std(axis=0, ddof=1) / np.sqrt(draws)
    return {
        "kept": kept,
        "kept_error": float(spread[0]),
        "kept by random dropping": by_chance,
        "dropped": dropped,
        "dropped_error": float(spread[2]),
        "tokens saved": saved,
        "lost": lost,
    }


def draw(results: Measured, margin: float, rng: np.random.Generator) -> tuple[float, ...]:
    """One draw: whether the true best was kept, its probability by chance, the shares of configurations and tokens dropped, the value lost."""
    codes, few = results.clusters.codes, results.clusters.count < FEWEST_FOR_WINNER
    # Few documents cannot be halved, but their questions can.
    units = np.arange(len(codes), dtype=np.int64) if few else codes
    order = rng.permutation(int(units.max()) + 1)
    screened_half = np.isin(units, order[: len(order) // 2])
    sample = np.isin(np.arange(len(codes)), rng.permutation(np.flatnonzero(screened_half))[:QUERIES])
    values = dict(zip(results.names, results.proxy[:, sample], strict=True))
    remaining = np.array([row.kept for row in screened(values, results.clusters[sample], proxies={}, margin=margin)])
    truth = results.truth[:, ~screened_half].mean(axis=1)
    best = truth >= truth.max() - 1e-12
    lost = truth.max() - truth[remaining].max()
    return (
        (remaining & best).any(),
        remaining.mean(),
        1 - remaining.mean(),
        results.tokens[~remaining].sum() / results.tokens.sum(),
        lost,
    )


def measured_sets(outputs: Path) -> dict[str, Measured]:
    """Every set, run or from the store."""
    handbook = experiment("handbook", {"kind": "golden", "path": str(HANDBOOK)}, SMALL, 256)
    covid = experiment("covid-qa", {"kind": "beir", "path": str(_articles(outputs))}, SMALL, 256)
    chroma = experiment("chroma", {"kind": "beir", "path": "$WORKBENCH_DATA/chroma-chunking"}, CHROMA, 512)
    halves = {f"handbook {split}": partial(_split, split=split) for split in ("dev", "test")}
    whole = measured(handbook, outputs)
    splits = [query.metadata.get("split") for query in handbook.dataset.load().queries]
    return {
        **{name: cut(whole, splits) for name, cut in halves.items()},
        "chroma-chunking": _scored(measured(chroma, outputs)),
        "covid-qa": _scored(measured(covid, outputs)),
    }


def experiment(name: str, dataset: Mapping[str, Any], chunking: list[dict[str, Any]], window: int) -> ExperimentSpec:
    """Chunkings of a set, none of them beyond the window."""
    settings = {
        "name": name,
        "dataset": dict(dataset),
        "pipeline": {"embedding": {"max_tokens": window}},
        "sweep": {"chunking": chunking},
        "metrics": [METRIC],
    }
    return experiment_of(settings, "benchmark")


def measured(
    experiment: ExperimentSpec, outputs: Path, proxy: Callable[[PipelineConfiguration], PipelineConfiguration] = proxy_of
) -> Measured:
    """All configurations by the real embedder and by proxy. Stored results are reused."""
    # Without a primary metric nothing is explained, so only the stages that the values need are run and timed.
    run = replace(context_of(experiment, outputs), indexed=False, primary=None)
    graph = Graph(run)
    parts: list[tuple[Floats, Floats, int, float, float]] = []
    for configuration in experiment.configurations:
        real, cheap = (graph.walk(chosen) for chosen in (configuration, proxy(configuration.pipeline)))
        values = []
        for result in (real, cheap):
            scores = result.scores_table
            row = scores[scores["metric"] == METRIC].set_index("query")["value"].reindex(range(run.labels.queries))
            values.append(row.to_numpy(np.float64))
        seconds = [sum(took for stage, took in result.seconds.items() if stage not in ("chunks", "queries")) for result in (real, cheap)]
        parts.append((values[0], values[1], int(real.input_lengths.sum()), seconds[0], seconds[1]))
    truth, cheap_values, tokens, real_seconds, cheap_seconds = (np.array(column) for column in zip(*parts, strict=True))
    names = tuple(configuration.name for configuration in experiment.configurations)
    return Measured(names, truth, cheap_values, query_clusters(run.labels), tokens, real_seconds, cheap_seconds)


def _split(whole: Measured, splits: list[Any], split: str) -> Measured:
    return _scored(whole, np.array([found == split for found in splits]))


def _scored(whole: Measured, chosen: NDArray[np.bool_] | None = None) -> Measured:
    """The questions that have a value."""
    scored = np.asarray(~np.isnan(whole.truth + whole.proxy).any(axis=0) & (True if chosen is None else chosen))
    return replace(whole, truth=whole.truth[:, scored], proxy=whole.proxy[:, scored], clusters=whole.clusters[scored])


def _articles(outputs: Path) -> Path:
    """Half of covid-qa's articles, drawn once."""
    folder = outputs / "covid-qa-half"
    if not folder.is_dir():
        written(folder, random.Random(0).sample(doc_ids(), _ARTICLES))
    return folder


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUTS), indent=2, default=float))
