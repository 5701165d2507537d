"""Find questions that had results before and have none now."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.metrics.coverage import Floats, Ints
from workbench.monitor.question_texts import NEAR, normalised, signature
from workbench.storage.vector_cache import Vectors

# Turns texts into vectors (n, d), whose cosines are their similarity.
Encode = Callable[[Sequence[str]], Vectors]
# The latest distinct questions without results that are compared with others by their vectors.
MOST_COMPARED = 2000
_BLOCK = 4096


class LostResults(NamedTuple):
    """Rows without results (n), the rows of the same or nearly the same question with some (n), and the number of distinct questions not compared."""

    rows: Ints
    before: Ints
    uncompared: int = 0


def lost_results(queries: "pd.Series[str]", empty: Floats, encode: Encode | None = None) -> LostResults:
    """Find rows without results whose question, or a near-duplicate, had results in an earlier row. `empty` (n) is 1, 0 or NaN (unknown).

    Only distinct normalised questions are compared, those without results with those that had some: equal texts, and with `encode` texts of a
    cosine of at least NEAR with equal numbers and negations. One that had no results before its near-duplicate had some has lost none.
    """
    raw, texts = pd.factorize(queries.to_numpy())
    own, names = pd.factorize(np.array([normalised(text) for text in texts], dtype=object))
    codes, rows, never = own[raw], np.arange(len(queries)), len(queries)
    first, first_empty = np.full((2, len(names)), never)
    np.minimum.at(first, codes[empty == 0], rows[empty == 0])
    np.minimum.at(first_empty, codes[empty == 1], rows[empty == 1])
    wanted = np.flatnonzero(first_empty < first)
    wanted = wanted[np.argsort(-first_empty[wanted], kind="stable")]
    compared, source = wanted[: MOST_COMPARED if encode else 0], first.copy()
    if encode and len(compared):
        source[compared] = np.minimum(first[compared], _similar(compared, names, first, first_empty, encode))
    lost = np.flatnonzero((empty == 1) & (source[codes] < rows))
    return LostResults(lost, source[codes[lost]], len(wanted) - len(compared))


def _similar(wanted: Ints, names: NDArray[np.object_], first: Ints, first_empty: Ints, encode: Encode) -> Ints:
    """Return the row at which a near-duplicate of each wanted question first had results, if before its `first_empty`, or a large number."""
    own = np.array([_key(names[code]) for code in wanted], dtype=object)
    found, vectors, keys = np.full(len(wanted), np.iinfo(np.int64).max), _unit(encode([names[code] for code in wanted])), set(own)
    known = [(code, key) for code in np.flatnonzero(first < first_empty[wanted].max()) if (key := _key(names[code])) in keys]
    for start in range(0, len(known), _BLOCK):
        part, others = (np.array(column) for column in zip(*known[start : start + _BLOCK], strict=True))
        near = (vectors @ _unit(encode([names[code] for code in part])).T >= NEAR) & (own[:, None] == others)
        near &= first[part] < first_empty[wanted, None]
        found = np.minimum(found, np.where(near, first[part], np.iinfo(np.int64).max).min(axis=1))
    return found


def _key(text: str) -> str:
    """Return the numbers and negations of a question as one text."""
    return " ".join(signature(text))


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)
