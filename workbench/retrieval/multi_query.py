"""Fuse the rankings of several texts that are searched for one question."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workbench.models.tokenizers import Ints
from workbench.retrieval.base import Corpus, Ranking, SearchDepth, best_first
from workbench.retrieval.fusion import reciprocal_ranks
from workbench.retrieval.rank import Floats

# The number added to every rank (Cormack et al. 2009), and the fewest best chunks of each text that are fused.
CONSTANT, POOL = 60, 100


def pooled(depth: SearchDepth, k: int) -> SearchDepth:
    """Return the depth to which each text is searched. What is fused depends on k alone, and on no metric."""
    return replace(depth, slices=max(depth.slices, _pool(k)))


def fused_by_question(ranking: Ranking, question: Ints, corpus: Corpus, k: int) -> Ranking:
    """Fuse the rankings of texts by reciprocal ranks. `question` (int64, texts) is each text's question, in ascending order."""
    number = np.arange(len(question)) - np.searchsorted(question, question)
    hits = ranking.hits[ranking.hits["rank"] <= _pool(k)]
    texts = hits["query"].to_numpy(np.int64)
    by_number: dict[str, pd.DataFrame] = {
        str(each): rows for each, rows in hits.assign(query=question[texts]).groupby(number[texts], sort=True)
    }
    fused = reciprocal_ranks(by_number, dict.fromkeys(by_number, 1.0), CONSTANT) if by_number else hits[["query", "chunk", "score"]]
    return best_first(fused, corpus, int(question.max(initial=-1)) + 1, k, seconds_by_question(ranking.seconds, question))


def seconds_by_question(seconds: Floats, question: Ints) -> Floats:
    """Add the seconds of each question's texts, for questions of which all texts were timed: float64 (passes, questions)."""
    starts = np.flatnonzero(np.diff(question, prepend=-1))
    ends = np.append(starts[1:], len(question))
    complete = int((ends <= seconds.shape[-1]).sum())
    if seconds.ndim < 2 or not complete:
        return np.zeros((1, 0))
    return np.asarray(np.add.reduceat(seconds[:, : ends[complete - 1]], starts[:complete], axis=1))


def _pool(k: int) -> int:
    return max(POOL, k)
