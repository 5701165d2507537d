"""The finished results of one configuration's stages, and what follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd

from workbench.components.context.packing import BudgetCut, pack
from workbench.components.embedding.base import NO_WINDOW
from workbench.components.retrieval.rank import Floats
from workbench.core.memo import memoised
from workbench.core.records import Variant
from workbench.core.storage.result_store import StoredResult
from workbench.core.text.formatting import in_words
from workbench.llm.models.tokenizers import Ints
from workbench.measures.metrics.case import Case
from workbench.measures.metrics.evaluate import document_depths
from workbench.measures.metrics.inputs import Retrieved
from workbench.runner.pipeline.chunk_table import slice_numbers
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext

# Finished results by stage and result id.
Entries: TypeAlias = Mapping[str, Mapping[str, StoredResult]]


def result_id(variant: Variant, part: str = "") -> str:
    """Name a result among those of its stage: by its variant if that is another than the usual one, by its part, or by both."""
    return "|".join(filter(None, [str(variant) if variant != Variant() else "", part]))


@dataclass(frozen=True, eq=False)
class StageResults:
    """The results of stages of a configuration in a run, by stage and result id."""

    run: RunContext
    configuration: Configuration
    entries: Entries

    def entry(self, stage: str) -> StoredResult:
        """Return the result of a stage that stores a single one. Raises KeyError without one."""
        return self.entries[stage][""]

    def of(self, stage: str, variant: Variant, part: str = "") -> StoredResult:
        """Return the result of a stage for a variant, or for one of its parts."""
        return self.entries[stage][result_id(variant, part)]

    def parts(self, *stages: str) -> list[StoredResult]:
        """Return all results of stages, none of those that the configuration does not have."""
        return [result for stage in stages for result in self.entries.get(stage, {}).values()]

    def contexts_of(self, variant: Variant) -> StoredResult:
        """Return the contexts of a variant, which its repeats share."""
        return self.of("contexts", replace(variant, repeat=0))

    def placed(self, rows: pd.DataFrame, variant: Variant) -> pd.DataFrame:
        """Return rows with their question and variant in the form of output tables."""
        query_ids = self.run.query_ids[rows["query"].to_numpy(np.int64)]
        return rows.assign(query_id=query_ids, condition=variant.condition, variant=variant.perturbation, repeat=variant.repeat)

    @cached_property
    def chunks_table(self) -> pd.DataFrame:
        return self.entry("chunks").table("chunks")

    @property
    def final_hits(self) -> StoredResult:
        """Return the rankings that metrics read: after reranking and with neighbours, if the configuration has these."""
        return (self.entries.get("neighbours") or self.entries.get("reranked") or self.entries["hits"])[""]

    def ranked(self, table: str) -> pd.DataFrame:
        """Return a table of the evaluated search, after reranking: `hits`, `ranking` or `about`."""
        return self.final_hits.table(f"{self.configuration.evaluated}_{table}")

    @cached_property
    def scores_table(self) -> pd.DataFrame:
        """Return metric, condition, variant, repeat, query, value, state, reason, attainable for all metrics, in the order of the run."""
        return pd.concat([entry.table("scores").assign(metric=name) for name, entry in self.entries["scores"].items()], ignore_index=True)

    @property
    def _computed(self) -> Entries:
        """Return the results by the stage that computed them."""
        return {stage: parts for stage, parts in self.entries.items() if stage not in self.configuration.provided}

    @property
    def incomplete(self) -> list[StoredResult]:
        """Return the results that lack something, such as the answers of failed calls."""
        return [entry for entry in self.parts(*self._computed) if not entry.complete]

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds that each stage took, in this run or an earlier one."""
        return {stage: sum(entry.seconds for entry in parts.values()) for stage, parts in self._computed.items()}

    @property
    def computed(self) -> dict[str, bool]:
        """True if any part of each stage was computed in this run."""
        return {stage: any(entry.computed for entry in parts.values()) for stage, parts in self._computed.items()}

    @property
    def computed_stages(self) -> str:
        """List the stages computed in this run with their seconds, for the terminal."""
        seconds = self.seconds
        return ", ".join(f"{in_words(stage)} {seconds[stage]:.1f} s" for stage, new in self.computed.items() if new) or "all from the store"

    @property
    def input_lengths(self) -> Ints:
        """Return the tokens of each chunk's input before truncation: int64 (chunks), or (0) without embeddings."""
        return np.asarray(self.entry("vectors").array("lengths")) if "vectors" in self.entries else np.zeros(0, dtype=np.int64)

    @cached_property
    def truncated(self) -> Ints:
        """Return the tokens of each chunk's input beyond the window: int64 (chunks), or (0) without embeddings."""
        return np.maximum(self.input_lengths - (self.configuration.window or NO_WINDOW), 0)

    @property
    def delivered(self) -> pd.DataFrame:
        """Return the hits of which all or a part is delivered: query, rank, chunk, score, delivered_tokens."""
        return self.all_hits[self.all_hits["delivered"]]

    @cached_property
    def all_hits(self) -> pd.DataFrame:
        """Return all ranked hits with `delivered`, the `delivered_tokens` of the slice, and a `cut_reason` if none of it is delivered."""
        packed = self._packed(*self.configuration.delivery(self.run.primary))
        return self.ranked("hits").assign(delivered=packed.delivered, cut_reason=packed.reason, delivered_tokens=packed.delivered_tokens)

    @property
    def k_tokens(self) -> float:
        """Return the mean tokens of the first k chunks of a question."""
        tokens = self._packed(self.configuration.k, None).delivered_tokens
        return float(tokens.sum() / max(1, self.ranked("hits")["query"].nunique()))

    def _packed(self, k: int | None, budget: int | None) -> BudgetCut:
        hits, chunks = self.ranked("hits"), self.chunks_table
        rows, tokens = hits["chunk"].to_numpy(np.int64), chunks["tokens"].to_numpy(np.int64)
        return pack(hits["query"].to_numpy(np.int64), slice_numbers(chunks)[rows], tokens[rows], k, budget)


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


@memoised(2)
def _case(run: RunContext, configuration: Configuration, chunks: StoredResult, hits: StoredResult, search: str) -> Case:
    return Case(run.labels, retrieved(configuration, chunks, hits, search), run.spans, document_depths(run.metrics))
