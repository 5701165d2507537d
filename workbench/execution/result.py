"""Access the finished results of one configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.context.packing import Packed, pack
from workbench.core.formatting import in_words
from workbench.metrics.names import Metric
from workbench.models.tokenizers import Ints
from workbench.pipeline.chunk_table import slice_numbers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.stage import Entries
from workbench.pipeline.stages.reranked import final_hits
from workbench.pipeline.stages.vectors import truncated_tokens
from workbench.storage.result_store import StoredResult


@dataclass(frozen=True, eq=False)
class Result:
    """The finished results of one configuration by stage and part. The `primary` metric is that of the run, if it has one.

    `latencies` are those of `execution.latency`, in milliseconds by name.
    """

    configuration: Configuration
    entries: Entries
    primary: Metric | None = None
    latencies: Mapping[str, float] = field(default_factory=dict)

    def entry(self, stage: str) -> StoredResult:
        """Return the result of a stage that stores a single part."""
        return self.entries[stage][""]

    @cached_property
    def chunks_table(self) -> pd.DataFrame:
        """Return the table `chunks`."""
        return self.entry("chunks").table("chunks")

    @property
    def hits(self) -> StoredResult:
        """Return the rankings of all searches, before reranking."""
        return self.entry("hits")

    def ranked(self, table: str) -> pd.DataFrame:
        """Return a table of the evaluated search, after reranking: `hits`, `ranking` or `about`."""
        return final_hits(self.entries).table(f"{self.configuration.evaluated}_{table}")

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
        return [entry for parts in self._computed.values() for entry in parts.values() if not entry.complete]

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds that each stage took, in this run or an earlier one."""
        return {stage: sum(entry.seconds for entry in parts.values()) for stage, parts in self._computed.items()}

    @property
    def computed(self) -> dict[str, bool]:
        """Return whether any part of each stage was computed in this run."""
        return {stage: any(entry.computed for entry in parts.values()) for stage, parts in self._computed.items()}

    @property
    def computed_stages(self) -> str:
        """List the stages computed in this run with their seconds, for the terminal."""
        seconds = self.seconds
        return ", ".join(f"{in_words(stage)} {seconds[stage]:.1f} s" for stage, new in self.computed.items() if new) or "all from the store"

    @cached_property
    def truncated(self) -> Ints:
        """Return the tokens of each chunk's input beyond the window: int64 (chunks), or (0) without embeddings."""
        return truncated_tokens(self.configuration, self.entries)

    @property
    def delivered(self) -> pd.DataFrame:
        """Return the hits of which all or a part is delivered: query, rank, chunk, score, delivered_tokens."""
        return self.all_hits[self.all_hits["delivered"]]

    @cached_property
    def all_hits(self) -> pd.DataFrame:
        """Return all ranked hits with `delivered`, the `delivered_tokens` of the slice, and a `cut_reason` if none of it is delivered."""
        packed = self._packed(*self.configuration.delivery(self.primary))
        return self.ranked("hits").assign(delivered=packed.delivered, cut_reason=packed.reason, delivered_tokens=packed.delivered_tokens)

    @property
    def k_tokens(self) -> float:
        """Return the mean tokens of the first k chunks of a question."""
        tokens = self._packed(self.configuration.k, None).delivered_tokens
        return float(tokens.sum() / max(1, self.ranked("hits")["query"].nunique()))

    def _packed(self, k: int | None, budget: int | None) -> Packed:
        hits, chunks = self.ranked("hits"), self.chunks_table
        rows, tokens = hits["chunk"].to_numpy(np.int64), chunks["tokens"].to_numpy(np.int64)
        return pack(hits["query"].to_numpy(np.int64), slice_numbers(chunks)[rows], tokens[rows], k, budget)
