"""One configuration's finished stages, and what the tables of a run tell of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.context.packing import pack
from workbench.embedding.base import NO_WINDOW
from workbench.embedding.registry import chunk_encoder
from workbench.metrics.inputs import Retrieved
from workbench.models.tokenizers import Ints
from workbench.pipeline.chunk_table import slice_numbers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.graph import Entries
from workbench.pipeline.stages.scores import retrieved
from workbench.storage.result_store import Entry


@dataclass(frozen=True, eq=False)
class Result:
    """One configuration's finished stages, each result by stage and part."""

    configuration: Configuration
    entries: Entries

    def entry(self, stage: str) -> Entry:
        """The result of a stage that is stored in one part."""
        return next(iter(self.entries[stage].values()))

    @property
    def embeds(self) -> bool:
        """Whether the configuration uses vectors."""
        return "vectors" in self.entries

    @property
    def search(self) -> str:
        """Which of the stored rankings the configuration is evaluated by."""
        return self.configuration.retrieval.evaluated

    @property
    def window(self) -> int | None:
        """How many tokens of a chunk's input are embedded; None where nothing is, or all of it."""
        return self.configuration.window

    @cached_property
    def chunks_table(self) -> pd.DataFrame:
        """The table `chunks`."""
        return self.entry("chunks").table("chunks")

    @property
    def hits(self) -> Entry:
        """The rankings by each way to search."""
        return self.entry("hits")

    @cached_property
    def scores_table(self) -> pd.DataFrame:
        """query, metric, value, state, reason, attainable: all metrics, in the order asked for."""
        return pd.concat([entry.table("scores") for entry in self.entries["scores"].values()], ignore_index=True)

    @cached_property
    def retrieved(self) -> Retrieved:
        """What metrics read, by the search that the configuration is evaluated by."""
        return retrieved(self.entry("chunks"), self.hits, self.search)

    def explanation(self, name: str) -> pd.DataFrame:
        """A table of the stage `explanations`: context, misses or details."""
        return self.entry("explanations").table(name)

    @property
    def seconds(self) -> dict[str, float]:
        """What each stage took whoever computed it."""
        return {stage: sum(entry.seconds for entry in parts.values()) for stage, parts in self.entries.items()}

    @property
    def computed(self) -> dict[str, bool]:
        """Whether any part of each stage was computed in this run."""
        return {stage: any(entry.computed for entry in parts.values()) for stage, parts in self.entries.items()}

    @property
    def told(self) -> str:
        """Which stages were computed, with their seconds."""
        done = [f"{stage} {self.seconds[stage]:.1f} s" for stage, computed in self.computed.items() if computed]
        return ", ".join(done) if done else "all from the store"

    @cached_property
    def lengths(self) -> Ints:
        """The tokens of each embedder input before the window cut it: int64 (chunks), or (0) where nothing is embedded."""
        return np.asarray(self.entry("vectors").array("lengths")) if self.embeds else np.zeros(0, dtype=np.int64)

    @cached_property
    def truncated(self) -> Ints:
        """The tokens of each chunk that were never embedded: int64 (chunks), or (0) where nothing is embedded."""
        return np.maximum(self.lengths - (self.window or NO_WINDOW), 0)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A row of configurations.parquet."""
        hits, chosen = self.delivered, self.configuration
        size, overlap = chosen.chunking.sizes
        embedding = chosen.embedding
        return {
            "configuration": chosen.name,
            "chunking": chosen.chunking.kind,
            "size": size,
            "overlap": overlap,
            "tokens_counted": chosen.chunking.tokens,
            "enrich": chosen.chunking.enrich,
            "embedding": embedding.model if embedding else None,
            "pooling": chunk_encoder(embedding).pooling if embedding else None,
            "window": self.window,
            "retrieval": chosen.retrieval.kind,
            "search": self.search,
            "k": chosen.retrieval.k,
            "chunks": len(self.chunks_table),
            "tokens": int(self.lengths.sum()),
            "truncated_tokens": int(self.truncated.sum()),
            "truncated_chunks": int((self.truncated > 0).sum()),
            "context_tokens": float(self.entry("explanations").values("tokens")),
            "delivered_tokens": float(self.chunks_table["tokens"].to_numpy()[hits["chunk"]].sum() / max(1, hits["query"].nunique())),
        }

    @property
    def delivered(self) -> pd.DataFrame:
        """The hits that are delivered: query, rank, chunk, score."""
        hits = self.all_hits
        return hits[hits["delivered"]]

    @cached_property
    def all_hits(self) -> pd.DataFrame:
        """Every hit that was looked at, with `delivered` and, where it was not, `cut_reason`: its slice was there, or beyond k."""
        hits, chunks = self.hits.table(f"{self.search}_hits"), self.chunks_table
        rows = hits["chunk"].to_numpy(np.int64)
        packed = pack(hits["query"].to_numpy(np.int64), slice_numbers(chunks)[rows], chunks["tokens"].to_numpy(np.int64)[rows], self.configuration.retrieval.k)
        return hits.assign(delivered=packed.delivered, cut_reason=packed.reason)
