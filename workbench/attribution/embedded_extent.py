"""What of each chunk was searched: a window cuts the embedder's input at its end, and what lies beyond is nowhere in the index."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.execution.local import Result
from workbench.metrics.coverage import Bools, Ints, meeting
from workbench.metrics.inputs import Labels
from workbench.models.tokenizers import tokenise
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import embedder_inputs


class EmbeddedExtent(NamedTuple):
    """`ends` (chunks) is where in its document the searched text of each chunk ends; `cut` (chunks) says whether a window cut it.

    Where a cut chunk shares no character with any evidence its end is left at the chunk's: nobody asks for it.
    """

    ends: Ints
    cut: Bools


def seen_of(bench: RunContext, result: Result) -> EmbeddedExtent:
    """How far into its chunks a configuration searched; to their ends where nothing is embedded, or all of it."""
    chunks = result.chunks.table("chunks")
    ends = chunks["end"].to_numpy(np.int64).copy()
    cut = result.truncated > 0 if result.embedded else np.zeros(len(chunks), dtype=np.bool_)
    asked = np.flatnonzero(cut & _evident(bench.labels, chunks))
    embedding = result.configuration.embedding
    if embedding is None or not len(asked):
        return EmbeddedExtent(ends, cut)
    rows = chunks.iloc[asked].reset_index(drop=True)
    texts = embedder_inputs(bench, rows)
    # What the window cuts off is the end of the input, so tokens are counted from there: prompt and special tokens do not matter.
    lost = result.truncated[asked].tolist()
    starts = [tokens.starts for tokens in tokenise(texts, embedding.vocabulary)]
    kept = np.array([found[-many] if many <= len(found) else 0 for found, many in zip(starts, lost, strict=True)], dtype=np.int64)
    origin = ends[asked] - np.array([len(text) for text in texts], dtype=np.int64)
    ends[asked] = np.clip(origin + kept, rows["start"].to_numpy(), ends[asked])
    return EmbeddedExtent(ends, cut)


def _evident(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """(chunks) which chunks share a character with any evidence."""
    offsets = labels.offsets[chunks["doc"].to_numpy()]
    order = np.argsort(labels.alternative_start, kind="stable")
    lows, highs = offsets + chunks["start"].to_numpy(), offsets + chunks["end"].to_numpy()
    found = meeting(labels.alternative_start[order], labels.alternative_end[order], lows, highs)[0]
    return np.bincount(found, minlength=len(chunks)) > 0
