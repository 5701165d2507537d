"""The order of maximal marginal relevance. Only numpy is imported: an exported retriever includes a copy of this file."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def chosen_after(query: Array, vectors: Array, relevance: float) -> Array:
    """Return how many candidates are chosen after each candidate: float64 (n).

    Candidates are chosen one by one, each time the one with the greatest λ cos(query, chunk) - (1 - λ) max cos(chunk, chosen), where λ is
    `relevance`. Of equal candidates the first is chosen, which the retriever ranked higher.

    Parameters
    ----------
    query : float32 (dimension)
    vectors : float32 (n, dimension), best first
    """
    vectors = vectors.astype(np.float64)
    cosines = vectors @ query.astype(np.float64)
    after, nearest = np.full(len(cosines), -1.0), np.zeros(len(cosines))
    for number in range(len(cosines)):
        value = relevance * cosines - (1 - relevance) * nearest
        chosen = int(np.argmax(np.where(after < 0, value, -np.inf)))
        after[chosen] = len(cosines) - 1 - number
        similar = vectors @ vectors[chosen]
        nearest = np.maximum(nearest, similar) if number else similar
    return after
