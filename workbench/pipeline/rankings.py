"""The final ranking of a configuration, as metrics and explanations read it."""

from functools import lru_cache

import numpy as np

from workbench.metrics.case import Case
from workbench.metrics.evaluate import document_depths
from workbench.metrics.inputs import Retrieved
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage_results import StageResults
from workbench.retrieval.rank import Floats
from workbench.storage.result_store import StoredResult


def retrieved(configuration: Configuration, chunks: StoredResult, hits: StoredResult, search: str = "") -> Retrieved:
    """Return the results of a search, by default the evaluated one. Only an exact search sees all scores, over which the spread is taken."""
    search = search or configuration.evaluated
    names = hits.values("searches")["names"]
    spread: Floats = hits.table(f"{'exact' if 'exact' in names else search}_about")["spread"].to_numpy(np.float64)
    tables = chunks.table("chunks"), hits.table(f"{search}_hits"), hits.table(f"{search}_ranking")
    return Retrieved(*tables, spread, whole_index="chunks" not in configuration.provided)


def ranking_case(results: StageResults, search: str = "") -> Case:
    """Return the case of a search. All metrics share it, so that intermediate tables are computed once."""
    return _case(results.run, results.configuration, results.entry("chunks"), results.final_hits, search)


@lru_cache(maxsize=2)
def _case(run: RunContext, configuration: Configuration, chunks: StoredResult, hits: StoredResult, search: str) -> Case:
    return Case(run.labels, retrieved(configuration, chunks, hits, search), run.spans, document_depths(run.metrics))
