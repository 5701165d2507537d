"""Find questions that had results before and have none now."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.monitor.question_texts import NEAR, normalised, signature
from workbench.storage.vector_cache import Vectors

# Turns texts into vectors (n, d), whose cosines are their similarity.
Encode = Callable[[Sequence[str]], Vectors]
# The latest distinct questions without results that are compared with others by their vectors.
MOST_COMPARED = 2000
_BLOCK = 4096


class LostResults(NamedTuple):
    """Of each row (n): 1 if its question had results before and has none, 0 if it has some again, else NaN. And the number of questions not compared."""

    values: Floats
    uncompared: int = 0


def lost_results(queries: "pd.Series[str]", empty: Floats, history: int, encode: Encode | None = None) -> LostResults:
    """Find rows without results whose question, or a near-duplicate, had results in the first `history` rows. `empty` (n) is 1, 0 or NaN (unknown).

    The history is fixed, so that the share of lost results does not grow with the log. Only distinct normalised questions are compared, those without
    results with those that had some: equal texts, and with `encode` texts of a cosine of at least NEAR with equal numbers and negations.
    """
    raw, texts = pd.factorize(queries.to_numpy())
    own, names = pd.factorize(np.array([normalised(text) for text in texts], dtype=object))
    codes, rows = own[raw], np.arange(len(queries))
    later, known = rows >= history, np.zeros(len(names), dtype=bool)
    known[codes[~later & (empty == 0)]] = True
    wanted = pd.unique(codes[later & (empty == 1) & ~known[codes]])[::-1]
    compared = wanted[: MOST_COMPARED if encode else 0]
    similar = known.copy()
    if encode and len(compared):
        similar[compared] = _similar(compared, names, np.flatnonzero(known), encode)
    values = np.where(known[codes] & (empty == 0), 0.0, np.where(similar[codes] & (empty == 1), 1.0, np.nan))
    return LostResults(np.where(later, values, np.nan), len(wanted) - len(compared))


def _similar(wanted: Ints, names: NDArray[np.object_], known: Ints, encode: Encode) -> Bools:
    """Return which of the wanted questions have a near-duplicate among the known ones."""
    own = np.array([_key(names[code]) for code in wanted], dtype=object)
    found, vectors, keys = np.zeros(len(wanted), dtype=bool), _unit(encode([names[code] for code in wanted])), set(own)
    pairs = [(code, key) for code in known.tolist() if (key := _key(names[code])) in keys]
    for start in range(0, len(pairs), _BLOCK):
        part, others = zip(*pairs[start : start + _BLOCK], strict=True)
        near = (vectors @ _unit(encode([names[code] for code in part])).T >= NEAR) & (own[:, None] == np.array(others, dtype=object))
        found |= near.any(axis=1)
    return found


def _key(text: str) -> str:
    """Return the numbers and negations of a question as one text."""
    return " ".join(signature(text))


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)
