"""Find questions that lost results which they had before."""

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
    """Of each row (n): 1 if its question lost its results or its first document, 0 if it has them, else NaN. And the number of questions not compared."""

    values: Floats
    uncompared: int = 0


def lost_results(table: pd.DataFrame, history: int, encode: Encode | None = None) -> LostResults:
    """Compare the results of questions after the first `history` rows with those that they had before.

    A question has lost results if an earlier one with its text had some, and it has none, or if none of its hits is of the document that came first the
    first time. Other questions have lost them only if they have none, and with `encode`, if a near-duplicate had some in the
    history: a cosine of at least NEAR with equal numbers and negations. `table` has the columns query, empty and documents of `signals`.

    As the history of near-duplicates is fixed, the share of lost results does not grow with the log.
    """
    empty = table["empty"].to_numpy(dtype=np.float64)
    raw, texts = pd.factorize(table["query"].to_numpy())
    own, names = pd.factorize(np.array([normalised(text) for text in texts], dtype=object))
    codes, later, rows = own[raw], np.arange(len(table)) >= history, np.arange(len(table))
    first = np.full(len(names), len(table))
    np.minimum.at(first, codes[empty == 0], rows[empty == 0])
    known = first[codes] < rows
    values = np.where(later & known & ~np.isnan(empty), empty, np.nan)
    values[_without_first(first[codes], table["documents"].tolist(), values == 0)] = 1
    wanted = pd.unique(codes[later & (empty == 1) & ~known])[::-1]
    compared = wanted[: MOST_COMPARED if encode else 0]
    if encode and len(compared):
        similar = np.zeros(len(names), dtype=bool)
        similar[compared] = _similar(compared, names, np.flatnonzero(first < history), encode)
        values[later & (empty == 1) & similar[codes]] = 1
    return LostResults(values, len(wanted) - len(compared))


def _without_first(first: Ints, documents: Sequence[tuple[str, ...] | None], asked: Bools) -> list[int]:
    """Return the asked rows without a hit of the first document of the row in which their text had results `first` (n)."""
    rows = [(row, documents[row], documents[first[row]]) for row in np.flatnonzero(asked).tolist()]
    return [row for row, found, before in rows if found and before and before[0] not in found]


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
