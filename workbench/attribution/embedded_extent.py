"""How much of each chunk was embedded: a window cuts the embedder's input, and the index never sees the text beyond it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.metrics.coverage import Bools, Ints, meeting
from workbench.metrics.inputs import Labels
from workbench.models.tokenizers import tokenise


class EmbeddedExtent(NamedTuple):
    """The end of each chunk's searched text in its document, `ends` (chunks), and whether a window cut it, `cut` (chunks).

    The end of a cut chunk that shares no character with any evidence stays that of the chunk: no attribution reads it.
    """

    ends: Ints
    cut: Bools


def embedded_extent(labels: Labels, chunks: pd.DataFrame, truncated: Ints, inputs: Sequence[str], vocabulary: str | None) -> EmbeddedExtent:
    """Locate the end of what was embedded of each chunk.

    `truncated` (chunks) counts the tokens beyond the window, in the embedder's `vocabulary`, of each of its `inputs` (chunks). Without an
    embedder chunks are searched to their ends, `truncated` is empty and `vocabulary` None.
    """
    ends = chunks["end"].to_numpy(np.int64).copy()
    cut = truncated > 0 if len(truncated) else np.zeros(len(chunks), dtype=np.bool_)
    rows = np.flatnonzero(cut & _evident(labels, chunks))
    if vocabulary is not None and len(rows):
        ends[rows] = embedded_ends(chunks.iloc[rows], truncated[rows], [inputs[row] for row in rows.tolist()], vocabulary)
    return EmbeddedExtent(ends, cut)


def embedded_ends(chunks: pd.DataFrame, truncated: Ints, inputs: Sequence[str], vocabulary: str) -> Ints:
    """(chunks) the end of each chunk's embedded text in its document; arguments as in `embedded_extent`."""
    # The window cuts off the end of the input, so tokens are counted from there: prompt and special tokens do not matter.
    pairs = zip((tokens.starts for tokens in tokenise(inputs, vocabulary)), truncated.tolist(), map(len, inputs), strict=True)
    kept = [length if not lost else starts[-lost] if lost <= len(starts) else 0 for starts, lost, length in pairs]
    lengths = np.fromiter(map(len, inputs), dtype=np.int64, count=len(inputs))
    ends: Ints = chunks["end"].to_numpy(np.int64)
    clipped: Ints = np.clip(ends - lengths + np.array(kept, dtype=np.int64), chunks["start"].to_numpy(np.int64), ends)
    return clipped


def _evident(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """(chunks) which chunks share a character with any evidence."""
    found = meeting(labels.alternative_start, labels.alternative_end, *labels.positions(chunks, "start", "end"))[0]
    return np.bincount(found, minlength=len(chunks)) > 0
