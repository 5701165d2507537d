"""Questions that share documents: drawn, and those of the handbook and NFCorpus."""

from pathlib import Path

import numpy as np

from workbench.core.environment import data_folder
from workbench.data.sources import GoldenSource, NfcorpusSource
from workbench.measures.metrics.inputs import Labels
from workbench.measures.statistics.clusters import Clusters, query_clusters

HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook"


def drawn(questions: int, documents: int, each: int, seed: int = 0) -> Clusters:
    """Questions with `each` relevant documents of `documents` and no evidence, all drawn at random."""
    random = np.random.default_rng(seed)
    chosen = [random.choice(documents, each, replace=False).tolist() for _ in range(questions)]
    return Clusters.linked(np.arange(questions), chosen)


def handbook() -> Clusters:
    """The handbook's test questions with evidence, which is in up to 3 documents."""
    labels = Labels.of(GoldenSource(path=str(HANDBOOK), split="test").load())
    return query_clusters(labels)[labels.has_evidence]


def real() -> dict[str, Clusters]:
    """The handbook, and NFCorpus if WORKBENCH_DATA has it."""
    found = {"the handbook": handbook()}
    folder = data_folder() / "nfcorpus"
    if folder.is_dir():
        found["NFCorpus"] = query_clusters(Labels.of(NfcorpusSource(path=str(folder), split="test").load()))
    return found
